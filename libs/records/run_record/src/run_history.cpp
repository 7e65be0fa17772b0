#include <weir/base/assert.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/run_record/append_line.hpp>
#include <weir/run_record/run_history.hpp>

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace weir::run_record {

v1::FarmView::Run run_of(const v1::RunSummary& summary) {
  v1::FarmView::Run run;
  run.set_run(summary.run());
  run.set_begin_utc_ns(summary.begin_utc_ns());
  run.set_duration_ns(summary.duration_ns());
  run.set_end_utc_ns(summary.end_utc_ns());
  run.set_running_ns(summary.running_ns());
  run.set_triggered(reports::counter_of(summary, "triggered"));
  run.set_stored(reports::counter_of(summary, "stored"));
  run.set_rejected(reports::counter_of(summary, "rejected"));
  run.set_discarded(reports::total_of(summary, "discarded."));
  run.set_balanced(summary.balanced());
  run.set_faults(summary.faults() || summary.faults_text_size() > 0);
  run.set_fault_count(static_cast<std::uint32_t>(summary.faults_text_size()));
  if (summary.faults_text_size() > 0) run.set_fault(summary.faults_text(0));
  run.set_reason(summary.reason());
  run.set_outcome(!summary.balanced() ? outcome::kUnbalanced
                  : run.faults()      ? outcome::kFaults
                                      : outcome::kGood);
  const auto discarded = reports::by_reason(summary, "discarded.");
  const auto at_stop = discarded.find("drain_timeout");
  run.set_discarded_at_stop(at_stop == discarded.end() ? 0 : at_stop->second);
  return run;
}

bool is_accounted(const v1::FarmView::Run& run) {
  return run.outcome() != outcome::kNeverBegan && run.outcome() != outcome::kNoAccount;
}

RunHistory::RunHistory(std::string path, std::size_t kept_max) : path_(std::move(path)), kept_max_(kept_max) {
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;  // a write was cut after its first byte
    v1::FarmView::Run run;
    if (google::protobuf::util::JsonStringToMessage(line, &run).ok()) {
      keep(run);
    } else {
      ++unreadable_;  // from an incomplete write
    }
  }
}

void RunHistory::keep(const v1::FarmView::Run& run) {
  highest_ = std::max(highest_, run.run());
  const auto known =
      std::find_if(runs_.begin(), runs_.end(), [&](const auto& one) { return one.run() == run.run(); });
  if (known != runs_.end()) {
    *known = run;
    return;
  }
  WEIR_ASSERT(runs_.size() <= kept_max_ && kept_max_ > 0);
  runs_.push_front(run);
  if (runs_.size() > kept_max_) runs_.pop_back();
}

std::string RunHistory::add(const v1::FarmView::Run& run) {
  keep(run);
  return append_run(path_, run);
}

std::string line_of(const v1::FarmView::Run& run) {
  std::string line;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  if (!google::protobuf::util::MessageToJsonString(run, &line, options).ok()) return {};
  return line;
}

std::string append_run(const std::string& path, const v1::FarmView::Run& run) {
  std::string line = line_of(run);
  return line.empty() ? "a run's line cannot be made" : append_line(path, std::move(line));
}

}  // namespace weir::run_record
