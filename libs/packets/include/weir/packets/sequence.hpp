#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace weir::packets {

// Which packets of one source have come, from their sequence numbers, and which are missing. One thread.
class Sequence {
 public:
  enum class Arrival : std::uint8_t {
    next,       // in order, or ahead of missing ones
    reordered,  // fills a gap
    stale,      // seen already, or given up
    reset       // too far from the others: the sender has begun again
  };
  static constexpr std::uint32_t kAheadMax = 1U << 20U;   // more is a reset
  static constexpr std::uint32_t kBehindMax = 1U << 16U;  // likewise
  static constexpr std::uint32_t kStartMax = 1024;        // a first packet below this has others before it
  static constexpr std::size_t kGapsMax = 1024;           // beyond, the oldest is given up

  [[nodiscard]] Arrival arrive(std::uint32_t sequence);
  // The packet's place in a count that does not wrap; of the last arrive().
  [[nodiscard]] std::uint64_t place() const { return place_; }
  // All packets before this place are here or given up.
  [[nodiscard]] bool complete_before(std::uint64_t place) const {
    return gaps_.empty() || gaps_.front().from >= place;
  }
  // Gives up what is missing before this place. True: something was, or had been since the last call.
  bool give_up_before(std::uint64_t place);
  // Packets given up.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  struct Gap {
    std::uint64_t from = 0;
    std::uint64_t to = 0;  // behind the last
  };
  void give_up_first();
  [[nodiscard]] bool fill(std::uint64_t place);

  bool begun_ = false;
  std::uint64_t next_ = 0;
  std::uint64_t place_ = 0;
  std::deque<Gap> gaps_;  // ascending
  std::uint64_t lost_ = 0;
  bool lost_untold_ = false;
};

}  // namespace weir::packets
