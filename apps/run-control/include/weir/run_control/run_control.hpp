#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/bus/hub.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/v1/bus.pb.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::run_control {

struct RunControlSettings {
  std::string farm_file;
  std::vector<std::string> sets;  // key=value, before those of `configure`
  std::string listen;             // host:port; empty: control.listen
  std::string page;               // host:port; empty: control.page
  // The farm makes one run, led and recorded by the program that started this process and the others; all end
  // with that run. Only the token of a page requested here and `memory` are written.
  bool one_run = false;
  // Called when `off` was requested, before any process is ordered to end; may be empty.
  std::function<void()> going_off = {};
  // Another network of this machine in which it also listens, at the same ports and without keys; for
  // networks without outside access (a lab). The path of its namespace, and an address in it; empty: none.
  std::string network = {};
  std::string network_host = {};
  // Begins with the farm file as it is: keys that operators set in an earlier session are forgotten, unless a
  // run of that session is still on.
  bool begins_with_file = false;
  // File for the state that outlives this process; empty: run-control.state in control.out, or none with
  // `one_run`.
  std::string memory = {};
  // Farm file to begin with if `farm_file` cannot be used or has other processes; empty: none.
  std::string fallback = {};
};

// Run control of one farm: the bus' hub, the farm's machine, its saved state, the records of its runs. One
// thread.
class RunControl {
 public:
  // Throws std::runtime_error with sentences: the farm file is not good, its keys cannot be read, a port is
  // taken.
  explicit RunControl(RunControlSettings settings);
  ~RunControl();

  // Waits up to `wait` for a message, and does due work.
  void turn(DurationNs wait);
  // Carries out an operator's request. The reply says whether it was accepted; view() shows its result.
  [[nodiscard]] v1::Reply request(const v1::Request& request);
  [[nodiscard]] v1::FarmView view();
  // After `off`: all processes are gone.
  [[nodiscard]] bool finished() const;
  [[nodiscard]] const bus::Hub& hub() const;
  // URL of the farm's web page; empty: it has none.
  [[nodiscard]] std::string page() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::run_control
