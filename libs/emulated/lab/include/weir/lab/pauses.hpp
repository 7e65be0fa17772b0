#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::lab {

// Repeated pauses of `for_ns`, the first after `every_ns`, then every `every_ns`. Pure.
struct Rhythm {
  DurationNs every_ns = 0;  // 0: never
  DurationNs for_ns = 0;

  [[nodiscard]] bool still(DurationNs elapsed_ns) const;
  // Returns the time until still() changes, a second at most.
  [[nodiscard]] DurationNs until_change_ns(DurationNs elapsed_ns) const;
};

// Returns the rhythm that leaves this share of a core to a process that never waits. Pure.
[[nodiscard]] Rhythm rhythm_of_share(double cpu_share);

struct PauseReport {
  std::string host;
  std::uint64_t pauses = 0;
  double paused_s = 0;
  double held_s = 0;  // stopped for its share of a core
};

// Stops and continues processes, host by host, in its own thread. No process is left stopped: stop() and the
// destructor continue all of them. Signals reach the added process only, never a later one with the same
// number.
class Pauses {
 public:
  Pauses();
  ~Pauses();  // ends the pauses
  Pauses(Pauses&& other) noexcept;
  Pauses& operator=(Pauses&& other) noexcept;

  // Adds a host that is stopped during its pauses, and according to its share of a core. Requires: called
  // before start().
  void add_host(const std::string& name, const Rhythm& pause, const Rhythm& share);
  // Adds a process; ignored if its host was not added.
  void add_process(const std::string& host, pid_t pid);
  // The run began this long ago.
  void start(DurationNs ago_ns);
  // Continues all nodes. May be called again.
  void stop();
  [[nodiscard]] std::vector<PauseReport> reports() const;

 private:
  class Keeper;
  std::unique_ptr<Keeper> keeper_;
};

}  // namespace weir::lab
