#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/bench/changing_farm.hpp>
#include <weir/bus/client.hpp>
#include <weir/run_record/summary.hpp>
#include <weir/v1/bus.pb.h>

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::bench {

// Returns the address of run control of a farm that `run` starts on this machine.
// Errors: std::runtime_error with the farm's message if it ends before.
[[nodiscard]] std::string control_of(const std::string& farm,
                                     std::future<Expected<run_record::Summary, std::string>>& run);

// Operates a farm over its run control, and notes the stored slices over time.
// Errors: std::runtime_error with a message if the farm does not follow a command.
class FarmOperator {
 public:
  // `control`: host:port of run control. `each_turn` is called some 25 times a second while time passes.
  FarmOperator(const std::string& control, std::function<void()> each_turn);

  // Returns the reply to a command for all nodes, or for one.
  v1::Reply ask(std::string_view command, const std::string& node = {});
  // Takes the farm through a transition.
  void transit(std::string_view command);
  // Returns once the condition holds after a look at the farm.
  void wait_until(const std::function<bool()>& condition, const std::string& complaint);
  // Returns at this time. Requires: the farm is in its run, and stays there.
  void run_to(double until_s);

  // The first change is the begin: the farm is in its run.
  void note_change(const std::string& what, std::uint32_t dcms, const std::string& dcm = {});
  // Changes the farm as `ctl remove` and `ctl add` do.
  void remove(const std::string& dcm, std::uint32_t left);
  void add(const std::string& dcm, std::uint32_t present);

  [[nodiscard]] const v1::FarmView& view() const { return view_; }
  // Returns the time of the first report in the run; 0: none so far.
  [[nodiscard]] double begin_s() const { return begin_s_; }
  [[nodiscard]] const std::vector<StoredUntil>& stored() const { return stored_; }
  [[nodiscard]] const std::vector<FarmChange>& changes() const { return changes_; }

 private:
  void turn();
  void take(const v1::Report& report);

  std::function<void()> each_turn_;
  bus::Client client_;
  std::uint64_t last_id_ = 0;
  v1::FarmView view_;
  double begin_s_ = 0;
  TimeNs last_report_ns_ = 0;
  std::vector<StoredUntil> stored_;
  std::vector<FarmChange> changes_;
};

}  // namespace weir::bench
