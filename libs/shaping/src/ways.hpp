#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <vector>

namespace weir::shaping {

// Whether a shortest response time of so long is a long line's. A slow port takes as long for what is sent
// through it: then the line holds little at the port's rate (bytes per ns).
[[nodiscard]] bool is_far(DurationNs time_ns, double rate);

// The ways to the readouts and back, and which of the bytes that they owe are in no queue of the collector's
// port: what is on a line that is longer than the nearest readout's, and what a silent readout holds. Pure;
// one thread. An update for one readout costs the same however many there are; measure() and look() go
// through all of them.
class Ways {
 public:
  explicit Ways(std::uint32_t readouts) : ways_(readouts) {}

  // The readout owes this many bytes from now on.
  void owes(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns);
  // So many bytes came of it; owes() follows.
  void arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns);
  // The longest time without a byte of it, while it owed some, since this was asked last; of late: one that
  // is over for long has nothing to do with what is lost now.
  [[nodiscard]] DurationNs take_gap(std::uint32_t readout, TimeNs now_ns);
  // A response took so long, the hosts included, and so long in the network alone.
  void responded(std::uint32_t readout, DurationNs time_ns, DurationNs network_ns);
  // Its connection is gone, and it may come back from elsewhere.
  void lost(std::uint32_t readout);

  // What each line holds beyond the nearest readout's, whose shortest response time is base_ns.
  void measure(DurationNs base_ns, double rate, TimeNs now_ns);
  // A readout that owes bytes and has sent none for long is silent.
  void look(TimeNs now_ns);

  // Bytes that are owed and in no queue of the port; of those that silent readouts hold, `silent_max` at
  // most: when they wake up, all of them come at once.
  [[nodiscard]] std::uint64_t elsewhere(std::uint64_t silent_max) const;
  // Of what this readout owes, as much may be on its line.
  [[nodiscard]] std::uint64_t on_line(std::uint32_t readout) const { return ways_[readout].on_line; }
  [[nodiscard]] std::uint32_t readouts() const { return static_cast<std::uint32_t>(ways_.size()); }

 private:
  struct Way {
    DurationNs base_ns = 0;   // shortest response time, in the network
    DurationNs usual_ns = 0;  // response time of late, hosts included
    std::uint64_t bytes = 0;  // that came since since_ns, for its rate
    TimeNs since_ns = 0;
    double rate = 0;            // bytes per ns
    std::uint64_t on_line = 0;  // bytes that its line holds beyond the nearest one's
    std::uint64_t owed = 0;
    std::uint64_t counted = 0;  // of these, in elsewhere_
    TimeNs heard_ns = 0;        // last byte; or when it was asked after it had owed nothing
    DurationNs gap_ns = 0;      // longest silence since take_gap(), of late
    TimeNs gap_until_ns = 0;
    bool silent = false;
  };
  void recount(Way& way);

  std::vector<Way> ways_;        // by readout
  std::uint64_t elsewhere_ = 0;  // sum of what is counted
  std::uint64_t on_lines_ = 0;   // sum of what the lines hold
};

}  // namespace weir::shaping
