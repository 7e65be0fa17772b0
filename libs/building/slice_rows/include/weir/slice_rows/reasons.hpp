#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::slice_rows {

// The reason why a node accepts less data, or none, for a while; used in Throttle.reason, in Report.state
// (weir/base/held_up.hpp) and after `throttled_ms.` in the account. Names are for machines and never change
// their meaning; sentence() is for people.
enum class HoldReason : std::uint8_t {
  none,
  readout_buffer_bytes,
  readout_buffer_slices,
  readout_backlog,
  filter_too_slow,
  dcm_buffer_full,
  writer_too_slow,
  writer_buffer,
  writer_disk_full,
  writer_disk_not_writable,
  writer_disk_error,
  writer_disk_stalls,
  slices_pending,
  run_paused,
  supervisor_journal_full,
  group_full,
  writer_disk_gone
};
constexpr std::size_t kReasons = 17;

// "READOUT_BUFFER_BYTES"
[[nodiscard]] std::string_view name(HoldReason reason);
// Returns the meaning and the remedy, without a full stop.
[[nodiscard]] std::string_view sentence(HoldReason reason);
// Returns the sentence of a name; empty if this version has no such reason.
[[nodiscard]] std::string_view sentence_of(std::string_view name);

}  // namespace weir::slice_rows
