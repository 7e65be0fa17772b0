#include "recorded_file.hpp"
#include "source_list.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/ingest/fingerprint.hpp>
#include <weir/ingest/folder_index.hpp>
#include <weir/ingest/recorded_run.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace weir::ingest {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "index.json";
constexpr const char* kRunFileSuffix = ".weir";
constexpr const char* kUnclosedSuffix = ".part";

Unexpected<IngestFailure> failed(IngestError error, const fs::path& path, const std::string& what) {
  return Unexpected<IngestFailure>({error, path.string() + ": " + what});
}

// Reads the whole file, which may have at most `bytes_max` bytes.
Expected<std::string, IngestFailure> read_file(const fs::path& path, std::uint64_t bytes_max) {
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (error) {
    const bool absent = error == std::errc::no_such_file_or_directory;
    return failed(absent ? IngestError::not_found : IngestError::io, path, error.message());
  }
  if (size > bytes_max) {
    return failed(IngestError::too_large, path,
                  std::to_string(size) + " bytes, the limit is " + std::to_string(bytes_max));
  }
  std::string content(size, '\0');
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file || !file.read(content.data(), static_cast<std::streamsize>(size))) {
    return failed(IngestError::io, path, errno != 0 ? std::strerror(errno) : "cannot be read");
  }
  return content;
}

std::uint32_t crc32c_of(const std::string& content) { return crc32c(std::as_bytes(std::span(content))); }

// Fills `file` if it is given.
Expected<FolderIndex, IngestFailure> read_index(const fs::path& folder, const ReplayLimits& limits,
                                                RecordedFile* file = nullptr) {
  const fs::path path = folder / kIndexName;
  const auto text = read_file(path, limits.index_bytes_max);
  if (!text) return Unexpected<IngestFailure>(text.error());
  if (file != nullptr) *file = recorded_file(path, crc32c_of(*text));
  return parse_folder_index(*text, path.string(), limits);
}

// Reads a slice's file. Its length has to agree with the index.
Expected<std::string, IngestFailure> read_slice_file(const fs::path& folder, const FolderIndex::Slice& slice,
                                                     std::uint64_t bytes_max) {
  auto content = read_file(folder / slice.file, bytes_max);
  if (content && content->size() != slice.bytes) {
    return failed(IngestError::malformed, folder / slice.file,
                  std::to_string(content->size()) + " bytes, but " + kIndexName + " says " +
                      std::to_string(slice.bytes) + " for slice " + std::to_string(slice.slice.value));
  }
  return content;
}

// Sorts by name, behind the index, and removes duplicates: several slices may share a file.
void sort_files(std::vector<RecordedFile>& files) {
  const auto by_name = [](const RecordedFile& a, const RecordedFile& b) { return a.name < b.name; };
  const auto same_name = [](const RecordedFile& a, const RecordedFile& b) { return a.name == b.name; };
  WEIR_ASSERT(!files.empty());  // the index comes first
  std::sort(files.begin() + 1, files.end(), by_name);
  files.erase(std::unique(files.begin() + 1, files.end(), same_name), files.end());
}

// Returns the run files at a path, or an empty list for a folder with an index.
// A writer that was killed leaves its file with this suffix, with slices that no other file has. It is empty
// if nothing was written.
bool is_unclosed(const fs::path& path) {
  std::error_code error;
  return path.extension() == kUnclosedSuffix && path.stem().extension() == kRunFileSuffix &&
         !fs::exists(path.parent_path() / path.stem(), error) && fs::file_size(path, error) > 0 && !error;
}

Expected<std::vector<std::string>, IngestFailure> run_files_at(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return failed(IngestError::not_found, path, "no such file or folder");
  }
  if (fs::is_regular_file(status)) return std::vector{path};
  if (!fs::is_directory(status)) return failed(IngestError::io, path, "is neither a file nor a folder");
  std::vector<std::string> files;
  if (fs::exists(fs::path(path) / kIndexName, error)) return files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kRunFileSuffix || is_unclosed(entry->path()))
      files.push_back(entry->path().string());
  }
  if (error) return failed(IngestError::io, path, error.message());
  if (files.empty()) {
    return failed(IngestError::not_found, path,
                  std::string("holds neither ") + kIndexName + " nor run files (*" + kRunFileSuffix + ")");
  }
  std::sort(files.begin(), files.end());
  return files;
}

// `Slice` has `fragments`; `length_of` returns the bytes of one fragment.
template <class Slice, class LengthOf>
void note_sizes(const std::vector<Slice>& slices, LengthOf length_of, RecordedContents& contents) {
  contents.slices = slices.size();
  for (const Slice& slice : slices) {
    std::uint64_t bytes = 0;
    for (const auto& fragment : slice.fragments) {
      const std::uint64_t length = length_of(fragment);
      bytes += length;
      contents.fragment_bytes_max = std::max(contents.fragment_bytes_max, length);
      contents.sources.push_back(fragment.source);
    }
    contents.slice_bytes_max = std::max(contents.slice_bytes_max, bytes);
  }
  std::sort(contents.sources.begin(), contents.sources.end());
  contents.sources.erase(std::unique(contents.sources.begin(), contents.sources.end()),
                         contents.sources.end());
}

}  // namespace

