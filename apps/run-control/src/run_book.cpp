#include "run_book.hpp"

#include "clock.hpp"
#include <weir/node/identity.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/run_claim.hpp>
#include <weir/node/setup.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace weir::run_control {
namespace {

constexpr std::size_t kFaultsMax = 100;

std::string made(const std::string& folder) {
  auto resolved = node::made_folder(folder);
  if (!resolved) throw std::runtime_error("control.out: " + resolved.error());
  return std::move(*resolved);
}

}  // namespace

RunBook::RunBook(const std::string& out, Keeper keeper)
    : out_(made(out)), keeper_(keeper), history_(out_ + "/runs.jsonl", kRunsKept) {}

Expected<RunNumber, std::string> RunBook::claim(RunNumber wanted, RunNumber last, const v1::Farm& farm) {
  const auto refused = [](const std::string& why) { return Unexpected<std::string>(why); };
  if (keeper_ == Keeper::starter) {
    if (wanted.value != 0 && last.value == 0) return wanted;
    return refused("this farm makes one run: `weir up` keeps one for many");
  }
  claim_ = node::make_incarnation().value;
  if (wanted.value != 0) {
    const bool is_free = run_record::free_run_number(wanted, run_record::file_names_in(out_)) == wanted;
    const auto claimed = is_free ? node::claim_run(out_, wanted, farm.farm(), claim_) : false;
    if (!claimed) return refused("control.out: " + claimed.error());
    if (!*claimed)
      return refused(
          fmt::format("{} holds files of run {} already: take another number", out_, wanted.value));
    return wanted;
  }
  const RunNumber highest(std::max(last.value, history_.highest()));
  if (highest.value == std::numeric_limits<std::uint32_t>::max())
    return refused("control.out: " + run_record::no_run_number_left(out_));
  const RunNumber from = std::max(highest.next(), RunNumber(farm.run().number()));
  auto claimed = run_record::claim_free_run(out_, from, farm.farm(), claim_);
  if (!claimed) return refused("control.out: " + claimed.error());
  return *claimed;
}

void RunBook::give_up(RunNumber run) const {
  if (keeper_ == Keeper::self) node::give_up_claim(out_, run, claim_);
}

std::uint64_t RunBook::claim_of(RunNumber run) const { return node::read_claim(out_, run).value_or(0); }

std::string RunBook::begin(RunNumber run, const v1::Farm& of_run, const config::FarmPlan& plan,
                           v1::RunIdentity identity) {
  begin_utc_ = utc_now();
  identity_ = std::move(identity);
  faults_.clear();
  return write_begin(run, of_run, plan);
}

std::string RunBook::write_begin(RunNumber run, const v1::Farm& of_run, const config::FarmPlan& plan) const {
  if (keeper_ == Keeper::starter) return {};
  const run_record::RecordPaths paths = run_record::record_paths(out_, run);
  if (run_record::write_begin_records(paths, "Every key of this run.", of_run, plan, begin_utc_, identity_))
    return {};
  return fmt::format("cannot write into '{}': {}", out_, std::strerror(errno));
}

std::string RunBook::learn(const v1::RunIdentity& more, RunNumber run, const v1::Farm& of_run,
                           const config::FarmPlan& plan) {
  const int before = identity_.parts_size();
  (void)node::merge(more, identity_);
  return identity_.parts_size() == before ? std::string() : write_begin(run, of_run, plan);
}

void RunBook::note_fault(const std::string& fault) {
  const bool known = std::find(faults_.begin(), faults_.end(), fault) != faults_.end();
  if (!known && faults_.size() < kFaultsMax) faults_.push_back(fault);
}

void RunBook::recall(const v1::RunIdentity& identity, std::vector<std::string> faults) {
  identity_ = identity;
  faults_ = std::move(faults);
}

bool RunBook::knows(const v1::RunOver& over) const {
  if (last_ && last_->run() == over.run()) return true;
  const auto& runs = history_.runs();
  return std::any_of(runs.begin(), runs.end(), [&](const v1::FarmView::Run& one) {
    return one.run() == over.run() && one.begin_utc_ns() == over.summary().begin_utc_ns();
  });
}

std::vector<control::Event> RunBook::end(const v1::RunOver& over, const std::string& farm) {
  last_ = over;
  if (last_->has_summary()) {
    for (const std::string& fault : faults_) last_->mutable_summary()->add_faults_text(fault);
    if (!faults_.empty()) last_->mutable_summary()->set_faults(true);
  }
  if (!over.has_summary()) {
    return {{control::Level::error, fmt::format("run {} has no account: {}", over.run(), over.failure())}};
  }
  return keeper_ == Keeper::self ? record(*last_, farm) : std::vector<control::Event>();
}

std::vector<control::Event> RunBook::record(const v1::RunOver& over, const std::string& farm) {
  std::vector<control::Event> events;
  run_record::Summary summary = run_record::summarize(over.summary());
  summary.farm = farm;
  summary.failure = over.failure();
  const run_record::RecordPaths paths = run_record::record_paths(out_, RunNumber(over.run()));
  if (!run_record::write_file(paths.end, run_record::to_json(summary))) {
    events.push_back(
        {control::Level::error, fmt::format("cannot write '{}': {}", paths.end, std::strerror(errno))});
  }
  if (const std::string failure = history_.add(run_of(over.summary())); !failure.empty())
    events.push_back({control::Level::error, failure});
  const bool good = over.failure().empty() && over.summary().balanced();
  events.push_back({good ? control::Level::info : control::Level::error,
                    fmt::format("run {} is over: {}; {} triggered, {} stored, {} rejected; the ledger {}{}",
                                over.run(), over.summary().reason(), summary.triggered, summary.stored,
                                summary.rejected, over.summary().balanced() ? "balances" : "does NOT balance",
                                over.failure().empty() ? "" : "; " + over.failure())});
  return events;
}

const v1::RunSummary* RunBook::account() const {
  return last_ && last_->has_summary() ? &last_->summary() : nullptr;
}

std::optional<control::HealthView::LastRun> RunBook::last_run(RunNumber run) const {
  if (run.value == 0 || keeper_ == Keeper::starter) return std::nullopt;
  control::HealthView::LastRun last;
  last.run = run;
  const auto& runs = history_.runs();
  const auto found =
      std::find_if(runs.begin(), runs.end(), [&](const auto& one) { return one.run() == run.value; });
  last.accounted = found != runs.end();
  if (!last.accounted) return last;
  last.balanced = found->balanced();
  last.faults = found->faults();
  last.reason = found->reason();
  const v1::RunSummary* at_hand = account();
  if (at_hand != nullptr && at_hand->run() == run.value && at_hand->faults_text_size() > 0)
    last.fault = at_hand->faults_text(0);
  return last;
}

}  // namespace weir::run_control
