#include "run_histograms.hpp"
#include <weir/base/assert.hpp>
#include <weir/file_reader.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

namespace weir::files {
namespace {

namespace fs = std::filesystem;

ErrorKind kind_of(storage::StorageError error) {
  if (error == storage::StorageError::not_found) return ErrorKind::not_found;
  return error == storage::StorageError::io ? ErrorKind::io : ErrorKind::damaged;
}

std::string text_of(ConstBytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The run files of a folder, by run. A .part is left out if its closed file exists.
std::map<std::uint32_t, std::vector<std::string>> runs_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    paths.push_back(at->path());
  if (error)
    throw Error(ErrorKind::io, folder.string() + ": " + error.message() + ": the folder cannot be read");
  std::sort(paths.begin(), paths.end());
  std::map<std::uint32_t, std::vector<std::string>> runs;
  for (const fs::path& path : paths) {
    const std::string file = path.filename().string();
    const auto parsed = storage::parse_run_file_name(file);
    if (!parsed) continue;
    const bool part = file.ends_with(storage::kPartSuffix);
    if (part && fs::exists(path.string().substr(0, path.string().size() - storage::kPartSuffix.size())))
      continue;
    runs[parsed->run.value].push_back(path.string());
  }
  return runs;
}

std::vector<std::string> files_of(const fs::path& folder, std::optional<std::uint32_t> number) {
  auto runs = runs_of(folder);
  if (!number && runs.size() == 1) return std::move(runs.begin()->second);
  if (number && runs.contains(*number)) return std::move(runs[*number]);
  std::string all;
  for (const auto& [run, files] : runs) all += (all.empty() ? "" : ", ") + std::to_string(run);
  if (!number && !runs.empty())
    throw Error(ErrorKind::ambiguous, folder.string() + ": choose a run: it has " + all);
  throw Error(ErrorKind::not_found,
              folder.string() + ": no run" + (number ? " " + std::to_string(*number) : "") + ": it has " +
                  (all.empty() ? "no run files" : all) + "; use the folder of run.out, or a run file");
}

}  // namespace

struct Run::Data {
  // Of a slice's copy that counts.
  struct Place {
    std::uint32_t file = 0;
    std::uint32_t entry = 0;
  };

  fs::path folder;
  std::vector<storage::RunFileReader> files;
  std::vector<Place> places;  // that count, by id

  [[nodiscard]] const storage::IndexEntry& entry(const Place& place) const {
    return files[place.file].entries()[place.entry];
  }
  [[nodiscard]] fs::path beside(const char* suffix) const {
    std::string stem = storage::run_file_name(files.front().header().run, "", 0);
    WEIR_ASSERT(std::count(stem.begin(), stem.end(), '-') >= 2);
    stem.resize(stem.find('-', stem.find('-') + 1));  // run-000001
    return folder / (stem + suffix);
  }
};

struct Slice::Record {
  std::shared_ptr<const Run::Data> data;
  storage::SliceRecordView view;
};

// ---- Run

Run::Run(const fs::path& path, std::optional<std::uint32_t> number) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  if (!is_folder && !fs::exists(path, error))
    throw Error(ErrorKind::not_found, path.string() + ": no such file or folder");
  auto data = std::make_shared<Data>();
  data->folder = is_folder ? path : path.parent_path();
  for (const std::string& file : is_folder ? files_of(path, number) : std::vector{path.string()}) {
    auto opened = storage::RunFileReader::open(file);
    if (!opened) throw Error(kind_of(opened.error().error), opened.error().detail);
    data->files.push_back(std::move(*opened));
  }
  if (number && data->files.front().header().run.value != *number) {
    throw Error(ErrorKind::not_found, path.string() + ": is a file of run " +
                                          std::to_string(data->files.front().header().run.value) +
                                          ", not of run " + std::to_string(*number));
  }
  storage::resolve_copies(data->files);
  for (std::uint32_t file = 0; file < data->files.size(); ++file) {
    const auto entries = data->files[file].entries();
    for (std::uint32_t entry = 0; entry < entries.size(); ++entry) {
      if (!entries[entry].dead) data->places.push_back({file, entry});
    }
  }
  std::sort(data->places.begin(), data->places.end(), [&](const Data::Place& a, const Data::Place& b) {
    return data->entry(a).slice.value < data->entry(b).slice.value;
  });
  data_ = std::move(data);
}

std::uint32_t Run::number() const { return data_->files.front().header().run.value; }
std::string Run::farm() const { return data_->files.front().header().farm; }
std::size_t Run::size() const { return data_->places.size(); }

std::vector<RunFile> Run::files() const {
  std::vector<RunFile> out;
  for (const storage::RunFileReader& file : data_->files)
    out.push_back({file.path(), file.header().writer, file.header().sequence, file.closed(), file.note(),
                   file.live().count});
  return out;
}

std::string Run::record() const {
  for (const storage::RunFileReader& file : data_->files) {
    if (const auto content = file.begin_of_run(); content && !content->empty()) return text_of(*content);
  }
  return {};
}

namespace {

// Empty: no such file.
std::string read_whole(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw Error(ErrorKind::io, path.string() + ": cannot be read");
  return text;
}

}  // namespace

std::string Run::summary() const { return read_whole(data_->beside("-end.json")); }

