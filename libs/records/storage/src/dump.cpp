#include "dump.hpp"

#include "text_output.hpp"
#include <weir/base/text.hpp>
#include <weir/storage/slice_record.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

namespace weir::storage {
namespace {

constexpr std::size_t kPiecesShown = 8;
constexpr std::size_t kBytesShown = 64;  // of each part, unless all bytes are requested

std::size_t bytes_max(const FileCommand& command) {
  return command.all || command.source || command.event ? SIZE_MAX : kBytesShown;
}

void write_raw(ConstBytes bytes, std::ostream& out) {
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void dump_head(const RunFileReader& file, const IndexEntry& entry, const SliceRecordView& view,
               std::ostream& out) {
  const SliceHead& head = view.head();
  const auto line = [&out](std::string_view key, const std::string& value) {
    out << fmt::format("  {:<13} {}\n", key, value);
  };
  out << fmt::format("slice {} in {} at {}{}\n", head.slice.value, file.path(), entry.offset,
                     entry.dead ? " (dead copy)" : "");
  line("run", fmt::format("{}, attempt {}, store epoch {}, built by DCM {}", head.run.value,
                          head.attempt.value, head.epoch.value, head.dcm.value));
  line("trigger", fmt::format("{}, type {}, {}", human_utc(head.trigger_time), head.trigger_type.value,
                              human_duration(head.duration)));
  line("decision", fmt::format("{}, prescale {}, streams {:#018x}", name(head.decision), head.prescale,
                               head.stream_mask));
  line("flags", slice_flags_text(head.flags));
  line("size",
       fmt::format("{}, fragments {}", human_bytes(view.bytes().size()), human_bytes(view.payload_bytes())));
}

void dump_part(std::string_view title, ConstBytes bytes, const FileCommand& command, std::ostream& out) {
  if (bytes.empty()) return;
  out << fmt::format("  {} ({} B)\n", title, bytes.size()) << hex_dump(bytes, bytes_max(command), "    ");
}

// Prints the reason for which the filter worker of a poison slice ended.
void dump_reason(ConstBytes bytes, std::ostream& out) {
  if (bytes.empty()) return;
  out << "  why it is poison\n";
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out << "    " << clean_text(text.substr(0, end), end) << '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void dump_fragment(const FragmentView& fragment, const FileCommand& command, std::ostream& out) {
  const FragmentRecord& record = fragment.record;
  out << fmt::format("  source {:>10}  {}", record.source.value, name(record.status));
  if (record.reason != MissingReason::none) out << fmt::format(" ({})", name(record.reason));
  if (record.kept) {
    out << fmt::format(", {} of {} B", record.stored_length, record.total_length);
  } else {
    out << fmt::format(", {} B, not kept", record.total_length);
  }
  if (record.checksummed) {
    out << fmt::format(", crc32c {:08x}", record.source_crc32c);
    if (record.kept) out << (fragment_is_sound(fragment) ? " good" : " MISMATCH");
  }
  out << '\n';
  // Of a farm with build.by: time; `--source` and `--all` show all pieces.
  const std::size_t pieces_max = bytes_max(command) == SIZE_MAX ? SIZE_MAX : kPiecesShown;
  const std::string pieces = pieces_text(fragment.bytes, pieces_max, "    ");
  out << (pieces.empty() ? hex_dump(fragment.bytes, bytes_max(command), "    ") : pieces);
}

// Returns false if the slice does not have the requested part.
bool dump_view(const SliceRecordView& view, const FileCommand& command, std::ostream& out) {
  if (command.source) {
    const auto fragment = view.find(SourceId(*command.source));
    if (!fragment) return false;
    if (command.raw) {
      write_raw(fragment->bytes, out);
    } else {
      dump_fragment(*fragment, command, out);
    }
    return true;
  }
  bool found = !command.event;
  if (!command.event) {
    dump_part("trigger payload", view.trigger_payload(), command, out);
    const DecisionKind by = view.head().decision;
    if (by == DecisionKind::poison || by == DecisionKind::no_filter) {
      dump_reason(view.filter_result(), out);
    } else {
      dump_part("filter result", view.filter_result(), command, out);
    }
  }
  for (std::size_t i = 0; i < view.event_count(); ++i) {
    const OutputEvent event = view.event(i);
    if (command.event && event.id != *command.event) continue;
    found = true;
    if (command.raw) {
      write_raw(event.bytes, out);
    } else {
      dump_part(fmt::format("output event {}", event.id), event.bytes, command, out);
    }
  }
  if (command.event) return found;
  for (std::size_t i = 0; i < view.fragment_count(); ++i) dump_fragment(view.fragment(i), command, out);
  return true;
}

}  // namespace

int dump_slice(const std::vector<RunFileReader>& files, const FileCommand& command, std::ostream& out,
               std::ostream& err) {
  int status = kFileCommandFine;
  bool found = false;
  for (const RunFileReader& file : files) {
    for (const std::uint32_t position : file.by_id()) {
      const IndexEntry& entry = file.entries()[position];
      if (entry.slice.value != *command.slice || (entry.dead && !command.all)) continue;
      found = true;
      const auto view = file.slice(entry);
      if (!view) {
        err << fmt::format("weir file: {}: slice {}: the record at {} is damaged ({})\n", file.path(),
                           entry.slice.value, entry.offset, name(view.error()));
        status = kFileCommandFaults;
        continue;
      }
      if (!command.raw) dump_head(file, entry, *view, out);
      if (!dump_view(*view, command, out)) {
        err << fmt::format("weir file: slice {} has no {} {}\n", entry.slice.value,
                           command.source ? "source" : "event",
                           command.source ? *command.source : *command.event);
        status = kFileCommandFaults;
      }
    }
  }
  if (!found) {
    err << fmt::format("weir file: no file has a copy of slice {} that counts\n", *command.slice);
    return kFileCommandFaults;
  }
  return status;
}

}  // namespace weir::storage
