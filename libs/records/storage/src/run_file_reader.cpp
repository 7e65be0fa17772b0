#include "mapped_file.hpp"
#include <weir/base/planted.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace weir::storage {
namespace {

ConstBytes body_of(ConstBytes file, const RecordHead& head) {
  return file.subspan(head.offset + kRecordHeadLength, head.body_length);
}

}  // namespace

std::optional<RecordHead> RecordCursor::next(std::vector<Gap>& gaps) {
  if (offset_ >= file_.size()) return std::nullopt;
  auto head = parse_record_head(file_, offset_, tag_);
  if (!head) {
    Gap gap{offset_, 0, head.error()};
    do {
      offset_ += kAlignment;
      if (offset_ >= file_.size()) break;
      head = parse_record_head(file_, offset_, tag_);
    } while (!head);
    offset_ = std::min<std::uint64_t>(offset_, file_.size());
    gap.length = offset_ - gap.offset;
    gaps.push_back(gap);
    if (!head) return std::nullopt;
  }
  offset_ += head->length();
  return *head;
}

RunFileReader::RunFileReader() = default;
RunFileReader::~RunFileReader() = default;
RunFileReader::RunFileReader(RunFileReader&&) noexcept = default;
RunFileReader& RunFileReader::operator=(RunFileReader&&) noexcept = default;

Expected<RunFileReader, StorageFailure> RunFileReader::open(const std::string& path, Reading reading) {
  auto mapped = MappedFile::open(path);
  if (!mapped) return Unexpected<StorageFailure>(mapped.error());
  RunFileReader reader;
  reader.path_ = path;
  reader.mapped_ = std::make_unique<MappedFile>(std::move(*mapped));
  reader.bytes_ = reader.mapped_->bytes();
  if (auto failure = reader.load(reading)) return Unexpected<StorageFailure>(std::move(*failure));
  return reader;
}

Expected<RunFileReader, StorageFailure> RunFileReader::from_bytes(ConstBytes file, std::string path,
                                                                  Reading reading) {
  RunFileReader reader;
  reader.path_ = std::move(path);
  reader.bytes_ = file;
  if (auto failure = reader.load(reading)) return Unexpected<StorageFailure>(std::move(*failure));
  return reader;
}

std::optional<StorageFailure> RunFileReader::load(Reading reading) {
  auto header = parse_file_header(bytes_);
  if (!header) {
    const bool stranger = header.error() == StorageError::bad_magic;
    return StorageFailure{header.error(),
                          path_ + (stranger ? ": not a Weir run file" : ": the file header is unusable: ") +
                              (stranger ? "" : std::string(name(header.error())))};
  }
  header_ = std::move(*header);
  const auto error = load_index();
  unfinished_ = error == StorageError::not_found;
  if (unfinished_) {
    note_ = "not closed: no footer found, the records were read one by one";
  } else if (error) {
    note_ =
        "footer or index are damaged (" + std::string(name(*error)) + "), the records were read one by one";
  } else if (reading == Reading::records) {
    note_ = "the records were read one by one";
  }
  if (!note_.empty()) {
    footer_.reset();
    entries_.clear();
    dead_copies_.clear();
    const bool strict =
        (unfinished_ || reading == Reading::records) && !planted(Planted::believe_torn_records);
    scan(strict ? Check::fragments : Check::meta);
  }
  order();
  mark_dead(dead_copies_);
  return std::nullopt;
}

std::optional<StorageError> RunFileReader::load_index() {
  const auto footer = parse_footer(bytes_, header_.tag);
  if (!footer) return footer.error();
  const auto head = parse_record_head(bytes_, footer->index_offset, header_.tag);
  if (!head) return head.error();
  if (head->type != RecordType::index || head->body_length != footer->index_length)
    return StorageError::bad_length;
  auto entries = parse_index(body_of(bytes_, *head), bytes_.size());
  if (!entries) return entries.error();
  if (entries->size() != footer->index_count) return StorageError::bad_length;
  footer_ = *footer;
  entries_ = std::move(*entries);
  std::sort(entries_.begin(), entries_.end(),
            [](const IndexEntry& a, const IndexEntry& b) { return a.offset < b.offset; });
  std::vector<Gap> ignored;
  RecordCursor first(bytes_, header_.length, header_.tag);
  if (const auto begin = first.next(ignored); begin && begin->type != RecordType::slice) {
    take_record(*begin, Check::meta);
  }
  load_tail(footer->tail_offset);
  return std::nullopt;
}

// Reads the records between the slices and the index: dead list and end of run.
void RunFileReader::load_tail(std::uint64_t from) {
  for (std::uint64_t offset = from; offset < footer_->index_offset;) {
    const auto head = parse_record_head(bytes_, offset, header_.tag);
    if (!head) return;
    if (head->type != RecordType::slice) take_record(*head, Check::meta);
    offset += head->length();
  }
}

void RunFileReader::scan(Check check) {
  RecordCursor cursor(bytes_, header_.length, header_.tag);
  while (const auto head = cursor.next(gaps_)) take_record(*head, check);
}

void RunFileReader::take_record(const RecordHead& head, Check check) {
  const ConstBytes body = body_of(bytes_, head);
  if (head.type == RecordType::slice) {
    const auto view = parse_slice_record(body, check);
    if (!view) {
      gaps_.push_back({head.offset, head.length(), view.error()});
      return;
    }
    const SliceHead& slice = view->head();
    entries_.push_back({slice.slice, head.offset, head.body_length, slice.stream_mask, slice.trigger_time,
                        slice.attempt, slice.epoch, slice.flags, false});
  } else if (head.type == RecordType::begin_of_run) {
    if (const auto content = parse_opaque(body)) begin_of_run_ = *content;
  } else if (head.type == RecordType::end_of_run) {
    if (const auto content = parse_opaque(body)) end_of_run_ = *content;
  } else if (head.type == RecordType::dead_list) {
    if (const auto copies = parse_dead_list(body)) {
      dead_copies_.insert(dead_copies_.end(), copies->begin(), copies->end());
    }
  }
}

