#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace weir::packets {

// Tracks by sequence numbers which packets of one source have arrived, and which are missing. Not
// thread-safe.
class Sequence {
 public:
  enum class Arrival : std::uint8_t {
    next,       // in order, or ahead of missing ones
    reordered,  // fills a gap
    stale,      // arrived before
    given_up,   // missing, and no longer waited for
    far         // too far from the others to belong to them: nothing has changed
  };
  static constexpr std::uint32_t kAheadMax = 1U << 20U;
  static constexpr std::uint32_t kBehindMax = 1U << 16U;
  static constexpr std::uint32_t kStartMax = 1024;  // a first packet below this implies missing earlier ones
  static constexpr std::size_t kGapsMax =
      1024;  // beyond, the oldest is given up; the same limit for those given up

  [[nodiscard]] Arrival arrive(std::uint32_t sequence);
  // Begins a new count with this packet, which has arrived. Gives up the missing packets of the old count.
  // `from_start`: if the number is below kStartMax, packets with lower numbers are missing.
  void restart(std::uint32_t sequence, bool from_start);
  // Returns how far this number is ahead of the next expected one; 0 before the first packet.
  [[nodiscard]] std::int64_t distance(std::uint32_t sequence) const {
    return begun_ ? static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(next_)) : 0;
  }
  // Returns the packet's place in a count that does not wrap, for the last arrive() or restart().
  [[nodiscard]] std::uint64_t place() const { return place_; }
  // Returns whether all packets before this place have arrived or are given up.
  [[nodiscard]] bool complete_before(std::uint64_t place) const {
    return gaps_.empty() || gaps_.front().from >= place;
  }
  // Gives up the packets missing before this place. Returns true if any were given up since the last call.
  bool give_up_before(std::uint64_t place);
  // Notes a loss without a number: the next give_up_before() returns true.
  void note_loss() { lost_untold_ = true; }
  // Returns the number of packets given up.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  struct Gap {
    std::uint64_t from = 0;
    std::uint64_t to = 0;  // exclusive
  };
  void give_up_first();
  [[nodiscard]] bool fill(std::uint64_t place);
  [[nodiscard]] bool was_given_up(std::uint64_t place) const;

  bool begun_ = false;
  std::uint64_t next_ = 0;
  std::uint64_t place_ = 0;
  std::deque<Gap> gaps_;       // ascending
  std::vector<Gap> given_up_;  // likewise
  std::uint64_t lost_ = 0;
  bool lost_untold_ = false;
};

}  // namespace weir::packets
