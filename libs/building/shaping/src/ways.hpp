#pragma once

#include <weir/base/time.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir::shaping {

// Returns whether this shortest response time is that of a long line. A slow port can take as long for the
// bytes sent through it; in that case the line holds little at the port's rate (bytes per ns).
[[nodiscard]] bool is_far(DurationNs time_ns, double rate);

// The paths to the readouts and back. Determines which owed bytes are not in a queue of the DCM's port: those
// on a line longer than the nearest readout's, and those of a silent readout. Pure; not thread-safe. An
// update for one readout has constant cost; measure() and look() visit all of them.
class Ways {
 public:
  explicit Ways(std::uint32_t readouts) : ways_(readouts) {}

  // Sets the bytes that the readout owes. For each request and each pass with arrivals.
  void owes(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) {
    Way& way = ways_[readout];
    if (way.owed == 0 && bytes > 0) way.heard_ns = now_ns;
    way.owed = bytes;
    if ((way.counted | way.on_line) != 0 || way.silent) recount(way);  // hardly ever
  }
  // This many bytes of it arrived; owes() follows.
  void arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns);
  // Returns the longest recent time without a byte from it while it owed some, since the last call. An old
  // gap is unrelated to a loss now.
  [[nodiscard]] DurationNs take_gap(std::uint32_t readout, TimeNs now_ns);
  // A response took this long, with the hosts' time and in the network alone.
  void responded(std::uint32_t readout, DurationNs time_ns, DurationNs network_ns);
  // Its connection is lost, and it may return from elsewhere.
  void lost(std::uint32_t readout);

  // Measures the contents of each line beyond the nearest readout's, and the pace of requests over it.
  // `base_ns`: shortest response time of that one; `rate`: of the port, bytes per ns; `fair`: a rate at which
  // each readout may be asked, as its own TCP starts slowly enough.
  void measure(DurationNs base_ns, double rate, double fair, TimeNs now_ns);
  // Finds silent readouts: they owe bytes and have sent none for long.
  void look(TimeNs now_ns);

  // Returns the owed bytes that are not in a queue of the port; for silent readouts at most `silent_max`,
  // because all of theirs arrive at once when they resume.
  [[nodiscard]] std::uint64_t elsewhere(double silent_max) const {
    if (elsewhere_ == 0) return 0;  // nearly always
    return std::min(elsewhere_, on_lines_ + static_cast<std::uint64_t>(silent_max));
  }
  // Returns whether a readout on a longer line may be asked now. Bytes behind a lost segment arrive all at
  // once; requests for as many at once would fill the port's buffer a round trip later.
  [[nodiscard]] bool may_ask(std::uint32_t readout, TimeNs now_ns) const {
    return now_ns >= ways_[readout].next_ns || ways_[readout].owed == 0;
  }
  // This many bytes are requested from it.
  void asked(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) {
    if (ways_[readout].on_line != 0) delay_next(ways_[readout], bytes, now_ns);  // hardly ever
  }
  // Returns how many bytes may be on all lines longer than the nearest readout's.
  [[nodiscard]] std::uint64_t on_lines() const { return on_lines_; }
  // Returns how many of this readout's owed bytes may be on its line.
  [[nodiscard]] std::uint64_t on_line(std::uint32_t readout) const { return ways_[readout].on_line; }
  [[nodiscard]] std::uint32_t readouts() const { return static_cast<std::uint32_t>(ways_.size()); }

 private:
  struct Way {
    DurationNs base_ns = 0;   // shortest response time, in the network
    DurationNs usual_ns = 0;  // recent response time, hosts included
    std::uint64_t bytes = 0;  // received since since_ns, for its rate
    TimeNs since_ns = 0;
    double rate = 0;            // bytes per ns
    double pace = 0;            // of requests to it, if its line is longer
    TimeNs next_ns = 0;         // time of the next of these
    std::uint64_t on_line = 0;  // bytes on its line beyond the nearest one's
    std::uint64_t owed = 0;
    std::uint64_t counted = 0;  // the part included in elsewhere_
    TimeNs heard_ns = 0;        // time of the last byte, or of the request after it had owed none
    DurationNs gap_ns = 0;      // longest recent silence since take_gap()
    TimeNs gap_until_ns = 0;
    bool silent = false;
  };
  void recount(Way& way);
  static void delay_next(Way& way, std::uint64_t bytes, TimeNs now_ns);

  std::vector<Way> ways_;        // by readout
  std::uint64_t elsewhere_ = 0;  // sum of `counted`
  std::uint64_t on_lines_ = 0;   // sum of `on_line`
};

}  // namespace weir::shaping
