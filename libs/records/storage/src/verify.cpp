#include "claimed_slice.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/storage/verify.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace weir::storage {
namespace {

class Verifier {
 public:
  explicit Verifier(const RunFileReader& file) : file_(file) {
    report_.path = file.path();
    report_.closed = file.closed();
    report_.unfinished = file.unfinished() && file.path().ends_with(kPartSuffix);
    report_.bytes = file.bytes().size();
  }

  VerifyReport run() {
    if (!file_.closed() && !report_.unfinished) add({file_.bytes().size(), {}, {}, file_.note()});
    RecordCursor cursor(file_.bytes(), file_.header().length, file_.header().tag);
    while (const auto head = cursor.next(gaps_)) check_record(*head);
    for (const Gap& gap : gaps_) {
      if (report_.unfinished && gap.offset + gap.length == file_.bytes().size()) {
        report_.torn_at = gap.offset;
        report_.torn_bytes = gap.length;
      } else {
        report_gap(gap);
      }
    }
    if (file_.closed()) {
      check_index();
      check_footer();
    } else {
      report_.live = file_.live();
      report_.dead = file_.entries().size() - report_.live.count;
    }
    return std::move(report_);
  }

 private:
  void add(FileProblem problem) {
    ++report_.problems_total;
    if (report_.problems.size() < VerifyReport::kProblemsMax) report_.problems.push_back(std::move(problem));
  }

  void check_record(const RecordHead& head) {
    ++report_.records;
    const ConstBytes body = file_.bytes().subspan(head.offset + kRecordHeadLength, head.body_length);
    const ConstBytes padding = file_.bytes().subspan(head.offset + kRecordHeadLength + head.body_length,
                                                     padded(head.body_length) - head.body_length);
    std::optional<StorageError> error;
    if (head.type == RecordType::slice) {
      check_slice(head, body);
    } else if (head.type == RecordType::begin_of_run || head.type == RecordType::end_of_run) {
      if (const auto content = parse_opaque(body); !content) error = content.error();
    } else if (head.type == RecordType::dead_list) {
      if (const auto copies = parse_dead_list(body); !copies) error = copies.error();
    } else if (head.type == RecordType::index) {
      if (const auto entries = parse_index(body, file_.bytes().size()); !entries) error = entries.error();
    } else if (head.type == RecordType::footer) {
      const auto footer = parse_footer(file_.bytes().first(head.offset + head.length()), head.tag);
      if (!footer) error = footer.error();
    }
    if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; })) {
      error = StorageError::malformed;
    }
    if (error) {
      add({head.offset,
           {},
           {},
           fmt::format("{} record at {}: {}", name(head.type), head.offset, name(*error))});
    }
  }

  void check_slice(const RecordHead& head, ConstBytes body) {
    const auto view = parse_slice_record(body);
    const IndexEntry* entry = indexed_at(head.offset);
    if (!view) {
      const bool known = entry != nullptr && file_.closed();
      const std::optional<SliceId> slice = known ? std::optional(entry->slice) : claimed_slice(body);
      add({head.offset,
           slice,
           {},
           fmt::format("slice {}{}: head or tables of the record at {} are damaged ({})",
                       slice ? slice->value : 0, known ? "" : " (as the damaged record says)", head.offset,
                       name(view.error()))});
      return;
    }
    ++report_.slices;
    report_.events += view->event_count();
    if ((view->head().flags & slice_flag::incomplete) != 0) ++report_.incomplete;
    if (file_.closed() && (entry == nullptr || !agrees(*entry, head, view->head()))) {
      add({head.offset,
           view->head().slice,
           {},
           fmt::format("slice {}: the index does not lead to its record at {}", view->head().slice.value,
                       head.offset)});
    }
    for (std::size_t i = 0; i < view->fragment_count(); ++i) check_fragment(head, *view, view->fragment(i));
  }

  void check_fragment(const RecordHead& head, const SliceRecordView& view, const FragmentView& fragment) {
    const FragmentRecord& record = fragment.record;
    if (record.status == FragmentStatus::corrupt) ++report_.fragments_marked_corrupt;
    if (!record.kept) return;
    ++report_.fragments;
    if (record.checksummed) ++report_.fragments_checked;
    if (fragment_is_sound(fragment)) return;
    const auto offset = static_cast<std::uint64_t>(fragment.bytes.data() - file_.bytes().data());
    add({offset, view.head().slice, record.source,
         fmt::format("slice {} source {}: checksum mismatch in the {} B at {} (record at {})",
                     view.head().slice.value, record.source.value, record.stored_length, offset,
                     head.offset)});
  }

  // Reports slices that the index places in the gap as lost.
  void report_gap(const Gap& gap) {
    const auto entries = file_.entries();
    auto entry =
        std::lower_bound(entries.begin(), entries.end(), gap.offset,
                         [](const IndexEntry& e, std::uint64_t offset) { return e.offset < offset; });
    bool named = false;
    for (; entry != entries.end() && entry->offset < gap.offset + gap.length; ++entry) {
      named = true;
      add({entry->offset,
           entry->slice,
           {},
           fmt::format("slice {}: its record head at {} is damaged ({})", entry->slice.value, entry->offset,
                       name(gap.error))});
    }
    if (!named) {
      add({gap.offset,
           {},
           {},
           fmt::format("{} B from {} belong to no record ({})", gap.length, gap.offset, name(gap.error))});
    }
  }

  void check_index() {
    std::uint64_t missing = file_.entries().size() - std::min<std::uint64_t>(file_.entries().size(), found_);
    if (missing == 0) return;
    for (const IndexEntry& entry : file_.entries()) {
      if (parse_record_head(file_.bytes(), entry.offset, file_.header().tag)) {
        if (file_.slice(entry)) continue;
      }
      const bool in_gap = std::any_of(gaps_.begin(), gaps_.end(), [&](const Gap& gap) {
        return entry.offset >= gap.offset && entry.offset < gap.offset + gap.length;
      });
      const bool told = in_gap || std::any_of(report_.problems.begin(), report_.problems.end(),
                                              [&](const FileProblem& p) { return p.offset == entry.offset; });
      if (!told) {
        add({entry.offset,
             entry.slice,
             {},
             fmt::format("slice {}: the index names {}, where its record is not", entry.slice.value,
                         entry.offset)});
      }
    }
  }

  void check_footer() {
    const Footer& footer = *file_.footer();
    const ConstBytes index_body =
        file_.bytes().subspan(footer.index_offset + kRecordHeadLength, footer.index_length);
    if (const auto entries = parse_index(index_body, file_.bytes().size())) {
      for (const IndexEntry& entry : *entries) {
        if (!entry.dead) report_.live.add(entry.slice);
      }
      report_.dead = entries->size() - report_.live.count;
    }
    const std::uint64_t footer_offset = file_.bytes().size() - kFooterLength;
    if (report_.live != footer.live) {
      add({footer_offset, {}, {}, "the footer's sum over the live slices is not that of the index"});
    }
    if (report_.records != footer.records) {
      add({footer_offset,
           {},
           {},
           fmt::format("the footer counts {} records, {} exist", footer.records, report_.records)});
    }
    // Last resort, for bytes that no other checksum covers (a fragment without one, for example).
    if (crc32c(file_.bytes().first(footer_offset)) != footer.content_crc && report_.sound()) {
      add({0, {}, {}, "the file's bytes do not match the footer's checksum, though every record is sound"});
    }
  }

  [[nodiscard]] const IndexEntry* indexed_at(std::uint64_t offset) {
    const auto entries = file_.entries();
    const auto entry = std::lower_bound(entries.begin(), entries.end(), offset,
                                        [](const IndexEntry& e, std::uint64_t at) { return e.offset < at; });
    if (entry == entries.end() || entry->offset != offset) return nullptr;
    ++found_;
    return &*entry;
  }

  [[nodiscard]] static bool agrees(const IndexEntry& entry, const RecordHead& head, const SliceHead& slice) {
    return std::tie(entry.slice, entry.attempt, entry.epoch, entry.stream_mask, entry.slice_flags,
                    entry.trigger_time, entry.length) == std::tie(slice.slice, slice.attempt, slice.epoch,
                                                                  slice.stream_mask, slice.flags,
                                                                  slice.trigger_time, head.body_length);
  }

  const RunFileReader& file_;
  VerifyReport report_;
  std::vector<Gap> gaps_;
  std::uint64_t found_ = 0;  // slice records found where the index places them
};

}  // namespace

