#include "dump.hpp"
#include "mapped_file.hpp"
#include "missing_sources.hpp"
#include "named_files.hpp"
#include "recover_command.hpp"
#include "text_output.hpp"
#include <weir/base/figures.hpp>
#include <weir/storage/file_command.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/run_file_reader.hpp>
#include <weir/storage/verify.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

namespace weir::storage {
namespace {

constexpr std::size_t kHeaderBytesMax = 4096;

struct Totals {
  std::uint64_t live = 0;
  std::uint64_t dead = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t unfiltered = 0;
  std::uint64_t bytes = 0;  // bytes in records of live slices
  std::uint64_t stream_mask = 0;
  SliceId first{UINT64_MAX};
  SliceId last{0};
  UtcNs earliest = INT64_MAX;
  UtcNs latest = INT64_MIN;
};

// The worst sources of a file.
constexpr std::size_t kSourcesText = 5;
constexpr std::size_t kSourcesJson = 1024;

Totals totals_of(const RunFileReader& file) {
  Totals totals;
  for (const IndexEntry& entry : file.entries()) {
    if (entry.dead) {
      ++totals.dead;
      continue;
    }
    ++totals.live;
    totals.bytes += entry.length;
    totals.stream_mask |= entry.stream_mask;
    if ((entry.slice_flags & slice_flag::incomplete) != 0) ++totals.incomplete;
    if ((entry.slice_flags & slice_flag::unfiltered) != 0) ++totals.unfiltered;
    totals.first = std::min(totals.first, entry.slice);
    totals.last = std::max(totals.last, entry.slice);
    totals.earliest = std::min(totals.earliest, entry.trigger_time);
    totals.latest = std::max(totals.latest, entry.trigger_time);
  }
  return totals;
}

std::uint64_t bytes_in_gaps(const RunFileReader& file) {
  std::uint64_t bytes = 0;
  for (const Gap& gap : file.gaps()) bytes += gap.length;
  return bytes;
}

void info_json(const RunFileReader& file, std::ostream& out) {
  const FileHeader& header = file.header();
  const Totals totals = totals_of(file);
  out << fmt::format(
      R"({{"file":{},"bytes":{},"format":{},"run":{},"sequence":{},"writer":{},"farm":{},"created":{},)"
      R"("closed":{},"note":{},"slices":{},"dead":{},"incomplete":{},"unfiltered":{},"stream_mask":{},)",
      json_string(file.path()), file.bytes().size(), kFormatVersion, header.run.value, header.sequence,
      json_string(header.writer), json_string(header.farm), json_string(human_utc(header.created)),
      file.closed(), json_string(file.note()), totals.live, totals.dead, totals.incomplete, totals.unfiltered,
      totals.stream_mask);
  if (totals.live > 0) {
    out << fmt::format(R"("first_slice":"{}","last_slice":"{}","earliest":{},"latest":{},)",
                       totals.first.value, totals.last.value, json_string(human_utc(totals.earliest)),
                       json_string(human_utc(totals.latest)));
  }
  const std::vector<MissingSource> sources = missing_sources(file);
  out << fmt::format(R"("sources_missing":{},"missing":[)", sources.size());
  for (std::size_t i = 0; i < std::min(sources.size(), kSourcesJson); ++i)
    out << (i == 0 ? "" : ",") << missing_json(sources[i]);
  out << "],";
  const SliceSum live = file.live();
  out << fmt::format(
             R"("slice_bytes":{},"hash_sum":"{:016x}","begin_of_run":{},"end_of_run":{},"bytes_lost":{}}})",
             totals.bytes, live.hash_sum, file.begin_of_run().has_value(), file.end_of_run().has_value(),
             bytes_in_gaps(file))
      << '\n';
}

void info_text(const RunFileReader& file, std::ostream& out) {
  const FileHeader& header = file.header();
  const Totals totals = totals_of(file);
  const auto line = [&out](std::string_view key, const std::string& value) {
    out << fmt::format("  {:<13} {}\n", key, value);
  };
  const auto text_record = [&](std::string_view key, const std::optional<ConstBytes>& content) {
    line(key, content ? human_bytes(content->size()) : "none");
  };
  out << file.path() << '\n';
  line("size", human_bytes(file.bytes().size()));
  line("state", file.closed() ? "closed" : file.note());
  if (!file.gaps().empty())
    line("lost", fmt::format("{} in {} places", human_bytes(bytes_in_gaps(file)), file.gaps().size()));
  line("run", fmt::format("{}, file {} of {}", header.run.value, header.sequence, header.writer));
  line("farm", header.farm.empty() ? "-" : header.farm);
  line("created", human_utc(header.created));
  line("slices", fmt::format("{} ({} incomplete, {} unfiltered), and {} dead copies", totals.live,
                             totals.incomplete, totals.unfiltered, totals.dead));
  const std::vector<MissingSource> sources = missing_sources(file);
  for (std::size_t i = 0; i < std::min(sources.size(), kSourcesText); ++i)
    line(i == 0 ? "missing" : "", describe_missing(sources[i]));
  if (sources.size() > kSourcesText)
    line("", "and of " + counted(sources.size() - kSourcesText, "other source"));
  if (totals.live > 0) {
    line("ids", fmt::format("{} to {}", totals.first.value, totals.last.value));
    line("triggers", fmt::format("{} to {}", human_utc(totals.earliest), human_utc(totals.latest)));
    line("slice data",
         fmt::format("{}, {} a slice", human_bytes(totals.bytes), human_bytes(totals.bytes / totals.live)));
    line("streams", fmt::format("{:#018x}", totals.stream_mask));
  }
  line("hash sum", fmt::format("{:016x}", file.live().hash_sum));
  text_record("begin of run", file.begin_of_run());
  text_record("end of run", file.end_of_run());
}

void ls_json(const RunFileReader& file, const IndexEntry& entry, std::ostream& out) {
  out << fmt::format(R"({{"file":{},"slice":"{}","attempt":{},"epoch":{},"time":{},"bytes":{},"offset":{},)"
                     R"("stream_mask":{},"flags":{},"dead":{}}})",
                     json_string(file.path()), entry.slice.value, entry.attempt.value, entry.epoch.value,
                     json_string(human_utc(entry.trigger_time)), entry.length, entry.offset,
                     entry.stream_mask, json_string(slice_flags_text(entry.slice_flags)), entry.dead)
      << '\n';
}

void ls_text(const IndexEntry& entry, std::ostream& out) {
  out << fmt::format("{:>16} {:>3} {:>3}  {}  {:>12} {:>14}  {:#018x}  {}{}\n", entry.slice.value,
                     entry.attempt.value, entry.epoch.value, human_utc(entry.trigger_time), entry.length,
                     entry.offset, entry.stream_mask, slice_flags_text(entry.slice_flags),
                     entry.dead ? " dead" : "");
}

void list(const RunFileReader& file, const FileCommand& command, std::ostream& out) {
  if (!command.json) {
    out << fmt::format("# {}\n{:>16} {:>3} {:>3}  {:<30}  {:>12} {:>14}  {:<18}  {}\n", file.path(), "slice",
                       "att", "ep", "trigger time (UTC)", "bytes", "offset", "streams", "flags");
  }
  std::uint64_t lines = 0;
  for (const std::uint32_t position : file.by_id()) {
    const IndexEntry& entry = file.entries()[position];
    if (entry.dead && !command.all) continue;
    if (command.slice && entry.slice.value != *command.slice) continue;
    if (command.lines_max != 0 && lines == command.lines_max) break;
    ++lines;
    if (command.json) {
      ls_json(file, entry, out);
    } else {
      ls_text(entry, out);
    }
  }
}

void verify_json(const VerifyReport& report, std::ostream& out) {
  out << fmt::format(
      R"({{"file":{},"sound":{},"closed":{},"torn_at":{},"torn_bytes":{},"bytes":{},"records":{},"slices":{},)"
      R"("dead":{},"incomplete":{},"fragments":{},"fragments_checked":{},"fragments_marked_corrupt":{},"events":{},"problems_total":{},"problems":[)",
      json_string(report.path), report.sound(), report.closed, report.torn_at, report.torn_bytes,
      report.bytes, report.records, report.slices, report.dead, report.incomplete, report.fragments,
      report.fragments_checked, report.fragments_marked_corrupt, report.events, report.problems_total);
  bool first = true;
  for (const FileProblem& problem : report.problems) {
    out << (first ? "" : ",") << fmt::format(R"({{"offset":{},)", problem.offset);
    if (problem.slice) out << fmt::format(R"("slice":"{}",)", problem.slice->value);
    if (problem.source) out << fmt::format(R"("source":{},)", problem.source->value);
    out << fmt::format(R"("text":{}}})", json_string(problem.text));
    first = false;
  }
  out << "]}\n";
}

// Returns true for a .part without a record: zeros, as after a loss of power, or a part of a header. A file
// with a damaged header does not count, because it may hold records.
bool holds_nothing(const std::string& path) {
  if (!path.ends_with(kPartSuffix)) return false;
  const auto file = MappedFile::open(path);
  if (!file) return false;
  const ConstBytes bytes = file->bytes();
  if (std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; })) return true;
  const auto header = parse_file_header(bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return !header && header.error() == StorageError::truncated && bytes.size() < kHeaderBytesMax &&
         text.find("WREC") == std::string_view::npos;
}

void begun_text(const std::string& path, bool json, std::ostream& out) {
  if (json) {
    VerifyReport report;
    report.path = path;
    return verify_json(report, out);
  }
  out << fmt::format(
      "{}: no record, not closed\n  Its writer has just opened it, or ended before its first record. "
      "When the run is over, remove the file: nothing was stored in it.\n",
      path);
}

void verify_text(const VerifyReport& report, std::ostream& out) {
  out << fmt::format("{}: {}{}\n", report.path,
                     report.sound() ? "sound" : fmt::format("{} problems", report.problems_total),
                     report.unfinished ? ", but not closed" : "");
  out << fmt::format("  {}, {} records, {} slice copies ({} dead, {} incomplete), {} output events\n",
                     human_bytes(report.bytes), report.records, report.slices, report.dead, report.incomplete,
                     report.events);
  out << fmt::format("  {} fragments, {} of them with a checksum; {} came corrupt from their source\n",
                     report.fragments, report.fragments_checked, report.fragments_marked_corrupt);
  for (const FileProblem& problem : report.problems) out << "  PROBLEM " << problem.text << '\n';
  const std::uint64_t more = report.problems_total - report.problems.size();
  if (more > 0) out << fmt::format("  ... and {} more problems\n", more);
  if (!report.unfinished) return;
  out << "  NOT CLOSED: its writer is still running, or ended before it could close it. "
      << (report.torn_bytes == 0
              ? "Every record is whole.\n"
              : fmt::format("Everything before {} is whole; the {} B after it are not a whole record.\n",
                            report.torn_at, report.torn_bytes))
      << "  To recover the intact records: weir file recover " << report.path << '\n';
}

// Returns the worse of two results: unable, faults, unclosed, fine, in this order.
int worst(int one, int other) {
  for (const int status : {kFileCommandUnable, kFileCommandFaults, kFileCommandUnclosed}) {
    if (one == status || other == status) return status;
  }
  return kFileCommandFine;
}

int verify_all(std::vector<RunFileReader>& files, const std::vector<std::string>& begun, bool json,
               std::ostream& out) {
  int status = begun.empty() ? kFileCommandFine : kFileCommandUnclosed;
  for (const std::string& path : begun) begun_text(path, json, out);
  for (const RunFileReader& file : files) {
    const VerifyReport report = verify(file);
    if (!report.sound()) status = worst(status, kFileCommandFaults);
    if (report.unfinished) status = worst(status, kFileCommandUnclosed);
    if (json) {
      verify_json(report, out);
    } else {
      verify_text(report, out);
    }
  }
  resolve_copies(files);
  for (const FileProblem& problem : verify_copies(files)) {
    status = worst(status, kFileCommandFaults);
    out << (json ? fmt::format(R"({{"problem":{}}})", json_string(problem.text)) : "PROBLEM " + problem.text)
        << '\n';
  }
  return status;
}

std::optional<std::string> senseless(const FileCommand& command) {
  if (command.paths.empty()) return "no file given";
  if (command.verb == FileVerb::recover && command.paths.size() > 1 && !command.out.empty()) {
    return "--out names one file: recover the files one by one, or omit it";
  }
  if (command.verb != FileVerb::dump) return std::nullopt;
  if (!command.slice) return "dump needs the id of a slice: --slice N";
  if (command.source && command.event) return "dump shows a source or an event, not both";
  if (command.raw && !command.source && !command.event) return "raw output needs --source N or --event N";
  if (command.json) return "dump has no JSON form: use --raw";
  return std::nullopt;
}

}  // namespace