std::vector<Histogram> Run::histograms() const {
  const fs::path path = data_->beside("-histograms.json");
  const std::string text = read_whole(path);
  return text.empty() ? std::vector<Histogram>() : parse_histograms(text, path.string());
}

Slice Run::operator[](std::size_t index) const {
  WEIR_ASSERT(index < data_->places.size());
  const Data::Place& place = data_->places[index];
  const storage::RunFileReader& file = data_->files[place.file];
  const storage::IndexEntry& entry = file.entries()[place.entry];
  auto view = file.slice(entry);
  if (!view) {
    throw Error(ErrorKind::damaged, file.path() + ": slice " + std::to_string(entry.slice.value) +
                                        " at byte " + std::to_string(entry.offset) + " is damaged (" +
                                        std::string(storage::name(view.error())) +
                                        "): weir file verify names all damaged places");
  }
  return Slice(std::make_shared<const Slice::Record>(Slice::Record{data_, *view}));
}

std::optional<Slice> Run::find(std::uint64_t id) const {
  const auto& places = data_->places;
  const auto found =
      std::lower_bound(places.begin(), places.end(), id, [&](const Data::Place& place, std::uint64_t wanted) {
        return data_->entry(place).slice.value < wanted;
      });
  if (found == places.end() || data_->entry(*found).slice.value != id) return std::nullopt;
  return (*this)[static_cast<std::size_t>(found - places.begin())];
}

// ---- Slice

namespace {

std::optional<std::uint32_t> checksum(const storage::FragmentRecord& record, std::uint32_t value) {
  return record.checksummed ? std::optional(value) : std::nullopt;
}

Fragment fragment_of(const storage::FragmentView& view) {
  const storage::FragmentRecord& record = view.record;
  return {record.source.value,
          static_cast<Status>(record.status),
          static_cast<Reason>(record.reason),
          record.kept,
          record.total_length,
          checksum(record, record.source_crc32c),
          checksum(record, record.stored_crc32c),
          view.bytes};
}

}  // namespace

std::uint64_t Slice::id() const { return record_->view.head().slice.value; }
std::uint32_t Slice::run() const { return record_->view.head().run.value; }
std::uint32_t Slice::attempt() const { return record_->view.head().attempt.value; }
std::int64_t Slice::trigger_time_utc_ns() const { return record_->view.head().trigger_time; }
std::int64_t Slice::duration_ns() const { return record_->view.head().duration; }
std::uint32_t Slice::trigger_type() const { return record_->view.head().trigger_type.value; }
std::uint64_t Slice::streams() const { return record_->view.head().stream_mask; }
std::uint32_t Slice::prescale() const { return record_->view.head().prescale; }
std::uint32_t Slice::dcm() const { return record_->view.head().dcm.value; }
Decision Slice::decision() const { return static_cast<Decision>(record_->view.head().decision); }
bool Slice::is_incomplete() const {
  return (record_->view.head().flags & storage::slice_flag::incomplete) != 0;
}
Bytes Slice::trigger_payload() const { return record_->view.trigger_payload(); }
Bytes Slice::filter_result() const { return record_->view.filter_result(); }
std::size_t Slice::fragment_count() const { return record_->view.fragment_count(); }
Fragment Slice::fragment(std::size_t index) const { return fragment_of(record_->view.fragment(index)); }
std::size_t Slice::event_count() const { return record_->view.event_count(); }

std::vector<Fragment> Slice::fragments() const {
  std::vector<Fragment> out;
  out.reserve(fragment_count());
  for (std::size_t i = 0; i < fragment_count(); ++i) out.push_back(fragment(i));
  return out;
}

std::optional<Fragment> Slice::find(std::uint32_t source) const {
  const auto found = record_->view.find(SourceId(source));
  return found ? std::optional(fragment_of(*found)) : std::nullopt;
}

OutputEvent Slice::event(std::size_t index) const {
  const storage::OutputEvent event = record_->view.event(index);
  return {event.id, event.bytes};
}

std::vector<OutputEvent> Slice::events() const {
  std::vector<OutputEvent> out;
  for (std::size_t i = 0; i < event_count(); ++i) out.push_back(event(i));
  return out;
}

bool Fragment::is_sound() const {
  if (!kept || !stored_crc32c) return true;
  storage::FragmentView view;
  view.record.kept = kept;
  view.record.checksummed = true;
  view.record.stored_length = static_cast<std::uint32_t>(bytes.size());
  view.record.stored_crc32c = *stored_crc32c;
  view.bytes = bytes;
  return storage::fragment_is_sound(view);
}

// ---- names

std::string_view name(ErrorKind kind) {
  constexpr std::string_view kNames[] = {"not_found", "ambiguous", "damaged", "io"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ErrorKind::io) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}
// The public enumerations have the values of the records.
static_assert(static_cast<int>(Status::out_of_step) == static_cast<int>(FragmentStatus::out_of_step));
static_assert(static_cast<std::size_t>(Reason::too_old) + 1 == kMissingReasons);
static_assert(static_cast<int>(Decision::burst) == static_cast<int>(DecisionKind::burst));

std::string_view name(Status status) { return weir::name(static_cast<FragmentStatus>(status)); }
std::string_view name(Reason reason) { return weir::name(static_cast<MissingReason>(reason)); }
std::string_view name(Decision decision) { return weir::name(static_cast<DecisionKind>(decision)); }

}  // namespace weir::files