Expected<RecordedContents, IngestFailure> look_into(const std::string& path, const ReplayLimits& limits) {
  const auto files = run_files_at(path);
  if (!files) return Unexpected<IngestFailure>(files.error());
  RecordedContents contents;
  if (files->empty()) {
    const auto index = read_index(path, limits);
    if (!index) return Unexpected<IngestFailure>(index.error());
    note_sizes(
        index->slices, [](const FolderIndex::Fragment& fragment) { return fragment.length; }, contents);
  } else {
    const auto run = load_run_files(*files, limits);
    if (!run) return Unexpected<IngestFailure>(run.error());
    note_sizes((*run)->slices, [](const RecordedFragment& fragment) { return fragment.bytes.size(); },
               contents);
  }
  return contents;
}

Expected<std::shared_ptr<const RecordedRun>, IngestFailure> load_recorded_slices(const std::string& path,
                                                                                 const ReplayLimits& limits) {
  const auto files = run_files_at(path);
  if (!files) return Unexpected<IngestFailure>(files.error());
  if (!files->empty()) return load_run_files(*files, limits);
  const auto index = read_index(path, limits);
  if (!index) return Unexpected<IngestFailure>(index.error());
  auto run = std::make_shared<RecordedRun>();
  for (const FolderIndex::Slice& slice : index->slices) {
    RecordedSlice& recorded = run->slices.emplace_back();
    recorded.slice = slice.slice;
    recorded.time = slice.time;
    recorded.duration = slice.duration;
  }
  return run;
}

Expected<std::shared_ptr<const RecordedRun>, IngestFailure> load_folder(const std::string& path,
                                                                        const ReplayLimits& limits) {
  const fs::path folder(path);
  auto run = std::make_shared<RecordedRun>();
  const auto index = read_index(folder, limits, &run->files.emplace_back());
  if (!index) return Unexpected<IngestFailure>(index.error());

  const auto files = std::make_shared<std::vector<std::string>>();
  files->reserve(
      index->slices.size());  // `reserve` keeps the strings in place: the fragments refer to their bytes
  std::uint64_t bytes_left = limits.bytes_max;
  for (std::size_t n = 0; n < index->slices.size(); ++n) {
    const FolderIndex::Slice& slice = index->slices[n];
    auto content = read_slice_file(folder, slice, bytes_left);
    if (!content) return Unexpected<IngestFailure>(content.error());
    WEIR_ASSERT(content->size() <= bytes_left);
    bytes_left -= content->size();
    run->files.push_back(recorded_file(folder / slice.file, crc32c_of(*content)));
    files->push_back(std::move(*content));
    WEIR_ASSERT(files->size() <= index->slices.size());  // the strings have kept their places
    const ConstBytes bytes = std::as_bytes(std::span(files->back()));
    RecordedSlice& recorded = run->slices.emplace_back();
    recorded.slice = slice.slice;
    recorded.time = slice.time;
    recorded.duration = slice.duration;
    recorded.fragments.reserve(slice.fragments.size());
    for (const FolderIndex::Fragment& fragment : slice.fragments) {
      RecordedFragment& entry = recorded.fragments.emplace_back();
      entry.source = fragment.source;
      WEIR_ASSERT(fragment.offset <= bytes.size() && fragment.length <= bytes.size() - fragment.offset);
      entry.bytes = bytes.subspan(fragment.offset, fragment.length);
    }
  }
  run->sources = sources_in(run->slices);
  run->owner = files;
  sort_files(run->files);
  return run;
}

Expected<std::vector<RecordedFile>, IngestFailure> fingerprint(const std::string& path,
                                                               const ReplayLimits& limits) {
  const auto run_files = run_files_at(path);
  if (!run_files) return Unexpected<IngestFailure>(run_files.error());
  if (!run_files->empty()) {
    const auto run = load_run_files(*run_files, limits);
    if (!run) return Unexpected<IngestFailure>(run.error());
    return (*run)->files;
  }
  std::vector<RecordedFile> files(1);
  const auto index = read_index(path, limits, &files.front());
  if (!index) return Unexpected<IngestFailure>(index.error());
  for (const FolderIndex::Slice& slice : index->slices) {
    const auto content = read_slice_file(path, slice, limits.bytes_max);
    if (!content) return Unexpected<IngestFailure>(content.error());
    files.push_back(recorded_file(fs::path(path) / slice.file, crc32c_of(*content)));
  }
  sort_files(files);
  return files;
}

Expected<std::shared_ptr<const RecordedRun>, IngestFailure> load_recorded_run(const std::string& path,
                                                                              const ReplayLimits& limits,
                                                                              std::optional<RunNumber> run) {
  auto files = run_files_at(path);
  if (!files) return Unexpected<IngestFailure>(files.error());
  if (files->empty() && !run) return load_folder(path, limits);
  if (run) {
    const std::string digits = std::to_string(run->value);
    const std::string prefix =
        "run-" + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits + "-";
    std::erase_if(*files, [&](const std::string& file) {
      return file != path && !fs::path(file).filename().string().starts_with(prefix);
    });
    if (files->empty()) return failed(IngestError::not_found, path, "holds no file " + prefix + "*");
  }
  return load_run_files(*files, limits);
}

}  // namespace weir::ingest
