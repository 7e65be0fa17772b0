#include "stored_run.hpp"

#include <weir/emulation/dummy_content.hpp>
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace weir::system_test {

StoredRun::StoredRun(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".weir") || path.ends_with(".weir.part")) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    auto file = storage::RunFileReader::open(path);
    // Its writer was killed before the header was on disk: no slice in it was acknowledged.
    const bool never_began = !file && file.error().error == storage::StorageError::truncated &&
                             path.ends_with(storage::kPartSuffix);
    if (never_began) continue;
    if (!file) throw std::runtime_error(file.error().detail);
    files_.push_back(std::move(*file));
  }
  storage::resolve_copies(files_);
}

std::set<std::uint64_t> StoredRun::ids() const {
  std::set<std::uint64_t> ids;
  for (const storage::RunFileReader& file : files_) {
    for (const storage::IndexEntry& entry : file.entries()) {
      if (entry.dead) continue;
      if (!ids.insert(entry.slice.value).second) {
        throw std::runtime_error("slice " + std::to_string(entry.slice.value) + " is stored twice");
      }
    }
  }
  return ids;
}

void StoredRun::for_each_slice(const std::function<void(const storage::SliceRecordView&)>& visit) const {
  for (const storage::RunFileReader& file : files_) {
    for (const std::uint32_t at : file.by_id()) {
      const storage::IndexEntry& entry = file.entries()[at];
      if (entry.dead) continue;
      const auto slice = file.slice(entry, storage::Check::fragments);
      if (!slice) {
        throw std::runtime_error("slice " + std::to_string(entry.slice.value) + " in " + file.path() + ": " +
                                 std::string(storage::name(slice.error())));
      }
      visit(*slice);
    }
  }
}

std::string StoredRun::problems() const {
  std::string text;
  for (const storage::RunFileReader& file : files_) {
    if (!file.closed()) text += file.path() + " is not closed\n";
    for (const storage::FileProblem& problem : storage::verify(file).problems) text += problem.text + "\n";
  }
  for (const storage::FileProblem& problem : storage::verify_copies(files_)) text += problem.text + "\n";
  return text;
}

DummyCheck check_dummy_data(const StoredRun& run) {
  DummyCheck check;
  emulation::DummyVerifier verifier;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    ++check.slices;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      const storage::FragmentRecord& record = fragment.record;
      check.missing += record.status == FragmentStatus::missing ? 1 : 0;
      check.not_requested += record.status == FragmentStatus::not_requested ? 1 : 0;
      if (!record.kept) continue;
      ++check.fragments;
      const auto good = verifier.verify(slice.head().run, record.source, slice.head().slice, fragment.bytes);
      if (good || !check.wrong.empty()) continue;
      check.wrong = "slice " + std::to_string(slice.head().slice.value) + " source " +
                    std::to_string(record.source.value) + " byte " + std::to_string(good.error());
    }
  });
  return check;
}

}  // namespace weir::system_test
