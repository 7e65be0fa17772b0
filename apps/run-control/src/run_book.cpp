#include "run_book.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/clock/clock.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/run_claim.hpp>
#include <weir/node/setup.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/reports/switch_account.hpp>
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

namespace outcome = run_record::outcome;
using run_record::is_accounted;
using run_record::run_of;

namespace {

constexpr std::size_t kFaultsMax = 100;
// Statuses that `weir run` would have had (docs/summary.md).
constexpr int kExitFailed = 1;
constexpr int kExitSurvived = 3;

std::string made(const std::string& folder) {
  auto resolved = node::made_folder(folder);
  if (!resolved) throw std::runtime_error("control.out: " + resolved.error());
  return std::move(*resolved);
}

}  // namespace

RunBook::RunBook(const std::string& out, Keeper keeper)
    : out_(made(out)), keeper_(keeper), history_(out_ + "/runs.jsonl", kRunsKept), records_(out_) {}

Expected<RunNumber, std::string> RunBook::claim(RunNumber wanted, RunNumber last, const std::string& farm,
                                                RunNumber first) {
  const auto refused = [](const std::string& why) { return Unexpected<std::string>(why); };
  if (keeper_ == Keeper::starter) {
    if (wanted.value != 0 && last.value == 0) return wanted;
    return refused("this farm makes one run only: use `weir up` for several");
  }
  claim_ = node::make_incarnation().value;
  if (wanted.value == std::numeric_limits<std::uint32_t>::max())
    return refused(fmt::format("{} leaves no number for the next run: choose a lower one", wanted.value));
  if (wanted.value != 0) {
    const bool is_free = run_record::free_run_number(wanted, run_record::file_names_in(out_)) == wanted;
    const auto claimed = is_free ? node::claim_run(out_, wanted, farm, claim_) : false;
    if (!claimed) return refused("control.out: " + claimed.error());
    if (!*claimed)
      return refused(
          fmt::format("{} holds files of run {} already: choose another number", out_, wanted.value));
    return wanted;
  }
  const RunNumber highest(std::max(last.value, history_.highest()));
  if (highest.value == std::numeric_limits<std::uint32_t>::max())
    return refused("control.out: " + run_record::no_run_number_left(out_));
  const RunNumber from = std::max(highest.next(), first);
  auto claimed = run_record::claim_free_run(out_, from, farm, claim_);
  if (!claimed) return refused("control.out: " + claimed.error());
  return *claimed;
}

void RunBook::give_up(RunNumber run) const {
  if (keeper_ == Keeper::self) node::give_up_claim(out_, run, claim_);
}

std::uint64_t RunBook::claim_of(RunNumber run) const { return node::read_claim(out_, run).value_or(0); }

std::string RunBook::begin(RunNumber run, const config::PlannedFarm& of_run, v1::RunIdentity identity,
                           run_record::RunFields fields) {
  begin_utc_ = utc_now_ns();
  identity_ = std::move(identity);
  fields_ = std::move(fields);
  described_before_ = std::exchange(described_, {run, fields_});
  faults_.clear();
  operations_.clear();
  if (keeper_ == Keeper::self) open_ = run;
  return write_begin(run, of_run);
}

std::string RunBook::write_begin(RunNumber run, const config::PlannedFarm& of_run) {
  if (keeper_ == Keeper::starter) return {};
  const auto write = [paths = run_record::record_paths(out_, run), of_run, begin = begin_utc_,
                      identity = identity_, fields = fields_, out = out_]() -> std::string {
    if (run_record::write_begin_records(paths, "Every key of this run.", of_run, begin, identity, fields))
      return {};
    return fmt::format("cannot write into '{}': {}", out, std::strerror(errno));
  };
  return records_.write(fmt::format("the begin record of run {}", run.value), write);
}

std::string RunBook::learn(const v1::RunIdentity& more, RunNumber run, const config::PlannedFarm& of_run) {
  const int before = identity_.parts_size();
  (void)node::merge(more, identity_);
  WEIR_ASSERT(identity_.parts_size() >= before);
  return identity_.parts_size() == before ? std::string() : write_begin(run, of_run);
}

void RunBook::note_fault(const std::string& fault) {
  const bool known = std::find(faults_.begin(), faults_.end(), fault) != faults_.end();
  if (!known && faults_.size() < kFaultsMax) faults_.push_back(fault);
}

void RunBook::note_leading_fault(const std::string& fault) { faults_.insert(faults_.begin(), fault); }

bool RunBook::has_fault(const std::string& begin) const {
  return std::any_of(faults_.begin(), faults_.end(),
                     [&](const std::string& fault) { return fault.starts_with(begin); });
}

std::string RunBook::annotate(const run_record::Annotation& annotation,
                              const std::vector<std::string>& types) {
  std::string why = run_record::add_annotation(out_, annotation, types);
  for (Described* one : {&described_, &described_before_}) {
    if (why.empty() && one->run.value == annotation.run) run_record::annotate(annotation.fields, one->fields);
  }
  return why;
}

