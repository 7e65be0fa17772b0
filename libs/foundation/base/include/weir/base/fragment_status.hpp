#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

namespace weir {

// State of one source's part of a slice. The numbers are part of frames and files: never reuse one.
enum class FragmentStatus : std::uint8_t {
  ok = 0,             // whole, checksum good
  missing = 1,        // requested but not received; a MissingReason says why
  truncated = 2,      // shortened by the source; the remaining bytes are good
  corrupt = 3,        // the checksum was wrong twice; the bytes are kept as received
  suppressed = 4,     // held back by the source on purpose (zero suppression, burst cut-off)
  not_requested = 5,  // not requested by any DCM
  out_of_step = 6,    // its front-end's counter or time does not fit the slice; the bytes are good
};

enum class MissingReason : std::uint8_t {
  none = 0,
  deadline = 1,         // not complete when the slice's deadline passed
  source_down = 2,      // its readout was down for longer than the grace time
  restarted = 3,        // its readout started after the slice was triggered
  not_produced = 4,     // the source's watermark passed the slice without data for it
  dropped = 5,          // made by the source, then dropped
  masked = 6,           // the source is masked
  no_buffer = 7,        // the DCM had no memory for it
  overflow = 8,         // newer slices evicted the slice
  too_large = 9,        // larger than the configured limit
  unknown_source = 10,  // no readout serves it
  gap = 11,             // sent by the front-end, but partly lost on the way to the readout
  removed = 12,         // its readout was removed from the run on purpose: not a flaw of the slice
  too_old = 13          // its time had left the readout's ring when the slice was announced
};
constexpr std::uint8_t kMissingReasons = 14;

// Whether a readout may send a fragment with this status.
[[nodiscard]] constexpr bool is_sent(FragmentStatus status) {
  return status <= FragmentStatus::suppressed || status == FragmentStatus::out_of_step;
}

[[nodiscard]] constexpr std::string_view name(FragmentStatus status) {
  constexpr std::string_view kNames[] = {"ok",         "missing",       "truncated",  "corrupt",
                                         "suppressed", "not_requested", "out_of_step"};
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

[[nodiscard]] constexpr std::string_view name(MissingReason reason) {
  constexpr std::string_view kNames[] = {
      "none",      "deadline", "source_down", "restarted",      "not_produced", "dropped", "masked",
      "no_buffer", "overflow", "too_large",   "unknown_source", "gap",          "removed", "too_old"};
  const auto index = static_cast<std::size_t>(reason);
  return index < kMissingReasons ? kNames[index] : "unknown";
}

}  // namespace weir
