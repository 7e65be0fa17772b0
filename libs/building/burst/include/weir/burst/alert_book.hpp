#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/burst/alert.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::burst {

// For how long alerts wait for a DCM that left.
constexpr DurationNs kReturnPatience = 10 * kSecond;

// An alert's account over the whole farm.
struct AlertAccount {
  Alert alert;
  std::string reason;
  bool ended = false;
  SliceSum asked;          // slices of the window that a DCM kept, counted by the supervisor
  SliceSum not_kept;       // settled without a DCM that has their data
  Account told;            // by the DCMs, added up
  std::uint64_t lost = 0;  // asked and in no account: lost with their process
  bool operator==(const AlertAccount&) const = default;
};

// The part of a book that the next process of the supervisor needs.
struct AlertBookState {
  struct Part {  // of one DCM in an alert
    SliceSum asked;
    Account told;
    Account earlier;  // of its earlier processes
    bool operator==(const Part&) const = default;
  };
  using Times = std::map<std::int64_t, SliceSum>;  // by quantum

  std::vector<Times> kept;  // by DCM
  Times not_kept;
  Times lost;                      // with their DCM
  std::int64_t floor = INT64_MIN;  // quanta below are not counted any more
  std::map<std::uint32_t, AlertAccount> accounts;
  std::map<std::uint32_t, std::vector<Part>> parts;  // of open alerts, by DCM
  bool operator==(const AlertBookState&) const = default;
};

// The supervisor's side: counts the slices of each window on its own, numbers the alerts, and notices when
// one is saved. A slice counts for the DCM that had it when it was settled. Pure.
class AlertBook {
 public:
  explicit AlertBook(std::size_t dcms) : dcms_(dcms) { state_.kept.resize(dcms); }
  // Continues the book of an earlier process; its slices in flight are announced again. Alerts wait
  // kReturnPatience for each DCM. Requires: each list of parts is as long as `kept`, and each open alert has
  // its account.
  AlertBook(AlertBookState state, TimeNs now);

  void announced(UtcNs time);
  // `kept_by`: index of the DCM that has the slice's data; none: no DCM has.
  void settled(SliceId slice, UtcNs time, std::optional<NodeIndex> kept_by);

  // Opens an alert for [from, until), widened to whole quanta and cut to the times that are counted. Alerts
  // are numbered from 1 in the order of these calls. Errors: a text where too many alerts are open, the run
  // has had kAlertsMax, or the window is empty.
  [[nodiscard]] std::optional<Alert> ask(UtcNs from, UtcNs until, const std::string& reason,
                                         std::string& error);
  // The account of a DCM for its part of an alert. No effect on alerts that are not open.
  void told(NodeIndex dcm, std::uint32_t alert, const Account& account);
  // Alerts wait kReturnPatience for this DCM: if only its connection was lost, it returns with its ring.
  void dcm_left(NodeIndex dcm, TimeNs now);
  // Alerts do not wait for this DCM any more: it has returned.
  void dcm_joined(NodeIndex dcm);
  // Its process is another one: slices and accounts of the earlier one are lost. Once per process, when the
  // supervisor and its journal learn of it.
  void dcm_replaced(NodeIndex dcm);

  // Alerts that end now: every slice of the window is settled, and every DCM has saved its part. `at_end`: no
  // further slice will come. `no_longer`: unsaved slices are given up. `utc` is compared with windows, `now`
  // with the time of dcm_left().
  [[nodiscard]] std::vector<std::uint32_t> take_ended(UtcNs utc, TimeNs now, bool at_end, bool no_longer);
  // Ends an alert with this account, as an earlier process did.
  void end(std::uint32_t number, const AlertAccount& account);
  [[nodiscard]] bool is_open() const { return !state_.parts.empty(); }
  [[nodiscard]] const std::map<std::uint32_t, AlertAccount>& alerts() const { return state_.accounts; }
  [[nodiscard]] const AlertBookState& state() const { return state_; }
  // Returns the numbers of all alerts for a DCM that joins, ended ones first: it may still save those, and a
  // ring has room for kOpenAlertsMax alerts.
  [[nodiscard]] std::vector<std::uint32_t> ended_first() const;
  // A DCM has left during an alert, or the supervisor was restarted: asked is a bound.
  [[nodiscard]] bool is_exact() const { return exact_; }

 private:
  using Part = AlertBookState::Part;
  using Times = AlertBookState::Times;

  void bound(Times& times);
  [[nodiscard]] std::uint64_t unsettled(const Alert& alert) const;
  void add_up(std::uint32_t number);

  std::size_t dcms_;
  AlertBookState state_;
  std::map<std::int64_t, std::uint64_t> unsettled_;  // by quantum
  std::vector<std::optional<TimeNs>> away_since_ = std::vector<std::optional<TimeNs>>(dcms_);
  bool exact_ = true;
};

}  // namespace weir::burst
