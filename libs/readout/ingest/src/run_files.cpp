#include "recorded_file.hpp"
#include "source_list.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/ingest/recorded_run.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace weir::ingest {
namespace {

using storage::RunFileReader;

Unexpected<IngestFailure> failed(IngestError error, const std::string& path, const std::string& what) {
  return Unexpected<IngestFailure>({error, path + ": " + what});
}

RecordedFragment recorded(const storage::FragmentView& view) {
  const storage::FragmentRecord& record = view.record;
  RecordedFragment fragment;
  fragment.source = record.source;
  const bool usable =
      record.kept &&
      (record.status == FragmentStatus::ok || record.status == FragmentStatus::truncated ||
       record.status == FragmentStatus::suppressed || record.status == FragmentStatus::out_of_step);
  if (!usable) {
    fragment.status = FragmentStatus::missing;
    fragment.reason = record.reason == MissingReason::none ? MissingReason::not_produced : record.reason;
    return fragment;
  }
  fragment.status = record.status;
  fragment.bytes = view.bytes;
  fragment.checksummed = record.checksummed && record.stored_length == record.total_length &&
                         record.stored_crc32c == record.source_crc32c;
  fragment.crc32c = record.source_crc32c;
  return fragment;
}

// Extends a checksum by the id and time of a slice and by its fragments' checksums.
std::uint32_t extend(std::uint32_t crc, const RecordedSlice& slice) {
  const auto add = [&crc](const auto& row) { crc = crc32c_extend(crc, std::as_bytes(std::span(row))); };
  add(std::array{slice.slice.value, static_cast<std::uint64_t>(slice.time)});
  for (const RecordedFragment& fragment : slice.fragments) {
    add(std::array{fragment.source.value, static_cast<std::uint32_t>(fragment.status),
                   static_cast<std::uint32_t>(fragment.bytes.size()),
                   fragment.checksummed ? fragment.crc32c : crc32c(fragment.bytes)});
  }
  return crc;
}

Expected<void, IngestFailure> append_slices(const RunFileReader& file, const ReplayLimits& limits,
                                            std::size_t& fragments, RecordedRun& run) {
  std::uint32_t crc = 0;
  for (const storage::IndexEntry& entry : file.entries()) {
    if (entry.dead) continue;
    const auto view = file.slice(entry);
    if (!view) {
      return failed(IngestError::malformed, file.path(),
                    "slice " + std::to_string(entry.slice.value) + " at byte " +
                        std::to_string(entry.offset) + ": " + std::string(storage::name(view.error())) +
                        "; 'weir file verify' has details");
    }
    fragments += view->fragment_count();
    if (run.slices.size() >= limits.slices_max || fragments > limits.fragments_max) {
      return failed(IngestError::too_large, file.path(),
                    "more than " + std::to_string(limits.slices_max) + " slices or " +
                        std::to_string(limits.fragments_max) + " fragments in all");
    }
    RecordedSlice& slice = run.slices.emplace_back();
    slice.slice = entry.slice;
    slice.run = view->head().run;
    slice.time = view->head().trigger_time;
    slice.duration = view->head().duration;
    slice.trigger_type = view->head().trigger_type;
    slice.trigger_payload = view->trigger_payload();
    slice.fragments.reserve(view->fragment_count());
    for (std::size_t i = 0; i < view->fragment_count(); ++i) {
      slice.fragments.push_back(recorded(view->fragment(i)));
    }
    std::sort(slice.fragments.begin(), slice.fragments.end(),
              [](const auto& a, const auto& b) { return a.source < b.source; });
    const auto twice = std::adjacent_find(slice.fragments.begin(), slice.fragments.end(),
                                          [](const auto& a, const auto& b) { return a.source == b.source; });
    if (twice != slice.fragments.end()) {
      return failed(IngestError::malformed, file.path(),
                    "slice " + std::to_string(entry.slice.value) + ": source " +
                        std::to_string(twice->source.value) + " occurs twice");
    }
    crc = extend(crc, slice);
  }
  run.files.push_back(recorded_file(file.path(), crc));
  return {};
}

}  // namespace

Expected<std::shared_ptr<const RecordedRun>, IngestFailure> load_run_files(
    const std::vector<std::string>& paths, const ReplayLimits& limits) {
  const auto files = std::make_shared<std::vector<RunFileReader>>();
  for (const std::string& path : paths) {
    auto file = RunFileReader::open(path);
    if (!file) {
      const bool absent = file.error().error == storage::StorageError::not_found;
      const bool refused = file.error().error == storage::StorageError::io;
      return Unexpected<IngestFailure>({absent    ? IngestError::not_found
                                        : refused ? IngestError::io
                                                  : IngestError::malformed,
                                        file.error().detail});
    }
    if (file->header().run != (files->empty() ? *file : files->front()).header().run) {
      return failed(IngestError::malformed, path,
                    "is of run " + std::to_string(file->header().run.value) + ", " + files->front().path() +
                        " is of run " + std::to_string(files->front().header().run.value) +
                        "; give one file, or a folder with the files of one run");
    }
    files->push_back(std::move(*file));
  }
  storage::resolve_copies(*files);
  auto run = std::make_shared<RecordedRun>();
  std::size_t fragments = 0;
  for (const RunFileReader& file : *files) {
    if (auto done = append_slices(file, limits, fragments, *run); !done)
      return Unexpected<IngestFailure>(done.error());
  }
  if (run->slices.empty()) {
    return failed(IngestError::not_found, paths.empty() ? "replay" : paths.front(), "no slice to replay");
  }
  std::sort(run->slices.begin(), run->slices.end(), [](auto& a, auto& b) { return a.slice < b.slice; });
  run->sources = sources_in(run->slices);
  run->owner = files;
  return run;
}

}  // namespace weir::ingest
