#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace weir::packets {

// Tracks by sequence numbers which packets of one source have arrived, and which are missing. Not
// thread-safe.
//
// A number that skips more than kSkipMax others may be damaged. The packet is taken, but its number counts
// only when a packet shortly behind it confirms the jump, or when the count has reached it. Until then no
// packet in between is given up for it. A jump that is not confirmed within kDoubtMax arrivals is forgotten.
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
  static constexpr std::uint64_t kSkipMax = 1;
  static constexpr std::uint64_t kConfirmMax = 64;  // a packet confirms jumps to at most this many before it
  static constexpr std::uint64_t kDoubtMax = 256;
  static constexpr std::size_t kJumpsMax = 16;  // beyond, the oldest unconfirmed jump is forgotten
  static constexpr std::size_t kGapsMax =
      1024;  // beyond, the oldest is given up; the same limit for those given up

  [[nodiscard]] Arrival arrive(std::uint32_t sequence);
  // Begins a new count. Gives up the missing packets of the old one. With `first`, the count begins with this
  // number; otherwise it begins as in a new object: with 0, unless the first packets agree on a number of at
  // least kStartMax.
  void restart(std::optional<std::uint32_t> first);
  // Returns how far this number is ahead of the next expected one; 0 before a first number is certain.
  [[nodiscard]] std::int64_t distance(std::uint32_t sequence) const {
    return begun_ ? static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(next_)) : 0;
  }
  // Returns the packet's place in a count that does not wrap, for the last arrive().
  [[nodiscard]] std::uint64_t place() const { return place_; }
  // Returns whether the count has reached this place, so that a packet's number there is no longer in doubt.
  [[nodiscard]] bool has_reached(std::uint64_t place) const { return begun_ && place < next_; }
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
  static constexpr std::uint64_t kOrigin = std::uint64_t{1}
                                           << 32U;  // keeps places before the first from wrapping
  struct Gap {
    std::uint64_t from = 0;
    std::uint64_t to = 0;  // exclusive
  };
  struct Jump {
    std::uint64_t place = 0;
    std::uint64_t arrival = 0;  // number of the arrival that made it
  };
  [[nodiscard]] Arrival take_jump();
  void confirm_jumps(std::uint64_t from);
  void count_on(std::uint64_t place);
  void give_up_first();
  [[nodiscard]] bool fill(std::uint64_t place);
  [[nodiscard]] bool was_given_up(std::uint64_t place) const;

  bool begun_ = false;  // next_ is certain
  std::uint64_t next_ = kOrigin;
  std::uint64_t place_ = 0;
  std::uint64_t arrivals_ = 0;
  std::vector<Jump> jumps_;    // unconfirmed, ascending, beyond next_
  std::deque<Gap> gaps_;       // ascending
  std::vector<Gap> given_up_;  // likewise
  std::uint64_t lost_ = 0;
  bool lost_untold_ = false;
};

}  // namespace weir::packets