// Of several copies of a slice, only the one with the highest store epoch is live, whatever the dead list
// names.
void RunFileReader::order() {
  by_id_.resize(entries_.size());
  std::iota(by_id_.begin(), by_id_.end(), 0U);
  std::sort(by_id_.begin(), by_id_.end(), [this](std::uint32_t a, std::uint32_t b) {
    const IndexEntry& left = entries_[a];
    const IndexEntry& right = entries_[b];
    return std::tie(left.slice, left.epoch, left.offset) < std::tie(right.slice, right.epoch, right.offset);
  });
  const IndexEntry* highest = nullptr;  // of the same slice
  for (auto at = by_id_.rbegin(); at != by_id_.rend(); ++at) {
    IndexEntry& entry = entries_[*at];
    if (highest == nullptr || highest->slice != entry.slice) highest = &entry;
    if (entry.epoch < highest->epoch) entry.dead = true;
  }
  // A copy that was marked dead, forgotten, and then received again.
  const IndexEntry* kept = nullptr;
  for (const std::uint32_t i : by_id_) {
    IndexEntry& entry = entries_[i];
    if (kept != nullptr && std::tie(kept->slice, kept->epoch, kept->attempt) ==
                               std::tie(entry.slice, entry.epoch, entry.attempt)) {
      entry.dead = true;
    } else if (!entry.dead) {
      kept = &entry;
    }
  }
}

const IndexEntry* RunFileReader::find(SliceId slice) const {
  auto at = std::lower_bound(by_id_.begin(), by_id_.end(), slice,
                             [this](std::uint32_t i, SliceId wanted) { return entries_[i].slice < wanted; });
  for (; at != by_id_.end() && entries_[*at].slice == slice; ++at) {
    if (!entries_[*at].dead) return &entries_[*at];
  }
  return nullptr;
}

Expected<SliceRecordView, StorageError> RunFileReader::slice(const IndexEntry& entry, Check check) const {
  const auto head = parse_record_head(bytes_, entry.offset, header_.tag);
  if (!head) return Unexpected<StorageError>(head.error());
  if (head->type != RecordType::slice || head->body_length != entry.length) {
    return Unexpected<StorageError>(StorageError::not_found);
  }
  auto view = parse_slice_record(body_of(bytes_, *head), check);
  if (view && (view->head().slice != entry.slice || view->head().epoch != entry.epoch)) {
    return Unexpected<StorageError>(StorageError::not_found);
  }
  return view;
}

void RunFileReader::mark_dead(std::span<const DeadCopy> copies) {
  for (const DeadCopy& copy : copies) {
    auto at =
        std::lower_bound(by_id_.begin(), by_id_.end(), copy.slice,
                         [this](std::uint32_t i, SliceId wanted) { return entries_[i].slice < wanted; });
    for (; at != by_id_.end() && entries_[*at].slice == copy.slice; ++at) {
      IndexEntry& entry = entries_[*at];
      if (entry.epoch == copy.epoch && entry.attempt == copy.attempt) entry.dead = true;
    }
  }
}

SliceSum RunFileReader::live() const {
  SliceSum sum;
  for (const IndexEntry& entry : entries_) {
    if (!entry.dead) sum.add(entry.slice);
  }
  return sum;
}

void resolve_copies(std::span<RunFileReader> files) {
  for (RunFileReader& file : files) {
    for (const RunFileReader& other : files) {
      if (other.header().run == file.header().run) file.mark_dead(other.dead_copies());
    }
  }
  struct Copy {
    RunNumber run;
    SliceId slice;
    StoreEpoch epoch;
    std::uint32_t file;
    std::uint32_t entry;
  };
  std::vector<Copy> copies;
  for (std::uint32_t f = 0; f < files.size(); ++f) {
    const auto entries = files[f].entries();
    for (std::uint32_t e = 0; e < entries.size(); ++e) {
      copies.push_back({files[f].header().run, entries[e].slice, entries[e].epoch, f, e});
    }
  }
  std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return std::tie(a.run, a.slice, a.epoch, a.file, a.entry) <
           std::tie(b.run, b.slice, b.epoch, b.file, b.entry);
  });
  const Copy* highest = nullptr;  // of the same slice
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
    if (highest == nullptr || highest->run != copy->run || highest->slice != copy->slice) highest = &*copy;
    if (copy->epoch < highest->epoch) files[copy->file].mark_dead(copy->entry);
  }
  // A writer may have stored the same copy before and after a restart.
  const auto is_again = [&files](const Copy& a, const Copy& b) {
    return a.run == b.run && a.slice == b.slice && a.epoch == b.epoch &&
           files[a.file].header().writer == files[b.file].header().writer &&
           files[a.file].entries()[a.entry].attempt == files[b.file].entries()[b.entry].attempt;
  };
  const Copy* kept = nullptr;
  for (const Copy& copy : copies) {
    if (files[copy.file].entries()[copy.entry].dead) continue;
    if (kept != nullptr && is_again(*kept, copy)) {
      files[copy.file].mark_dead(copy.entry);
    } else {
      kept = &copy;
    }
  }
}

}  // namespace weir::storage
