#include "crash_note.hpp"
#include "report.hpp"
#include <weir/filter_try/command.hpp>

#include <memory>
#include <optional>
#include <ostream>

namespace weir::filter_try {
namespace {

using filter_host::FilterPlugin;

struct Tried {
  std::shared_ptr<const FilterPlugin> plugin;
  TrialResult result;
};

Expected<Tried, std::string> try_plugin(const std::string& name, const ingest::RecordedRun& run,
                                        const TryCommand& command) {
  auto plugin = [&] {
    const FilterPhase phase("its file, while it was loaded");
    return FilterPlugin::load(name, command.search_path);
  }();
  if (!plugin) return Unexpected<std::string>(plugin.error().text);
  auto result = run_trial(*plugin, run, command.trial);
  if (!result) return Unexpected<std::string>(result.error());
  return Tried{*plugin, std::move(*result)};
}

void write(const Tried& tried, const TryCommand& command, std::ostream& out) {
  if (command.list)
    for (const SliceOutcome& slice : tried.result.slices)
      out << (command.json ? slice_json(slice) + "\n" : slice_text(slice));
  out << (command.json ? trial_json(*tried.plugin, tried.result) + "\n"
                       : trial_text(*tried.plugin, tried.result, command.trial, command.lines_max));
}

bool has_findings(const TrialResult& result) {
  if (!result.inconsistent.empty() || !result.end_error.empty()) return true;
  for (const SliceOutcome& slice : result.slices)
    if (slice.verdict == filter_job::StepVerdict::error) return true;
  return false;
}

}  // namespace

int run_try_command(const TryCommand& command, std::ostream& out, std::ostream& err) {
  const auto number = command.run == 0 ? std::nullopt : std::optional(RunNumber(command.run));
  const auto run = ingest::load_recorded_run(command.recording, {}, number);
  if (!run) {
    const bool several = !number && run.error().error == ingest::IngestError::malformed &&
                         run.error().detail.find("is of run") != std::string::npos;
    err << "weir filter try: " << run.error().detail << (several ? "; or choose a run with --run N" : "")
        << "\n";
    return kTryUnable;
  }
  note_crashes();
  const auto first = try_plugin(command.plugin, **run, command);
  if (!first) {
    err << "weir filter try: " << first.error() << "\n";
    return kTryUnable;
  }
  write(*first, command, out);
  if (command.against.empty()) return has_findings(first->result) ? kTryFindings : kTryFine;

  const auto second = try_plugin(command.against, **run, command);
  if (!second) {
    err << "weir filter try: --against: " << second.error() << "\n";
    return kTryUnable;
  }
  write(*second, command, out);
  const auto different = disagreements(first->result, second->result);
  if (command.json) {
    for (const Disagreement& slice : different) out << disagreement_json(slice) << "\n";
  } else {
    out << disagreements_text(different, command.lines_max);
  }
  const bool findings = !different.empty() || has_findings(first->result) || has_findings(second->result);
  return findings ? kTryFindings : kTryFine;
}

}  // namespace weir::filter_try
