#include <weir/shaping/readout_choice.hpp>

namespace weir::shaping {

ReadoutChoice::ReadoutChoice(ReadoutOrder order, std::uint32_t first, std::uint32_t readouts)
    : by_load_(order == ReadoutOrder::least_loaded), keys_(readouts), place_(readouts, kOut) {
  heap_.reserve(readouts);
  for (std::uint32_t readout = 0; readout < readouts; ++readout) {
    const std::uint32_t turn = readout >= first ? readout - first : readout + readouts - first;
    keys_[readout].turn = order == ReadoutOrder::in_order ? readout : turn;
  }
}

void ReadoutChoice::set(std::uint32_t readout, const Claim& claim) {
  Key& key = keys_[readout];
  key.slice = claim.slice;
  if (by_load_) {
    key.owed = claim.owed;
    key.taken = UINT64_MAX - claim.left;
  }
  std::size_t place = place_[readout];
  if (place == kOut) {
    place = heap_.size();
    heap_.push_back(readout);
  }
  const bool rises = place > 0 && key < keys_[heap_[(place - 1) / 2]];
  ++steps_;
  return rises ? up(place, readout) : down(place, readout);
}

void ReadoutChoice::remove(std::uint32_t readout) {
  const std::size_t place = place_[readout];
  if (place == kOut) return;
  place_[readout] = kOut;
  const std::uint32_t last = heap_.back();
  heap_.pop_back();
  if (last == readout) return;
  const bool rises = place > 0 && keys_[last] < keys_[heap_[(place - 1) / 2]];
  ++steps_;
  return rises ? up(place, last) : down(place, last);
}

std::optional<std::uint32_t> ReadoutChoice::best() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front();
}

void ReadoutChoice::put(std::size_t place, std::uint32_t readout) {
  heap_[place] = readout;
  place_[readout] = static_cast<std::uint32_t>(place);
}

void ReadoutChoice::up(std::size_t place, std::uint32_t readout) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    ++steps_;
    if (!(keys_[readout] < keys_[heap_[parent]])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, readout);
}

void ReadoutChoice::down(std::size_t place, std::uint32_t readout) {
  for (;;) {
    std::size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    ++steps_;
    if (child + 1 < heap_.size() && keys_[heap_[child + 1]] < keys_[heap_[child]]) ++child;
    if (!(keys_[heap_[child]] < keys_[readout])) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, readout);
}

}  // namespace weir::shaping
