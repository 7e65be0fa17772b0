#include "window.hpp"

#include <algorithm>

namespace weir::shaping {
namespace {

// TCP's payload in an Ethernet frame, with timestamps. Pieces fill whole segments: an odd remainder costs a
// frame of its own, and a TCP probe if it is lost.
constexpr std::uint64_t kSegmentBytes = 1448;
constexpr std::uint64_t kPieceSegmentsMin = 4;
constexpr std::uint64_t kPiecesInWindow = 4;  // fewer: idle at the end of each; more: a frame header for each

}  // namespace

std::uint64_t ByteWindow::share_of_one() const { return accounts_.readouts() > 1 ? window_ / 2 : window_; }

Credit ByteWindow::try_take(const Demand& demand, TimeNs now_ns) {
  const std::uint64_t charge = charge_of(demand);
  if (accounts_.taken() > 0 && accounts_.taken() + charge > window_) return Credit::full;
  const std::uint64_t own = accounts_.of(demand.readout);
  if (own > 0 && own + charge > share_of_one()) return Credit::readout_full;
  take(demand, now_ns);
  return Credit::granted;
}

std::uint64_t ByteWindow::room(std::uint32_t readout) const {
  const std::uint64_t left = window_ - std::min(window_, accounts_.taken());
  const std::uint64_t share = share_of_one();
  return std::min(left, share - std::min(share, accounts_.of(readout)));
}

void ByteWindow::take(const Demand& demand, TimeNs) {
  accounts_.take(demand.readout, demand.fragments, charge_of(demand));
}

void ByteWindow::arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs) {
  accounts_.give_back(readout, bytes);
}

void ByteWindow::answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t bytes, TimeNs) {
  accounts_.give_back(readout, bytes);
  accounts_.answered(readout, fragments);
}

std::uint64_t ByteWindow::piece_bytes() const {
  if (range_bytes_ > 0) return range_bytes_;
  return std::max(kPieceSegmentsMin, window_ / kPiecesInWindow / kSegmentBytes) * kSegmentBytes;
}

}  // namespace weir::shaping
