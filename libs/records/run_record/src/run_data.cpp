#include <weir/base/crc32c.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/run_data.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::run_record {

void add_unreported_files(const std::string& out, RunNumber run, Summary& summary) {
  const std::string prefix = fmt::format("run-{:06}-", run.value);
  for (const std::string& name : file_names_in(out)) {
    if (!name.starts_with(prefix) || name.find(storage::kFileSuffix) == name.npos) continue;
    const std::string path = out + "/" + name;
    if (std::any_of(summary.files.begin(), summary.files.end(),
                    [&](const auto& file) { return file.path == path; })) {
      continue;
    }
    const auto file = storage::RunFileReader::open(path);
    if (!file) {
      summary.faults.push_back(path + ": " + file.error().detail);
      continue;
    }
    summary.files.push_back({path, file->bytes().size(), file->live().count, crc32c(file->bytes())});
  }
  std::sort(summary.files.begin(), summary.files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
}

std::vector<std::uint64_t> stored_slices(const std::vector<Summary::File>& files) {
  std::vector<storage::RunFileReader> readers;
  for (const Summary::File& file : files) {
    if (auto reader = storage::RunFileReader::open(file.path)) readers.push_back(std::move(*reader));
  }
  storage::resolve_copies(readers);
  std::vector<std::uint64_t> slices;
  for (const storage::RunFileReader& reader : readers) {
    for (const storage::IndexEntry& entry : reader.entries()) {
      if (!entry.dead) slices.push_back(entry.slice.value);
    }
  }
  std::sort(slices.begin(), slices.end());
  return slices;
}

}  // namespace weir::run_record
