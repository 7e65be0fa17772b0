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
};

// The supervisor's side: counts the slices of each window on its own, numbers the alerts, and notices when
// one is saved. A slice counts for the DCM that had it when it was settled. Pure.
class AlertBook {
 public:
  explicit AlertBook(std::size_t dcms) : dcms_(dcms) {}

  void announced(UtcNs time);
  // `kept_by`: index of the DCM that has the slice's data; none: no DCM has.
  void settled(SliceId slice, UtcNs time, std::optional<NodeIndex> kept_by);

  // Opens an alert for [from, until), widened to whole quanta and cut to the times that are counted. Errors:
  // a text where too many alerts are open or the window is empty.
  [[nodiscard]] std::optional<Alert> ask(UtcNs from, UtcNs until, const std::string& reason,
                                         std::string& error);
  // An alert that an earlier process of the supervisor opened: only its number and window are known.
  void adopt(const Alert& alert);
  void told(NodeIndex dcm, std::uint32_t alert, const Account& account);
  // Alerts wait kReturnPatience for this DCM: if only its connection was lost, it comes back with its ring.
  void dcm_left(NodeIndex dcm, TimeNs now);
  // `same_process`: only its connection was lost, and it still has its ring and its accounts.
  void dcm_joined(NodeIndex dcm, bool same_process);

  // Alerts that end now: every slice of the window is settled, and every DCM has saved its part. `at_end`: no
  // further slice will come. `no_longer`: unsaved slices are given up. `utc` is compared with windows, `now`
  // with the time of dcm_left().
  [[nodiscard]] std::vector<std::uint32_t> take_ended(UtcNs utc, TimeNs now, bool at_end, bool no_longer);
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] const std::map<std::uint32_t, AlertAccount>& alerts() const { return accounts_; }
  // Open alerts, for a DCM that joins.
  [[nodiscard]] std::vector<Alert> open_alerts() const;
  // A DCM has left during an alert, or the supervisor was restarted: asked is a bound.
  [[nodiscard]] bool is_exact() const { return exact_; }

 private:
  struct Part {  // of one DCM in an alert
    SliceSum asked;
    Account told;
    Account earlier;  // of its earlier processes
  };
  using Times = std::map<std::int64_t, SliceSum>;

  void bound(Times& times);
  [[nodiscard]] std::uint64_t unsettled(const Alert& alert) const;
  void add_up(std::uint32_t number);
  void bury(NodeIndex dcm);

  std::size_t dcms_;
  std::map<std::int64_t, std::uint64_t> unsettled_;  // by quantum
  std::vector<Times> kept_ = std::vector<Times>(dcms_);
  std::vector<std::optional<TimeNs>> away_since_ = std::vector<std::optional<TimeNs>>(dcms_);
  Times not_kept_;
  Times lost_;                      // with their DCM
  std::int64_t floor_ = INT64_MIN;  // quanta below are not counted any more
  std::map<std::uint32_t, AlertAccount> accounts_;
  std::map<std::uint32_t, std::vector<Part>> parts_;  // of open alerts
  bool exact_ = true;
};

}  // namespace weir::burst
