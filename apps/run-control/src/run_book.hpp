#pragma once

#include "record_keeper.hpp"
#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/config/planned_farm.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/control/health.hpp>
#include <weir/run_record/annotations.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/run_fields.hpp>
#include <weir/run_record/run_history.hpp>
#include <weir/run_record/summary.hpp>
#include <weir/v1/bus.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

// The runs: ownership of numbers, records of begin and end, history. Errors are messages.
class RunBook {
 public:
  static constexpr std::size_t kRunsKept = 200;
  enum class Keeper : std::uint8_t {
    self,
    starter,  // the program that started the farm gave its one run a number, and writes its records
  };

  // Errors: std::runtime_error if the folder `out` does not exist and cannot be made.
  RunBook(const std::string& out, Keeper keeper);

  // Returns a number for a run after `last`: the one wanted, or with 0 the next free one.
  // `farm`: its name; `first`: the lowest number, from the farm file.
  [[nodiscard]] Expected<RunNumber, std::string> claim(RunNumber wanted, RunNumber last,
                                                       const std::string& farm, RunNumber first);
  // That run is not to be after all.
  void give_up(RunNumber run) const;
  // The id under which the run was claimed; 0: it was not.
  [[nodiscard]] std::uint64_t claim_of(RunNumber run) const;
  // The run is on from now, and is made of these parts. Returns why its record is not written yet; empty: it
  // is. `fields`: the operator's.
  [[nodiscard]] std::string begin(RunNumber run, const config::PlannedFarm& of_run, v1::RunIdentity identity,
                                  run_record::RunFields fields = {});
  // A process has joined the present run: adds its parts to the run's identity and record. Differing parts
  // are not replaced: that process refuses to begin.
  [[nodiscard]] std::string learn(const v1::RunIdentity& more, RunNumber run,
                                  const config::PlannedFarm& of_run);
  // Notes for the run that is on that a process died, or could not take part, and why. In the run's record
  // and sentence these precede the faults of the supervisor's account.
  void note_fault(const std::string& fault);
  // Likewise, before all others: no process of a kind is left.
  void note_leading_fault(const std::string& fault);
  // True if a fault begins with this text.
  [[nodiscard]] bool has_fault(const std::string& begin) const;
  // Restores an earlier process's knowledge of its last run.
  void recall(RunNumber run, UtcNs begin_utc);

  // True if the end was already reported, perhaps before a restart of run control.
  [[nodiscard]] bool knows(const v1::RunOver& over) const;
  // Returns the events to log.
  [[nodiscard]] std::vector<control::Event> end(const v1::RunOver& over, const std::string& farm);
  // Closes a run without an account from its supervisor: its entry and its end record have the last counters
  // reported by processes. A later account replaces both. Returns the events to log; none if the run already
  // has an entry.
  [[nodiscard]] std::vector<control::Event> lose(const control::LostRun& lost,
                                                 const std::vector<v1::Report>& reports,
                                                 const std::string& farm,
                                                 const std::vector<v1::SwitchAccount>& switches = {});
  // Each turn: records that the disk did not take. Returns the events to log.
  [[nodiscard]] std::vector<control::Event> look(TimeNs now, std::optional<std::uint64_t> room) {
    return records_.look(now, room);
  }
  [[nodiscard]] control::HealthView::Records records() const { return records_.state(); }

  // Notes a change of the farm for the record of the run that is on. Beyond kOperationsKept the oldest
  // notes are dropped.
  void note_operation(const std::string& what);
  static constexpr std::size_t kOperationsKept = 1000;
  // The run that was begun and has no entry yet.
  [[nodiscard]] std::optional<RunNumber> open() const { return open_; }
  // Returns the open run if its account is overdue after the run's end: its supervisor died before the
  // account arrived. Waits for kAccountPatience, unless all processes are gone; then waits anew. `goes_on`:
  // the run has not ended.
  [[nodiscard]] std::optional<RunNumber> take_overdue(bool goes_on, bool all_gone, TimeNs now_ns);
  static constexpr DurationNs kAccountPatience = 10 * kSecond;

  [[nodiscard]] Keeper keeper() const { return keeper_; }
  // The last run's parts, and the faults that kept processes out of it.
  [[nodiscard]] const v1::RunIdentity& identity() const { return identity_; }
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  void recall(const v1::RunIdentity& identity, std::vector<std::string> faults, run_record::RunFields fields);
  // The operator's fields of the present or last run.
  [[nodiscard]] const run_record::RunFields& fields() const { return fields_; }
  // The fields of a run with its annotations; without those that were made before this process started.
  [[nodiscard]] const run_record::RunFields& described(RunNumber run) const;
  // Adds an annotation of a run. Returns an error; empty: the annotation is in its file.
  [[nodiscard]] std::string annotate(const run_record::Annotation& annotation,
                                     const std::vector<std::string>& types);
  [[nodiscard]] UtcNs begin_utc() const { return begin_utc_; }      // of the present or last run; 0: none
  [[nodiscard]] bool is_over() const { return last_.has_value(); }  // a run was, in this process' time
  // The last account; null: none since this process started.
  [[nodiscard]] const v1::RunSummary* account() const;
  [[nodiscard]] const std::deque<v1::FarmView::Run>& runs() const { return history_.runs(); }  // newest first
  // How this run ended; if the starter keeps the records, once its account has arrived.
  [[nodiscard]] std::optional<control::HealthView::LastRun> last_run(RunNumber run) const;

 private:
  [[nodiscard]] std::string write_begin(RunNumber run, const config::PlannedFarm& of_run);
  void add_faults(v1::RunSummary& account) const;
  [[nodiscard]] std::vector<control::Event> record(const v1::RunOver& over, const std::string& farm);
  [[nodiscard]] std::vector<control::Event> keep(const v1::RunSummary& account, v1::FarmView::Run entry,
                                                 const std::string& failure, const std::string& farm);
  [[nodiscard]] RecordKeeper::Write write_end(const run_record::RecordPaths& paths,
                                              const v1::RunSummary& account, const std::string& text,
                                              const v1::FarmView::Run& entry);
  [[nodiscard]] const v1::FarmView::Run* entry_of(std::uint32_t run) const;

  std::string out_;
  Keeper keeper_;
  run_record::RunHistory history_;
  RecordKeeper records_;
  std::uint64_t claim_ = 0;  // the last one
  v1::RunIdentity identity_;
  std::vector<std::string> faults_;
  run_record::RunFields fields_;
  struct Described {
    RunNumber run;
    run_record::RunFields fields;
  };
  Described described_;
  Described described_before_;  // the next run may begin before the end of this one is handled
  UtcNs begin_utc_ = 0;
  std::optional<RunNumber> open_;
  std::optional<TimeNs> account_until_ns_;
  std::deque<run_record::Summary::Operation> operations_;
  std::optional<v1::RunOver> last_;
};

}  // namespace weir::run_control
