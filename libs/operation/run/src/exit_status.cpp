#include <weir/run/exit_status.hpp>

namespace weir::run {

int exit_status(const RunEnd& end) {
  if (!end.failure.empty() || !end.has_summary || !end.balanced) return kExitFailed;
  return end.faults || !end.processes_well ? kExitSurvived : kExitFine;
}

std::string explain(const RunEnd& end) {
  if (!end.failure.empty()) return end.failure;
  if (!end.has_summary) return "the supervisor sent no account of the run";
  if (!end.balanced) return "the ledger does not balance";
  if (end.faults) return "the ledger balances, with faults survived";
  if (!end.processes_well) return "the ledger balances, but a process did not end well";
  return {};
}

}  // namespace weir::run
