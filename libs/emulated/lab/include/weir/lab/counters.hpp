#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::lab {

// The counts at a port: the kernel's, or of a switch in user space.
struct PortCount {
  std::uint64_t bytes = 0;  // sent: frames without preamble, checksum and gap
  std::uint64_t packets = 0;
  std::uint64_t drops = 0;  // frames that did not fit into the buffer
  std::uint64_t backlog_bytes = 0;
  // With back-pressure: how often a stream of the port was held back, and the time in which one was.
  std::uint64_t pauses = 0;
  std::int64_t paused_ns = 0;

  // Returns the bytes on the wire.
  [[nodiscard]] std::uint64_t wire_bytes() const { return bytes + kOverheadBytes * packets; }
};

// Adds to each port's counts those of another place.
void add_counts(std::vector<PortCount>& counts, const std::vector<PortCount>& more);

// Returns how many frames this machine's CPUs have dropped so far, in any network. Frames of a lab that
// overloads the machine are among them, and no port counts those.
[[nodiscard]] std::uint64_t machine_drops();

// Reads the counters of a lab's ports, over a netlink socket per namespace with ports. Reading 50 ports takes
// less than a millisecond.
class PortCounters {
 public:
  PortCounters();
  ~PortCounters();
  PortCounters(PortCounters&& other) noexcept;
  PortCounters& operator=(PortCounters&& other) noexcept;

  [[nodiscard]] static Expected<PortCounters, std::string> open(const LabPlan& plan,
                                                                const LabNetwork& network);
  // Returns the counts by port, as in LabPlan::ports. A port that cannot be read keeps its last count. Those
  // of a fabric are 0, and a software switch's queues are missing: Relay::port_counter() has them.
  [[nodiscard]] const std::vector<PortCount>& read();
  // Returns the frames to each host that were dropped on purpose, as of the last read().
  [[nodiscard]] const std::vector<std::uint64_t>& lost() const { return lost_; }

 private:
  struct Reader;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<PortCount> counts_;
  std::vector<std::uint64_t> lost_;
};

}  // namespace weir::lab
