#include "request_schedule.hpp"

#include <weir/base/assert.hpp>

#include <numeric>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;

// Puts requests ahead behind all requests that steps wait for, in the order of a readout's turns.
constexpr std::uint64_t kAheadOrder = std::uint64_t{1} << 63;

}  // namespace

RequestSchedule::RequestSchedule(shaping::ReadoutOrder order, std::uint32_t first, std::uint32_t readouts,
                                 const RequestAccounts& accounts, const SizeEstimates& sizes)
    : accounts_(accounts),
      sizes_(sizes),
      of_(readouts),
      queue_(readouts),
      ahead_queue_(readouts),
      choice_(order, first, readouts),
      down_(readouts) {
  std::iota(down_.begin(), down_.end(), 0U);
}

void RequestSchedule::remove(BuiltSlice& slice) {
  for (std::uint32_t readout = 0; readout < slice.gathering.parts.size(); ++readout) {
    ++steps_;
    if (!slice.gathering.parts[readout].wanted) continue;
    remove(slice, readout);
    touch(readout);
  }
}

void RequestSchedule::remove_all_of(std::uint32_t readout) {
  queue_.remove_all_of(readout);
  ahead_queue_.remove_all_of(readout);
  touch(readout);
}

void RequestSchedule::connected(std::uint32_t readout) {
  of_[readout].up = true;
  std::erase(down_, readout);
  touch(readout);
}

void RequestSchedule::disconnected(std::uint32_t readout) {
  if (std::exchange(of_[readout].up, false)) down_.push_back(readout);
  queue_.look_again(readout);
  ahead_queue_.remove_all_of(readout);
  touch(readout);
}

void RequestSchedule::touch_first(std::uint32_t readout) {
  if (oldest(readout) == nullptr && !choice_.holds(readout)) return;
  of_[readout].touched = true;
  touched_.push_back(readout);
}

void RequestSchedule::begin_round() {
  for (const std::uint32_t readout : std::exchange(full_, {})) {
    of_[readout].full = false;
    touch(readout);
  }
  for (const std::uint32_t readout : touched_) {
    of_[readout].touched = false;
    refresh(readout);
  }
  touched_.clear();
}

BuiltSlice* RequestSchedule::first_unasked(std::uint32_t readout) {
  BuiltSlice* slice = queue_.oldest(readout);
  while (slice != nullptr && slice->gathering.parts[readout].owed_fragments > 0) {
    ++steps_;
    slice = slice->gathering.parts[readout].newer;
  }
  return slice;
}

void RequestSchedule::refresh(std::uint32_t readout) {
  ++steps_;
  const BuiltSlice* first = oldest(readout);
  if (first == nullptr || !of_[readout].up || of_[readout].full) return choice_.remove(readout);
  const std::uint64_t last = first->gathering.ahead ? kAheadOrder : 0;
  choice_.set(readout, {first->gathering.order | last, accounts_.owed(readout),
                        sizes_.bytes_left(first->gathering, readout)});
}

void RequestSchedule::end_turn(std::uint32_t readout) {
  WEIR_ASSERT(!of_[readout].full);
  of_[readout].full = true;
  full_.push_back(readout);
}

}  // namespace weir::dcm
