#include "recover_command.hpp"

#include "text_output.hpp"
#include <weir/storage/format.hpp>
#include <weir/storage/recover.hpp>

#include <fmt/format.h>

#include <ostream>

namespace weir::storage {
namespace {

void recover_json(const std::string& path, const std::string& made, const RecoveryReport& report,
                  std::ostream& out) {
  out << fmt::format(
      R"({{"file":{},"out":{},"bytes_in":{},"bytes_kept":{},"bytes_replaced":{},"bytes_cut":{},"bytes_out":{},)"
      R"("records":{},"slices":{},"dead":{},"hash_sum":"{:016x}","header_rebuilt":{},"begin_of_run":{},)"
      R"("end_of_run":{},"published":{},"damaged":{},"cuts_total":{},"cuts":[)",
      json_string(path), json_string(made), report.bytes_in, report.bytes_kept, report.bytes_replaced,
      report.bytes_cut, report.bytes_out, report.records, report.slices, report.dead, report.live.hash_sum,
      report.header_rebuilt, report.begin_of_run, report.end_of_run, report.published, report.damaged,
      report.cuts_total);
  bool first = true;
  for (const Cut& cut : report.cuts) {
    out << (first ? "" : ",") << fmt::format(R"({{"offset":{},"length":{},)", cut.offset, cut.length);
    if (cut.slice) out << fmt::format(R"("slice":"{}",)", cut.slice->value);
    if (cut.source) out << fmt::format(R"("source":{},)", cut.source->value);
    out << fmt::format(R"("why":{}}})", json_string(cut.why));
    first = false;
  }
  out << "]}\n";
}

void recover_text(const std::string& path, const std::string& made, const RecoveryReport& report,
                  std::ostream& out) {
  if (report.published) {
    out << fmt::format("{}: is whole and published as {}: its second name is removed\n", path, made);
    return;
  }
  const auto line = [&out](std::string_view key, const std::string& value) {
    out << fmt::format("  {:<10} {}\n", key, value);
  };
  out << fmt::format("{}: recovered as {}\n", path, made);
  line("kept", fmt::format("{}: {} slices, and {} dead copies", human_bytes(report.bytes_kept),
                           report.live.count, report.dead));
  line("made anew", fmt::format("index and footer{}", report.header_rebuilt ? ", and the file header" : ""));
  line("cut", report.cuts_total == 0 ? "nothing"
                                     : fmt::format("{} in {} place{}, {} in front of whole records",
                                                   human_bytes(report.bytes_cut), report.cuts_total,
                                                   report.cuts_total == 1 ? "" : "s", report.damaged));
  for (const Cut& cut : report.cuts) {
    out << fmt::format("    {} B at {}", cut.length, cut.offset);
    if (cut.slice) out << fmt::format(", slice {}", cut.slice->value);
    if (cut.source) out << fmt::format(" source {}", cut.source->value);
    out << ": " << cut.why << '\n';
  }
  const std::uint64_t more = report.cuts_total - report.cuts.size();
  if (more > 0) out << fmt::format("    ... and {} more places\n", more);
  out << fmt::format(
      "  The new file is verified. {} is unchanged: keep or remove it, but do not read both as one run.\n",
      path);
}

}  // namespace

int recover_file(const std::string& path, const FileCommand& command, std::ostream& out, std::ostream& err) {
  std::string made = command.out;
  if (made.empty()) {
    if (!path.ends_with(kPartSuffix)) {
      err << fmt::format("weir file: {}: the name does not end in {}: name the new file with --out\n", path,
                         kPartSuffix);
      return kFileCommandUnable;
    }
    made = path.substr(0, path.size() - kPartSuffix.size());
  }
  const auto report = recover(path, made);
  if (!report) {
    err << fmt::format("weir file: {}: not recovered: {}\n", path, report.error().detail);
    return kFileCommandUnable;
  }
  if (command.json) {
    recover_json(path, made, *report, out);
  } else {
    recover_text(path, made, *report, out);
  }
  return report->damaged == 0 ? kFileCommandFine : kFileCommandFaults;
}

}  // namespace weir::storage