int run_file_command(const FileCommand& command, std::ostream& out, std::ostream& err) {
  if (const auto why = senseless(command)) {
    err << "weir file: " << *why << '\n';
    return kFileCommandUnable;
  }
  int status = kFileCommandFine;
  if (command.verb == FileVerb::recover) {
    for (const std::string& path : command.paths)
      status = worst(status, recover_file(path, command, out, err));
    return status;
  }
  std::vector<RunFileReader> files;
  std::vector<std::string> errors;
  std::vector<std::string> begun;  // without a header yet
  for (const std::string& path : named_files(command.paths, errors)) {
    auto file = RunFileReader::open(path);
    if (file) {
      files.push_back(std::move(*file));
    } else if (holds_nothing(path)) {
      begun.push_back(path);
    } else {
      errors.push_back(file.error().detail);
    }
  }
  for (const std::string& error : errors) {
    err << "weir file: " << error << '\n';
    status = kFileCommandUnable;
  }
  if (command.verb == FileVerb::verify) return worst(status, verify_all(files, begun, command.json, out));
  for (const std::string& path : begun) err << "weir file: " << path << ": holds no record yet\n";
  resolve_copies(files);
  if (command.verb == FileVerb::dump) return worst(status, dump_slice(files, command, out, err));
  for (const RunFileReader& file : files) {
    if (command.verb == FileVerb::ls) {
      list(file, command, out);
    } else if (command.json) {
      info_json(file, out);
    } else {
      info_text(file, out);
    }
  }
  return status;
}

}  // namespace weir::storage