const run_record::RunFields& RunBook::described(RunNumber run) const {
  if (described_.run == run) return described_.fields;
  return described_before_.run == run ? described_before_.fields : fields_;
}

void RunBook::recall(const v1::RunIdentity& identity, std::vector<std::string> faults,
                     run_record::RunFields fields) {
  identity_ = identity;
  fields_ = std::move(fields);
  faults_ = std::move(faults);
}

void RunBook::note_operation(const std::string& what) {
  if (!open_) return;
  operations_.push_back({utc_now_ns(), what});
  if (operations_.size() > kOperationsKept) operations_.pop_front();
  WEIR_ASSERT(operations_.size() <= kOperationsKept);
}

void RunBook::recall(RunNumber run, UtcNs begin_utc) {
  begin_utc_ = begin_utc;
  if (keeper_ == Keeper::self && run.value != 0 && entry_of(run.value) == nullptr) open_ = run;
}

const v1::FarmView::Run* RunBook::entry_of(std::uint32_t run) const {
  const auto& runs = history_.runs();
  const auto found =
      std::find_if(runs.begin(), runs.end(), [&](const auto& one) { return one.run() == run; });
  return found == runs.end() ? nullptr : &*found;
}

bool RunBook::knows(const v1::RunOver& over) const {
  if (last_ && last_->run() == over.run()) return true;
  const v1::FarmView::Run* entry = entry_of(over.run());
  if (entry == nullptr) return false;
  return is_accounted(*entry) ? entry->begin_utc_ns() == over.summary().begin_utc_ns() : !over.has_summary();
}

std::vector<control::Event> RunBook::end(const v1::RunOver& over, const std::string& farm) {
  last_ = over;
  if (last_->has_summary()) add_faults(*last_->mutable_summary());
  if (keeper_ == Keeper::starter) {
    if (over.has_summary()) {
      history_.keep(run_of(last_->summary()));
      return {};
    }
    return {{control::Level::error, fmt::format("run {} has no account: {}", over.run(), over.failure())}};
  }
  if (over.has_summary()) return record(*last_, farm);
  // A supervisor that fails before the run's begin has no account to give.
  last_.reset();
  const bool never_began = !over.failure().empty();
  return lose({RunNumber(over.run()), !never_began,
               never_began ? over.failure() : "its supervisor ended it without an account"},
              {}, farm);
}

// Puts run control's own faults first: the deaths and removals of processes cause the account's losses.
void RunBook::add_faults(v1::RunSummary& account) const {
  if (faults_.empty()) return;
  const std::vector<std::string> counted_ones(account.faults_text().begin(), account.faults_text().end());
  account.mutable_faults_text()->Assign(faults_.begin(), faults_.end());
  for (const std::string& fault : counted_ones) account.add_faults_text(fault);
  account.set_faults(true);
}

std::vector<control::Event> RunBook::record(const v1::RunOver& over, const std::string& farm) {
  v1::FarmView::Run entry = run_of(over.summary());
  entry.set_failure(over.failure());
  if (!over.failure().empty() && over.summary().balanced()) entry.set_outcome(outcome::kFailed);
  std::vector<control::Event> events = keep(over.summary(), entry, over.failure(), farm);
  const bool good = over.failure().empty() && over.summary().balanced();
  const std::uint64_t left = entry.discarded_at_stop();
  // Losses within source.loss_share_max are not faults: at the end only this line shows them.
  const std::uint64_t incomplete = reports::counter_of(over.summary(), "stored_incomplete");
  const std::string flawed = incomplete > 0 ? fmt::format(" ({} of them incomplete)", incomplete) : "";
  const std::string cut = left > 0 ? fmt::format(", {} of them at the stop (drain_timeout)", left) : "";
  events.push_back(
      {!good                        ? control::Level::error
       : left > 0 || entry.faults() ? control::Level::warning
                                    : control::Level::info,
       fmt::format(
           "run {} is over: {}; {} triggered, {} stored{}, {} rejected, {} discarded{}; the ledger {}{}{}",
           over.run(), over.summary().reason(), entry.triggered(), entry.stored(), flawed, entry.rejected(),
           entry.discarded(), cut, over.summary().balanced() ? "balances" : "does NOT balance",
           entry.fault_count() > 0
               ? fmt::format("; {}, first: {}", counted(entry.fault_count(), "fault"), entry.fault())
               : "",
           over.failure().empty() ? "" : "; " + over.failure())});
  return events;
}

std::optional<RunNumber> RunBook::take_overdue(bool goes_on, bool all_gone, TimeNs now_ns) {
  if (!open_ || goes_on) {
    account_until_ns_.reset();
    return std::nullopt;
  }
  if (!account_until_ns_) account_until_ns_ = now_ns + kAccountPatience;
  if (now_ns < *account_until_ns_ && !all_gone) return std::nullopt;
  account_until_ns_.reset();
  return open_;
}

