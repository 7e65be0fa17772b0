#pragma once

#include <weir/base/hash.hpp>
#include <weir/base/time.hpp>
#include <weir/emulation/slip.hpp>

#include <cstdint>
#include <optional>

namespace weir::sim {

enum class FrontEnds : std::uint8_t {
  none,     // the farm's sources make their fragments
  dummies,  // likewise; one of them slips
  trigger,  // receive each slice's number, and send counters and times of their own
  number,   // count events themselves
  time      // have clocks
};
enum class SlipPolicy : std::uint8_t { mark, mask, realign };

// Front-ends of a simulated farm, and their data: functions of the seed, so that a check knows
// them afterwards. Events are numbered from 0; event e is the slice e of farms by number and by trigger, and
// piece e of a source in farms by time.
struct FrontEndPlan {
  static constexpr UtcNs kBegin = 1'700'000'100 * kSecond;  // UTC of event 0 of farms by number
  static constexpr DurationNs kProgressLag = 2 * kMillisecond;

  FrontEnds kind = FrontEnds::none;
  std::uint64_t seed = 0;
  DurationNs period_ns = 0;  // between events
  DurationNs delay_max_ns = 0;
  std::uint32_t lost_permille = 0;
  std::uint32_t late_permille = 0;  // of the events; they arrive `late_ns` later
  DurationNs late_ns = 0;
  std::uint32_t counter_bits = 64;
  bool counters = false;  // by trigger: compared
  DurationNs tolerance_ns = 0;
  DurationNs skew_ns = 0;     // by number
  std::uint32_t slipped = 0;  // a source; 0: none
  emulation::SlipKind slip = emulation::SlipKind::none;
  std::uint64_t slips_at = 0;  // its first event that is wrong
  std::uint64_t jump = 16;
  SlipPolicy policy = SlipPolicy::mark;
  std::uint32_t late_source = 0;  // sends nothing before event `joins_at`
  std::uint64_t joins_at = 0;
  std::uint32_t shifted_source = 0;  // its counter and clock have offsets, which the farm file corrects
  std::int64_t counter_offset = 0;
  DurationNs clock_offset_ns = 0;
  bool long_pieces = false;
  // By number: each event is sent in time by all, or by all but one that joins too late. No fault hits a
  // readout. Without a late one, data may arrive in another order.
  bool tidy = false;

  // Without losses, late data, slips and late joins every fragment has to arrive.
  [[nodiscard]] bool is_calm() const {
    return lost_permille == 0 && late_permille == 0 && slipped == 0 && late_source == 0;
  }
  [[nodiscard]] std::uint64_t draw(std::uint64_t tag, std::uint32_t source, std::uint64_t event) const {
    return mix64(seed ^ mix64(tag ^ mix64((std::uint64_t{source} << 40U) ^ event)));
  }
  // Returns the time of an event after event 0's. Ascends with the event.
  [[nodiscard]] DurationNs moment(std::uint32_t source, std::uint64_t event) const {
    const auto spread = static_cast<std::uint64_t>(period_ns / 4);
    return static_cast<DurationNs>(event) * period_ns +
           static_cast<DurationNs>(draw(1, source, event) % spread);
  }
  [[nodiscard]] bool is_lost(std::uint32_t source, std::uint64_t event) const {
    return (source == late_source && event < joins_at) || draw(2, source, event) % 1000 < lost_permille;
  }
  [[nodiscard]] bool is_late(std::uint32_t source, std::uint64_t event) const {
    return draw(3, source, event) % 1000 < late_permille;
  }
  [[nodiscard]] DurationNs delay(std::uint32_t source, std::uint64_t event) const {
    const auto usual =
        static_cast<DurationNs>(draw(4, source, event) % static_cast<std::uint64_t>(delay_max_ns + 1));
    return usual + (is_late(source, event) ? late_ns : 0);
  }
  [[nodiscard]] bool slips(std::uint32_t source, std::uint64_t event) const {
    return slipped != 0 && source == slipped && event >= slips_at;
  }
  // Returns the number that the source gives to an event; nothing: it misses the event.
  [[nodiscard]] std::optional<std::uint64_t> number(std::uint32_t source, std::uint64_t event) const {
    if (!slips(source, event)) return event;
    switch (slip) {
      case emulation::SlipKind::miss:
        if (event == slips_at && kind == FrontEnds::number) return std::nullopt;
        return event - 1;
      case emulation::SlipKind::twice:
        return event + 1;
      case emulation::SlipKind::restart:
        return event - slips_at;
      case emulation::SlipKind::jump:
        return event + jump;
      default:
        return event;
    }
  }
  [[nodiscard]] std::uint64_t counter_of(std::uint32_t source, std::uint64_t number) const {
    const std::uint64_t shifted =
        source == shifted_source ? number - static_cast<std::uint64_t>(counter_offset) : number;
    return counter_bits >= 64 ? shifted : shifted & ((1ULL << counter_bits) - 1);
  }
  // Returns how much later than an event its source's time is, where times are compared.
  [[nodiscard]] DurationNs noise(std::uint32_t source, std::uint64_t event) const {
    return static_cast<DurationNs>(draw(7, source, event) % static_cast<std::uint64_t>(tolerance_ns / 4 + 1));
  }
  // By time: length of a piece; 0: a moment.
  [[nodiscard]] DurationNs length(std::uint32_t source, std::uint64_t event) const {
    if (!long_pieces || draw(5, source, event) % 4 != 0) return 0;
    return static_cast<DurationNs>(draw(6, source, event) % static_cast<std::uint64_t>(3 * period_ns));
  }
};

}  // namespace weir::sim