VerifyReport verify(const RunFileReader& file) { return Verifier(file).run(); }

std::vector<FileProblem> verify_copies(std::span<const RunFileReader> files) {
  struct Copy {
    RunNumber run;
    SliceId slice;
    const RunFileReader* file;
    std::uint64_t offset;
    StoreEpoch epoch;
  };
  std::vector<FileProblem> problems;
  std::vector<Copy> copies;
  std::map<std::tuple<RunNumber, std::string, std::uint32_t>, std::string> seen;
  for (const RunFileReader& file : files) {
    const FileHeader& header = file.header();
    const auto [at, first] =
        seen.emplace(std::tuple(header.run, header.writer, header.sequence), file.path());
    if (!first) {
      problems.push_back({0,
                          {},
                          {},
                          fmt::format("{} and {} are the same file of run {}, like an original and its "
                                      "recovered copy: name only one of them",
                                      at->second, file.path(), header.run.value)});
      continue;
    }
    for (const IndexEntry& entry : file.entries()) {
      if (!entry.dead) copies.push_back({header.run, entry.slice, &file, entry.offset, entry.epoch});
    }
  }
  std::sort(copies.begin(), copies.end(),
            [](const Copy& a, const Copy& b) { return std::tie(a.run, a.slice) < std::tie(b.run, b.slice); });
  for (std::size_t i = 0; i + 1 < copies.size() && problems.size() < VerifyReport::kProblemsMax; ++i) {
    const Copy& copy = copies[i];
    const Copy& next = copies[i + 1];
    if (copy.run != next.run || copy.slice != next.slice) continue;
    problems.push_back(
        {next.offset,
         copy.slice,
         {},
         fmt::format(
             "slice {} is stored twice: in {} at {} (store epoch {}) and in {} at {} (store epoch {}), "
             "and neither copy is dead",
             copy.slice.value, copy.file->path(), copy.offset, copy.epoch.value, next.file->path(),
             next.offset, next.epoch.value)});
  }
  return problems;
}

}  // namespace weir::storage
