#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::lab {

// What the kernel has counted at a port so far.
struct PortCount {
  std::uint64_t bytes = 0;  // sent: frames without preamble, checksum and gap
  std::uint64_t packets = 0;
  std::uint64_t drops = 0;  // frames that did not fit the buffer
  std::uint64_t backlog_bytes = 0;

  // On the wire.
  [[nodiscard]] std::uint64_t wire_bytes() const { return bytes + kOverheadBytes * packets; }
};

// Frames that this machine's CPUs could not take in so far, of whatever network: those of a lab that is more
// than the machine can carry are among them, and no port counts them.
[[nodiscard]] std::uint64_t machine_drops();

// Reads the counters of a lab's ports, over a netlink socket in each namespace that has some. One reading of
// 50 ports takes below a millisecond.
class Counters {
 public:
  Counters();
  ~Counters();
  Counters(Counters&& other) noexcept;
  Counters& operator=(Counters&& other) noexcept;

  [[nodiscard]] static Expected<Counters, std::string> open(const LabPlan& plan, const Network& network);
  // By port, as in LabPlan::ports. A port that cannot be read keeps its last count.
  [[nodiscard]] const std::vector<PortCount>& read();
  // Frames to each host that were lost on purpose, as of the last read().
  [[nodiscard]] const std::vector<std::uint64_t>& lost() const { return lost_; }

 private:
  struct Reader;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<PortCount> counts_;
  std::vector<std::uint64_t> lost_;
};

}  // namespace weir::lab