std::vector<control::Event> RunBook::lose(const control::LostRun& lost,
                                          const std::vector<v1::Report>& reports, const std::string& farm,
                                          const std::vector<v1::SwitchAccount>& switches) {
  if (keeper_ == Keeper::starter || entry_of(lost.run.value) != nullptr) return {};
  v1::RunSummary account;
  account.set_run(lost.run.value);
  account.set_reason(lost.why);
  account.set_begin_utc_ns(begin_utc_);
  account.set_end_utc_ns(utc_now_ns());
  for (const v1::Report& report : reports) {
    if (report.name().empty()) continue;
    if (report.role() == v1::ROLE_SUPERVISOR) *account.mutable_counters() = report.counters();
    *account.add_nodes() = report;
  }
  if (lost.begun && begin_utc_ > 0) {
    const auto paused = static_cast<DurationNs>(reports::counter_of(account, "paused_ms")) * kMillisecond;
    account.set_duration_ns(std::max<DurationNs>(0, account.end_utc_ns() - begin_utc_));
    account.set_running_ns(std::max<DurationNs>(0, account.duration_ns() - paused));
  }
  reports::add_switches(switches, account);
  add_faults(account);
  account.set_ledger_text(
      "no ledger: the supervisor sent no account; the counts are the last reported ones\n");
  v1::FarmView::Run entry = run_of(account);
  entry.set_outcome(lost.begun ? outcome::kNoAccount : outcome::kNeverBegan);
  entry.set_failure(lost.begun ? "no account of it" : "it never began");
  std::vector<control::Event> events = keep(account, entry, entry.failure() + ": " + lost.why, farm);
  events.push_back(
      {control::Level::error, fmt::format("run {} {}: {}", lost.run.value,
                                          lost.begun ? "ends without an account" : "never began", lost.why)});
  return events;
}

std::vector<control::Event> RunBook::keep(const v1::RunSummary& account, v1::FarmView::Run entry,
                                          const std::string& failure, const std::string& farm) {
  std::vector<control::Event> events;
  if (open_ == RunNumber(account.run())) open_.reset();
  run_record::Summary summary = run_record::summarize(account);
  summary.farm = farm;
  summary.failure = failure;
  if (failure.empty() && !account.balanced()) summary.failure = "the ledger does not balance";
  summary.outcome = entry.outcome();
  summary.exit_status = entry.outcome() == outcome::kGood     ? 0
                        : entry.outcome() == outcome::kFaults ? kExitSurvived
                                                              : kExitFailed;
  summary.operations.assign(operations_.begin(), operations_.end());
  const std::string why = records_.write(fmt::format("the end record of run {}", account.run()),
                                         write_end(run_record::record_paths(out_, RunNumber(account.run())),
                                                   account, run_record::to_json(summary), entry));
  if (why.empty()) return events;
  events.push_back({control::Level::error, why + ": it is kept, and written when there is room"});
  if (entry.failure().empty()) entry.set_failure(why);
  history_.keep(entry);
  return events;
}

// Writes the records of a run's end, its line in the history last.
RecordKeeper::Write RunBook::write_end(const run_record::RecordPaths& paths, const v1::RunSummary& account,
                                       const std::string& text, const v1::FarmView::Run& entry) {
  return [this, paths, account, text, entry]() -> std::string {
    const auto failed = [](const std::string& path) {
      return fmt::format("cannot write '{}': {}", path, std::strerror(errno));
    };
    if (!run_record::write_histograms(paths, account)) return failed(paths.histograms);
    if (!run_record::write_file(paths.end, text)) return failed(paths.end);
    std::string why = run_record::append_run(out_ + "/runs.jsonl", entry);
    if (why.empty()) history_.keep(entry);
    return why;
  };
}

const v1::RunSummary* RunBook::account() const {
  return last_ && last_->has_summary() ? &last_->summary() : nullptr;
}

std::optional<control::HealthView::LastRun> RunBook::last_run(RunNumber run) const {
  if (run.value == 0 || (keeper_ == Keeper::starter && !last_)) return std::nullopt;
  control::HealthView::LastRun last;
  last.run = run;
  if (keeper_ == Keeper::starter) {
    last.accounted = last_->has_summary();
    last.began = last.accounted;
    last.balanced = last_->summary().balanced();
    last.faults = last_->summary().faults();
    last.reason = last.accounted ? last_->summary().reason() : last_->failure();
    if (last_->summary().faults_text_size() > 0) last.fault = last_->summary().faults_text(0);
    return last;
  }
  const v1::FarmView::Run* found = entry_of(run.value);
  last.accounted = found != nullptr && is_accounted(*found);
  if (found == nullptr) return last;
  last.began = found->outcome() != outcome::kNeverBegan;
  last.discarded_at_stop = found->discarded_at_stop();
  last.was_reset = !last.accounted && found->reason().starts_with(control::kResetReason);
  last.balanced = found->balanced();
  last.faults = found->faults();
  last.reason = found->reason();
  if (found->outcome() == outcome::kFailed) last.failure = found->failure();
  last.fault = found->fault();
  return last;
}

}  // namespace weir::run_control
