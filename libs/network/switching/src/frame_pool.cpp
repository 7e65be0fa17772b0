#include <weir/base/assert.hpp>
#include <weir/switching/frame_pool.hpp>

#include <algorithm>
#include <utility>

namespace weir::switching {

FrameId FramePool::add(ConstBytes bytes) {
  WEIR_ASSERT(bytes.size() <= frame_bytes_max_);
  if (spare_.empty()) {
    if (frames_.size() % kFramesPerPiece == 0)
      pieces_.push_back(std::make_unique<std::byte[]>(kFramesPerPiece * frame_bytes_max_));
    spare_.push_back(static_cast<FrameId>(frames_.size()));
    frames_.emplace_back();
  }
  const FrameId id = spare_.back();
  spare_.pop_back();
  frames_[id] = {};
  frames_[id].bytes = static_cast<std::uint32_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), place(id));
  return id;
}

void FramePool::remove(FrameId id) { spare_.push_back(id); }

void FrameChain::push(FramePool& pool, FrameId id) {
  pool[id].next = kNoFrame;
  if (first == kNoFrame) {
    first = id;
  } else {
    pool[last].next = id;
  }
  last = id;
  ++frames;
  bytes += pool[id].bytes;
}

void FrameChain::push_front(FramePool& pool, FrameId id) {
  pool[id].next = first;
  if (first == kNoFrame) last = id;
  first = id;
  ++frames;
  bytes += pool[id].bytes;
}

FrameId FrameChain::pop(FramePool& pool) {
  WEIR_ASSERT(first != kNoFrame);
  const FrameId id = first;
  first = std::exchange(pool[id].next, kNoFrame);
  if (first == kNoFrame) last = kNoFrame;
  --frames;
  bytes -= pool[id].bytes;
  return id;
}

}  // namespace weir::switching
