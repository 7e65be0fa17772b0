#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::lab {

// Standing still again and again: `for_ns` long, first after `every_ns`, then every `every_ns`. Pure.
struct Rhythm {
  DurationNs every_ns = 0;  // 0: never
  DurationNs for_ns = 0;

  [[nodiscard]] bool still(DurationNs elapsed_ns) const;
  // How long until still() changes; a second at most.
  [[nodiscard]] DurationNs until_change_ns(DurationNs elapsed_ns) const;
};

// The rhythm that leaves so much of a core to a process that never waits. Pure.
[[nodiscard]] Rhythm rhythm_of_share(double cpu_share);

struct PauseReport {
  std::string host;
  std::uint64_t pauses = 0;
  double paused_s = 0;
  double held_s = 0;  // for the rhythm of its share
};

// Stops and continues processes, host by host, in a thread of this process. A stopped process is never left
// behind: stop() and the destructor continue all. Signals go to the process that was added and to no other
// that has its number later.
class Pauses {
 public:
  Pauses();
  ~Pauses();  // ends it
  Pauses(Pauses&& other) noexcept;
  Pauses& operator=(Pauses&& other) noexcept;

  // A host that stands still whenever one of the rhythms says so: that of its pauses, or of its share of a
  // core. Before start().
  void add_host(const std::string& name, const Rhythm& pause, const Rhythm& share);
  // Of a host that was not added nothing is kept.
  void add_process(const std::string& host, pid_t pid);
  // The run began so long ago.
  void start(DurationNs ago_ns);
  // All nodes go on. May be called again.
  void stop();
  [[nodiscard]] std::vector<PauseReport> reports() const;

 private:
  class Keeper;
  std::unique_ptr<Keeper> keeper_;
};

}  // namespace weir::lab
