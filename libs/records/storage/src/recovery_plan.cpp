#include "byte_writer.hpp"
#include "claimed_slice.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/recover.hpp>
#include <weir/storage/run_file_reader.hpp>
#include <weir/storage/slice_record.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

namespace weir::storage {
namespace {

constexpr std::byte kZeros[kAlignment] = {};

bool all_zero(ConstBytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// For a file without a header: finds the first record head that is sound except for the tag, and takes the
// tag from it.
std::optional<RecordHead> find_first_record(ConstBytes file) {
  constexpr std::size_t kTagAt = 4;
  for (std::uint64_t offset = 0; offset + kRecordHeadLength <= file.size(); offset += kAlignment) {
    const auto tag = load_le<std::uint32_t>(file.data() + offset + kTagAt);
    if (const auto head = parse_record_head(file, offset, tag)) return *head;
  }
  return std::nullopt;
}

class Planner {
 public:
  Planner(ConstBytes file, const std::string& path) : file_(file), path_(path) {
    recovery_.report.bytes_in = file.size();
  }

  std::optional<StorageFailure> begin() {
    const auto header = parse_file_header(file_);
    if (header) {
      header_ = *header;
      first_ = header->length;
      tag_ = header->tag;
      recovery_.report.bytes_kept = header->length;
      return std::nullopt;
    }
    if (header.error() == StorageError::bad_version) {
      return StorageFailure{
          StorageError::bad_version,
          path_ + ": unknown version of the format: recover it with the program that wrote it"};
    }
    return rebuild_header(header.error());
  }

  Recovery run() {
    put_header();
    RecordCursor cursor(file_, first_, tag_);
    while (const auto head = cursor.next(gaps_)) {
      cut_gaps();
      take(*head);
    }
    cut_gaps();
    finish();
    return std::move(recovery_);
  }

 private:
  struct Kept {
    RecordHead head;  // position as in the original
    ConstBytes body;
  };

  // A file without a header is recovered if a record or its name shows that it is Weir's.
  std::optional<StorageFailure> rebuild_header(StorageError error) {
    const auto first = find_first_record(file_);
    const auto name = parse_run_file_name(std::filesystem::path(path_).filename().string());
    if (!first && !name) {
      return StorageFailure{error, path_ + ": not a Weir run file: no header, no record, no matching name"};
    }
    if (name) {
      header_.run = name->run;
      header_.writer = name->writer;
      header_.sequence = name->sequence;
    }
    first_ = first ? first->offset : file_.size();
    tag_ = first ? first->tag : 0;
    if (!name) header_.run = RunNumber(run_of_records());
    recovery_.report.header_rebuilt = true;
    if (first_ > 0) {
      cut({0,
           first_,
           {},
           {},
           all_zero(file_.first(first_))
               ? "zeros where the file header should be"
               : fmt::format("the file header is damaged or not whole ({})", storage::name(error))},
          first.has_value());
    }
    return std::nullopt;
  }

  [[nodiscard]] std::uint32_t run_of_records() const {
    std::vector<Gap> ignored;
    RecordCursor cursor(file_, first_, tag_);
    while (const auto head = cursor.next(ignored)) {
      if (head->type != RecordType::slice) continue;
      const auto view = parse_slice_record(body_of(*head));
      if (view) return view->head().run.value;
    }
    return 0;
  }

  [[nodiscard]] ConstBytes body_of(const RecordHead& head) const {
    return file_.subspan(head.offset + kRecordHeadLength, head.body_length);
  }

  void take(const RecordHead& head) {
    const ConstBytes body = body_of(head);
    switch (head.type) {
      case RecordType::slice:
        return take_slice(head, body);
      case RecordType::index:
      case RecordType::footer:
        recovery_.report.bytes_replaced += head.length();
        return settle_cuts(true);
      case RecordType::dead_list:
        if (const auto copies = parse_dead_list(body)) {
          dead_.insert(dead_.end(), copies->begin(), copies->end());
          return keep_behind(head, body);
        }
        return cut_record(head, "the dead list is damaged");
      case RecordType::begin_of_run:
      case RecordType::end_of_run:
        if (!parse_opaque(body)) {
          return cut_record(head, fmt::format("the {} record is damaged", name(head.type)));
        }
        if (head.type == RecordType::end_of_run) {
          recovery_.report.end_of_run = true;
          return keep_behind(head, body);
        }
        recovery_.report.begin_of_run = true;
        settle_cuts(true);
        return put({head, body});
      default:
        return keep_behind(head, body);
    }
  }

  void take_slice(const RecordHead& head, ConstBytes body) {
    const auto view = parse_slice_record(body, Check::fragments);
    if (view) {
      const SliceHead& slice = view->head();
      entries_.push_back({slice.slice, out_size_, head.body_length, slice.stream_mask, slice.trigger_time,
                          slice.attempt, slice.epoch, slice.flags, false});
      settle_cuts(true);
      return put({head, body});
    }
    Cut made{head.offset, head.length(), claimed_slice(body), {}, {}};
    const auto damaged = parse_slice_record(body);
    if (!damaged) {
      made.why = fmt::format("head or tables of a slice record of {} B are damaged ({})", head.body_length,
                             name(damaged.error()));
    } else {
      for (std::size_t i = 0; i < damaged->fragment_count() && !made.source; ++i) {
        const FragmentView fragment = damaged->fragment(i);
        if (!fragment_is_sound(fragment)) made.source = fragment.record.source;
      }
      made.why = fmt::format("checksum mismatch in a fragment of a slice record of {} B", head.body_length);
    }
    pending_.push_back(std::move(made));
  }

  // Dead lists, the end of run and unknown records are written behind the slices.
  void keep_behind(const RecordHead& head, ConstBytes body) {
    settle_cuts(true);
    behind_.push_back({head, body});
  }

  void cut_record(const RecordHead& head, std::string why) {
    pending_.push_back({head.offset, head.length(), {}, {}, std::move(why)});
  }

  void cut_gaps() {
    for (const Gap& gap : gaps_) pending_.push_back(describe(gap));
    gaps_.clear();
  }

  [[nodiscard]] Cut describe(const Gap& gap) const {
    const ConstBytes bytes = file_.subspan(gap.offset, gap.length);
    Cut made{gap.offset, gap.length, {}, {}, {}};
    if (all_zero(bytes)) {
      made.why = "zeros, as a file system leaves them after a loss of power";
    } else if (gap.error == StorageError::truncated && bytes.size() < kRecordHeadLength) {
      made.why = "the beginning of a record's head";
    } else if (gap.error == StorageError::truncated) {
      const auto type = static_cast<RecordType>(load_le<std::uint16_t>(bytes.data() + 24));
      const ConstBytes body = bytes.subspan(kRecordHeadLength);
      if (type == RecordType::slice) made.slice = claimed_slice(body);
      made.why = fmt::format("a {} record of {} B of which only the first {} exist", name(type),
                             load_le<std::uint64_t>(bytes.data() + 16), body.size());
    } else {
      made.why = fmt::format("no record ({})", name(gap.error));
    }
    return made;
  }

  void cut(Cut made, bool in_front_of_a_record) {
    RecoveryReport& report = recovery_.report;
    report.bytes_cut += made.length;
    ++report.cuts_total;
    if (in_front_of_a_record) ++report.damaged;
    if (report.cuts.size() < RecoveryReport::kCutsMax) report.cuts.push_back(std::move(made));
  }

  void settle_cuts(bool in_front_of_a_record) {
    for (Cut& made : pending_) cut(std::move(made), in_front_of_a_record);
    pending_.clear();
  }

  void put_header() {
    if (!recovery_.report.header_rebuilt) return add(file_.first(header_.length));
    std::vector<std::byte> bytes;
    encode_file_header(header_, bytes);
    add_own(std::move(bytes));
  }

  // Reuses the original's bytes if they need no change.
  void put(const Kept& kept) {
    RecoveryReport& report = recovery_.report;
    ++report.records;
    report.bytes_kept += kept.head.length();
    if (kept.head.offset == out_size_ && tag_ == header_.tag) {
      add(file_.subspan(kept.head.offset, kRecordHeadLength));
    } else {
      RecordHead head = kept.head;
      head.offset = out_size_;
      head.tag = header_.tag;
      std::vector<std::byte> bytes(kRecordHeadLength);
      encode_record_head(head, bytes.data());
      add_own(std::move(bytes));
    }
    add(kept.body);
    const std::uint64_t padding = padded(kept.body.size()) - kept.body.size();
    const ConstBytes there =
        file_.subspan(kept.head.offset + kRecordHeadLength + kept.head.body_length, padding);
    add(all_zero(there) ? there : ConstBytes(kZeros).first(padding));
  }

  void put_new(RecordType type, std::vector<std::byte> body) {
    std::vector<std::byte> record(kRecordHeadLength);
    encode_record_head({header_.tag, out_size_, body.size(), type, 0}, record.data());
    record.insert(record.end(), body.begin(), body.end());
    record.resize(kRecordHeadLength + padded(body.size()));
    add_own(std::move(record));
  }

  void add(ConstBytes bytes) {
    if (bytes.empty()) return;
    out_size_ += bytes.size();
    crc_ = crc32c_extend(crc_, bytes);
    auto& pieces = recovery_.pieces;
    if (!pieces.empty() && pieces.back().data() + pieces.back().size() == bytes.data()) {
      pieces.back() = ConstBytes(pieces.back().data(), pieces.back().size() + bytes.size());
    } else {
      pieces.push_back(bytes);
    }
  }

  void add_own(std::vector<std::byte> bytes) { add(recovery_.own.emplace_back(std::move(bytes))); }

  void finish() {
    RecoveryReport& report = recovery_.report;
    Footer footer;
    footer.tail_offset = out_size_;
    for (const Kept& kept : behind_) put(kept);
    settle_cuts(false);
    mark_dead();
    for (const IndexEntry& entry : entries_) {
      if (!entry.dead) footer.live.add(entry.slice);
    }
    footer.index_offset = out_size_;
    footer.index_count = entries_.size();
    std::vector<std::byte> index = encode_index(entries_);
    footer.index_length = index.size();
    put_new(RecordType::index, std::move(index));
    footer.content_crc = crc_;
    footer.records = report.records + 2;
    put_new(RecordType::footer, encode_footer(footer));
    report.slices = entries_.size();
    report.live = footer.live;
    report.dead = report.slices - footer.live.count;
    report.bytes_out = out_size_;
  }

  // Applies the reader's rules. Dead are copies named by a dead list, copies below the highest store epoch of
  // their slice, and repeated copies.
  void mark_dead() {
    std::sort(entries_.begin(), entries_.end(), [](const IndexEntry& a, const IndexEntry& b) {
      return std::tie(a.slice, a.epoch, a.offset) < std::tie(b.slice, b.epoch, b.offset);
    });
    const IndexEntry* highest = nullptr;  // of the same slice
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      if (highest == nullptr || highest->slice != entry->slice) highest = &*entry;
      if (entry->epoch < highest->epoch) entry->dead = true;
    }
    const auto is_again = [](const IndexEntry& a, const IndexEntry& b) {
      return std::tie(a.slice, a.epoch, a.attempt) == std::tie(b.slice, b.epoch, b.attempt);
    };
    const IndexEntry* kept = nullptr;
    for (IndexEntry& entry : entries_) {
      if (kept != nullptr && is_again(*kept, entry)) {
        entry.dead = true;
      } else if (!entry.dead) {
        kept = &entry;
      }
    }
    for (const DeadCopy& copy : dead_) {
      auto at = std::lower_bound(entries_.begin(), entries_.end(), copy.slice,
                                 [](const IndexEntry& entry, SliceId slice) { return entry.slice < slice; });
      for (; at != entries_.end() && at->slice == copy.slice; ++at) {
        if (at->epoch == copy.epoch && at->attempt == copy.attempt) at->dead = true;
      }
    }
  }

  ConstBytes file_;
  const std::string& path_;
  FileHeader header_;
  std::uint64_t first_ = 0;  // position of the first record in the original
  std::uint32_t tag_ = 0;    // tag of the original's records
  std::vector<Gap> gaps_;
  std::vector<Cut> pending_;  // cut, with no whole record found behind it yet
  std::vector<Kept> behind_;
  std::vector<DeadCopy> dead_;
  std::vector<IndexEntry> entries_;
  std::uint64_t out_size_ = 0;
  std::uint32_t crc_ = 0;
  Recovery recovery_;
};

}  // namespace

Expected<Recovery, StorageFailure> plan_recovery(ConstBytes file, const std::string& path) {
  Planner planner(file, path);
  if (auto failure = planner.begin()) return Unexpected<StorageFailure>(std::move(*failure));
  return planner.run();
}

}  // namespace weir::storage
