#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control {

// Makes the accounts of the farm's switches in a run, from their reports. Pure.
class SwitchAccounts {
 public:
  // A run begins, with these switches: their next reports count from the last ones.
  void begin(RunNumber run, UtcNs begin_utc, const std::vector<std::string>& names);
  // The run has ended: later reports do not count.
  void end() { is_on_ = false; }
  // Takes a report, which has checked texts.
  void take(v1::SwitchReport report);
  // A switch that has sent reports sends none any more. Its next report ends that.
  void silent(const std::string& name);

  // The run that is on, or was last; 0: none.
  [[nodiscard]] RunNumber run() const { return run_; }
  [[nodiscard]] bool is_on() const { return is_on_; }
  // Returns the account of a switch in that run.
  [[nodiscard]] v1::SwitchAccount account(const std::string& name) const;
  // Returns those of all switches; empty for another run.
  [[nodiscard]] std::vector<v1::SwitchAccount> accounts(RunNumber run) const;

  // Adds the counts of the open run for a successor. Requires: the memory has the run and its begin.
  void add_to(v1::ControlMemory& memory) const;
  // Restores the counts of an earlier process. Requires: no call was made before.
  void recall(const v1::ControlMemory& memory);

 private:
  struct Depth {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
  };
  struct One {
    v1::SwitchAccount before;  // the counts before `from`, without depths
    v1::SwitchReport from;
    v1::SwitchReport until;  // the last report of the run
    v1::SwitchReport last;
    std::map<std::string, Depth> depths;  // the greatest ones, of each ring
    bool is_silent = false;
  };
  [[nodiscard]] v1::SwitchAccount account_of(const std::string& name, const One& one) const;
  void note_depths(One& one) const;

  RunNumber run_;
  UtcNs begin_utc_ = 0;
  bool is_on_ = false;
  std::map<std::string, One> ones_;
};

}  // namespace weir::run_control
