#pragma once

#include "farm_run.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::system_test {

// A farm in a lab with weir-switch, a process of its own, in the place of the lab's bridge. Readouts are on
// h0 and h1, DCMs on h2 and h3; h4 has no node. Data pass the switch only, at 20 Mb/s for each host. A failed
// command fails the test.
class SwitchedLab {
 public:
  // Starts farm and switch, and waits until data pass it. `more`: further settings of the farm, "key=value".
  explicit SwitchedLab(const TemporaryFolder& folder, const std::vector<std::string>& more = {});

  [[nodiscard]] FarmRun& run() { return run_; }
  [[nodiscard]] Process& process() { return *switch_; }
  // Waits until it forwards.
  void start_switch();
  void kill_switch();
  // Waits until the run files have grown by this.
  [[nodiscard]] bool stores(std::uint64_t bytes) const;
  // Interrupts the run and waits for its end.
  [[nodiscard]] FarmEnd finish();

  // Calls `work` in a thread on h4.
  void on_free_host(const std::function<void()>& work);
  // Calls `work` in a thread in the switch's namespace, where its metrics are.
  void beside_switch(const std::function<void()>& work) const;
  // Runs a command line in a namespace.
  void command(const std::string& space, const std::string& words) const;
  // Paths of namespaces: of h4, and of the switch.
  [[nodiscard]] std::string free_host() { return space_with("inet 10.77.1.5/"); }
  [[nodiscard]] const std::string& switches() const { return switches_; }
  // HOST:PORT of the switch's metrics.
  [[nodiscard]] std::string metrics() const;

 private:
  // Returns the path of the namespace of the lab with `text` among its addresses and links (`ip -o`).
  [[nodiscard]] std::string space_with(const std::string& text);

  const TemporaryFolder& folder_;
  FarmRun run_;
  std::string switches_;
  std::unique_ptr<Process> switch_;
};

}  // namespace weir::system_test
