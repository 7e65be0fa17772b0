#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weir::switching {

using FrameId = std::uint32_t;
constexpr FrameId kNoFrame = UINT32_MAX;

// Frames in equal pieces of memory, which is kept once it was used. The caller limits their number.
class FramePool {
 public:
  struct Frame {
    std::uint32_t bytes = 0;
    std::uint32_t input = 0;
    std::uint32_t output = 0;
    FrameId next = kNoFrame;
    bool control = false;  // made by the switch
  };

  explicit FramePool(std::size_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}

  // Requires: not longer than `frame_bytes_max`.
  [[nodiscard]] FrameId add(ConstBytes bytes);
  void remove(FrameId id);
  [[nodiscard]] Frame& operator[](FrameId id) { return frames_[id]; }
  [[nodiscard]] const Frame& operator[](FrameId id) const { return frames_[id]; }
  [[nodiscard]] Bytes bytes(FrameId id) { return {place(id), frames_[id].bytes}; }
  [[nodiscard]] ConstBytes bytes(FrameId id) const { return {place(id), frames_[id].bytes}; }

 private:
  static constexpr std::size_t kFramesPerPiece = 256;
  [[nodiscard]] std::byte* place(FrameId id) const {
    return pieces_[id / kFramesPerPiece].get() + (id % kFramesPerPiece) * frame_bytes_max_;
  }

  std::size_t frame_bytes_max_;
  std::vector<Frame> frames_;
  std::vector<FrameId> spare_;
  std::vector<std::unique_ptr<std::byte[]>> pieces_;
};

// A chain of frames, first in, first out.
struct FrameChain {
  FrameId first = kNoFrame;
  FrameId last = kNoFrame;
  std::uint32_t frames = 0;
  std::uint64_t bytes = 0;

  void push(FramePool& pool, FrameId id);
  void push_front(FramePool& pool, FrameId id);
  // Requires: not empty.
  FrameId pop(FramePool& pool);
};

}  // namespace weir::switching
