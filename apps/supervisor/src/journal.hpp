#pragma once

#include "run_alerts.hpp"
#include <weir/assignment/actions.hpp>
#include <weir/assignment/run_state.hpp>
#include <weir/assignment/throttle_times.hpp>
#include <weir/base/ids.hpp>
#include <weir/numbering/number_order.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/supervisor/journal_store.hpp>
#include <weir/v1/journal.pb.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::supervisor {

struct Joined {
  std::uint64_t incarnation = 0;
  std::uint64_t first_slice = 0;  // lowest id that this process can have, where ids ascend
  bool told_to_end = false;       // in this run: its next process takes part
  SliceOrder first_order;         // slices that were announced before it took part
};

// A run as recorded in its journal.
struct JournalledRun {
  RunNumber run;
  std::string farm;
  UtcNs begun_utc = 0;
  assignment::RunState state;
  std::map<std::pair<int, std::uint32_t>, Joined> joined;  // the last process, by role and index
  std::vector<v1::Report> reports;                         // last words
  std::string stop;                                        // the run drains, why
  bool reporting = false;
  std::vector<std::string> faults;
  UtcNs shaped_utc = 0;     // when state.shape was so
  std::uint64_t claim = 0;  // identifies the run among those of this number
  assignment::LostTimes lost_times = {};
  std::uint64_t serial = 0;                          // of its last pass
  std::vector<v1::FilterHistogram> histograms = {};  // HistogramBoard::earlier()
  std::optional<RunAlerts> alerts = {};              // filled by read_journal()
  assignment::AnsweredTriggers answered = {};
  std::string impossible =
      {};                     // the first entry that no supervisor writes, by number and column; empty: none
  DurationNs running_ns = 0;  // with `stop`: how long triggers were on
  std::optional<numbering::OrderState> numbers = {};  // where front-ends number the slices
};

// Parses the entries of a journal up to the first incomplete one. Returns nullopt if it contains no run.
[[nodiscard]] std::optional<JournalledRun> read_journal(ConstBytes bytes);

// Writes a run as the first entry of its journal. `alerts`: of a farm with a burst saver.
void put(const JournalledRun& run, const RunAlerts* alerts, v1::JournalState& state);

// The faults of a run, in their order.
class FaultTexts {
 public:
  explicit FaultTexts(std::vector<std::string> texts = {});

  // Appends a fault. One that continues an earlier one with " for " and a time replaces the last such.
  void add(const std::string& fault);
  // Returns whether it would replace one.
  [[nodiscard]] bool continues(const std::string& fault) const { return begun(fault) != texts_.size(); }
  [[nodiscard]] const std::vector<std::string>& all() const { return texts_; }

 private:
  [[nodiscard]] std::size_t begun(const std::string& fault) const;

  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> places_;  // of each text, its last
};

// For tests: returns the first part of a run that its journal lacks, or an empty string. Times and the
// reports that nodes send again when they connect are not compared.
[[nodiscard]] std::string journal_lacks(const JournalledRun& read, const JournalledRun& run,
                                        const RunAlerts* alerts);

// Records a run while it lasts. Without room it waits: the journal keeps everything that nodes have received,
// no further messages leave, and the next state that fits continues it. After any other error the journal is
// abandoned, because a run must not be resumed from a part of it; it begins again with the next state that
// can be written. No effect without a store.
class Journal {
 public:
  explicit Journal(JournalStore* store) : store_(store) {}

  // Replaces the journal: at the beginning of the run, and when it has become long (see is_long()). Nothing
  // is written before the first call. `alerts`: of a farm with a burst saver, instead of those in `run`.
  void write_state(const JournalledRun& run, const RunAlerts* alerts = nullptr);
  // Numbers the pass and writes it, before it is sent to any node. A pass that changes no
  // count and has no actions gets no number.
  // `numbers`: where front-ends number the slices.
  void write_pass(const assignment::Actions& actions, const assignment::SupervisorLedger& ledger,
                  const std::optional<numbering::OrderState>& numbers = std::nullopt);
  void write_join(Role role, NodeIndex index, const Joined& joined);
  void write_report(const v1::Report& report);
  void write_stop(const std::string& reason, DurationNs running_ns);
  void write_reporting();
  void write_fault(const std::string& fault);
  void write_shape(const assignment::FarmShape& shape, UtcNs utc_ns);
  void write_lost_times(const assignment::LostTimes& times);
  // An alert that was opened with these arguments, before it is sent. `filter_from`: if it is of a filter.
  void write_alert(const burst::Alert& alert, const std::string& by, std::optional<UtcNs> filter_from);
  void write_alert_account(NodeIndex dcm, std::uint32_t number, const burst::Account& account);
  void write_alert_end(const burst::AlertAccount& account);
  void write_alerts_refused(std::uint64_t refused);
  // The run is over.
  void remove();

  // The number of the last pass, over all processes of the supervisor in this run.
  [[nodiscard]] std::uint64_t serial() const { return serial_; }
  void resume(std::uint64_t serial) { serial_ = serial; }

  // True if the journal should be replaced by a state; false while it is lost or waits for room, which is
  // retried separately. Entries are several times as long as states, so that states cost a pass almost
  // nothing.
  [[nodiscard]] bool is_long() const {
    return bytes_ > std::max(kLong, kStatesLong * state_bytes_) && !lost_ && !waits_;
  }
  // True if the run has no journal at present.
  [[nodiscard]] bool lost() const { return lost_; }
  // True if the disk is full: messages that depend on unwritten entries must not leave.
  [[nodiscard]] bool waits() const { return waits_; }
  // The run ends, and does not wait any longer.
  void give_up_waiting();
  // Returns why it waits or was lost; once for each.
  [[nodiscard]] std::string take_failure() { return std::exchange(failure_, {}); }

 private:
  static constexpr std::uint64_t kLong = 64U << 20U;
  static constexpr std::uint64_t kStatesLong = 4;
  void frame(const v1::JournalEntry& entry);
  void append(const v1::JournalEntry& entry);
  void give_up(const std::string& why);

  JournalStore* store_;
  bool begun_ = false;
  bool lost_ = false;
  bool waits_ = false;
  bool has_alerts_ = false;
  std::uint64_t bytes_ = 0;        // of entries since the state
  std::uint64_t state_bytes_ = 0;  // of the state
  std::uint64_t serial_ = 0;
  std::vector<std::uint64_t> counted_;  // of the ledger and the numbers, when last written
  std::string failure_;
  std::vector<std::byte> frame_;
  v1::JournalEntry pass_entry_;
};

}  // namespace weir::supervisor
