#include "disk_state.hpp"

#include <weir/base/figures.hpp>
#include <weir/base/held_up.hpp>

#include <vector>

namespace weir::writer {
namespace {

constexpr std::size_t kDisturbancesTold = 20;

// "17..20, 23", not more of it than a person reads.
std::string names_of(const std::vector<SliceId>& slices) {
  constexpr std::size_t kRangesMax = 20;
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < slices.size() && slices[i + 1].value == slices[i].value + 1) ++i;
    if (++ranges > kRangesMax) return text + ", ...";
    text += (text.empty() ? ": " : ", ") + std::to_string(slices[first].value);
    if (i > first) text += ".." + std::to_string(slices[i].value);
  }
  return text;
}

}  // namespace

void DiskState::set_blocked(ports::DiskError error, const std::string& detail) {
  if (error == ports::DiskError::changed) note_disturbance(detail);
  error_ = error;
  detail_ = detail;
}

void DiskState::note_disturbance(const std::string& what) {
  if (++disturbances_ > kDisturbancesTold) return;
  disturbances_text_ += (disturbances_text_.empty() ? "" : "; ") + what;
}

slice_rows::HoldReason DiskState::reason() const {
  using enum slice_rows::HoldReason;
  if (!error_) return stalls() ? writer_disk_stalls : writer_buffer;
  switch (*error_) {
    case ports::DiskError::no_space:
      return writer_disk_full;
    case ports::DiskError::not_writable:
      return writer_disk_not_writable;
    case ports::DiskError::changed:
    case ports::DiskError::not_found:
      return writer_disk_gone;
    case ports::DiskError::none:
    case ports::DiskError::exists:
    case ports::DiskError::io:
      break;
  }
  return writer_disk_error;
}

std::string DiskState::text(std::string_view writer) const {
  if (!is_blocked() && !stalls()) return "running";
  const std::string state = held_up_state(Hold::blocked, slice_rows::name(reason()), writer);
  return stalls() ? state + " for " + std::to_string(watch_.stalled() / kSecond) + " s" : state;
}

std::string text_of(const storage::LostCopies& lost) {
  return lost.path + ": " + lost.why + ": " + counted(lost.count, "slice") + " vanished from disk" +
         names_of(lost.slices);
}

}  // namespace weir::writer
