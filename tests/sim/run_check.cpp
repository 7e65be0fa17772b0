#include "run_check.hpp"

#include "stored_run.hpp"
#include <weir/base/hash.hpp>
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <exception>

namespace weir::sim {
namespace {

constexpr std::string_view kDiscarded = "discarded.";
constexpr std::string_view kOnDisk = "slices: stored = live on disk";

std::string text_of(const SliceSum& sum) {
  return std::to_string(sum.count) + " #" + std::to_string(sum.hash_sum);
}

}  // namespace

RunCheck::RunCheck(const Scenario& scenario, const v1::RunSummary& account, const std::string& folder)
    : scenario_(scenario), account_(account), folder_(folder) {}

void RunCheck::fail(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
}

std::uint64_t RunCheck::counter(const std::string& name) const {
  const auto found = account_.counters().find(name);
  return found == account_.counters().end() ? 0 : found->second;
}

bool RunCheck::a_readout_died() const {
  return std::any_of(scenario_.faults.begin(), scenario_.faults.end(), [](const Fault& fault) {
    return (fault.kind == FaultKind::kill || fault.kind == FaultKind::lose_machine) &&
           fault.who.starts_with("readout");
  });
}

void RunCheck::run() {
  triggered_ = counter("triggered");
  check_account();
  try {
    check_files();
  } catch (const std::exception& error) {
    fail(std::string("files: ") + error.what());
  }
}

void RunCheck::check_account() {
  if (!account_.balanced()) fail("the ledger does not balance:\n" + account_.ledger_text());
  if (triggered_ != scenario_.slices)
    fail("triggered " + std::to_string(triggered_) + " slices instead of " +
         std::to_string(scenario_.slices));
  std::uint64_t discarded = 0;
  for (const auto& [name, count] : account_.counters()) {
    if (!name.starts_with(kDiscarded) || count == 0) continue;
    discarded += count;
    const std::string reason = name.substr(kDiscarded.size());
    if (reason == "no_writer" && scenario_.writers == 0) continue;
    if (reason == "attempts_exhausted") continue;  // enough deaths kill any slice
    if (reason == "supervisor_restart") continue;
    fail(std::to_string(count) + " slice(s) discarded: " + reason);
  }
  if (counter("stored") + counter("rejected") + discarded != triggered_)
    fail("stored + rejected + discarded is not triggered");
}

void RunCheck::check_files() {
  const system_test::StoredRun run(folder_);
  for (const storage::RunFileReader& file : run.files()) {
    if (!file.closed()) continue;
    const storage::VerifyReport report = storage::verify(file);
    if (!report.sound()) fail("files: " + report.problems.front().text);
  }
  for (const storage::Problem& problem : storage::verify_copies(run.files())) fail("files: " + problem.text);

  SliceSum live;
  std::uint64_t wrongly_stored = 0;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    live.add(slice.head().slice);
    const bool unfiltered = (slice.head().flags & storage::slice_flag::unfiltered) != 0;
    if (slice.head().slice.value % scenario_.prescale != 0 && !unfiltered) ++wrongly_stored;
  });
  stored_ = live.count;
  if (wrongly_stored > 0) fail(std::to_string(wrongly_stored) + " slice(s) stored that the filter rejects");
  for (const v1::RunSummary::Equation& equation : account_.equations()) {
    if (equation.name() == kOnDisk && equation.left() != text_of(live))
      fail("the supervisor counts " + equation.left() + " as stored, the files hold " + text_of(live));
  }
  const system_test::DummyCheck check = system_test::check_dummy_data(run);
  if (!check.wrong.empty()) fail("files: wrong bytes in " + check.wrong);
  missing_ = check.missing;
  if (scenario_.patient && !scenario_.push && !a_readout_died() && missing_ > 0)
    fail(std::to_string(missing_) + " fragment(s) missing, and no readout died");
}

}  // namespace weir::sim
