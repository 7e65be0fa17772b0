#pragma once

#include <weir/filter_host/lane.hpp>

#include <cstddef>
#include <new>

namespace weir::filter_host::test {

// A lane of three slots for slices of two fragments.
struct OneLane {
  OneLane()
      : memory(static_cast<std::byte*>(::operator new (layout.bytes, std::align_val_t{alignof(LaneHeader)}))),
        lane({memory, layout.bytes}, layout) {
    new (memory) LaneHeader;
  }
  OneLane(const OneLane&) = delete;
  OneLane& operator=(const OneLane&) = delete;
  ~OneLane() { ::operator delete (memory, std::align_val_t{alignof(LaneHeader)}); }

  const LaneLayout layout{3, 2, {}};
  std::byte* memory;
  LaneView lane;
};

}  // namespace weir::filter_host::test
