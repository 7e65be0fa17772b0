#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/ids.hpp>

#include <cstdint>
#include <iterator>
#include <list>
#include <optional>

namespace weir::burst {

// The layout of records in a circular region of memory or disk. A new record takes the place behind the last
// one: records there are overwritten, except for held ones, which it passes over. At the region's end it
// starts again from the front, once. Pure: the bytes are the caller's.
class Region {
 public:
  struct Extent {
    SliceId slice;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    [[nodiscard]] std::uint64_t end() const { return offset + bytes; }
  };
  using Extents = std::list<Extent>;  // by offset

  explicit Region(std::uint64_t bytes) : bytes_(bytes) {}
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Returns the extent of a new record. Returns nothing, and overwrites nothing, if no gap between held
  // records is long enough. is_held(slice) decides about each record on the way; overwrite(slice) is called
  // after its extent is gone, oldest first. Costs a walk over the records up to the gap.
  template <class IsHeld, class Overwrite>
  [[nodiscard]] std::optional<Extents::iterator> place(SliceId slice, std::uint64_t bytes, IsHeld is_held,
                                                       Overwrite overwrite);
  void remove(Extents::iterator extent) {
    WEIR_ASSERT(extent->bytes <= used_);
    used_ -= extent->bytes;
    if (head_ == extent) ++head_;
    extents_.erase(extent);
  }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] const Extents& extents() const { return extents_; }

 private:
  // The end of the way from the cursor to a long enough gap.
  struct Gap {
    std::uint64_t offset = 0;
    bool wrapped = false;  // the way leads over the region's end
  };
  template <class IsHeld>
  [[nodiscard]] std::optional<Gap> find_gap(std::uint64_t bytes, IsHeld is_held);

  std::uint64_t bytes_;
  Extents extents_;
  Extents::iterator head_ = extents_.end();  // the first one at or behind the cursor
  std::uint64_t cursor_ = 0;
  std::uint64_t used_ = 0;
};

template <class IsHeld>
std::optional<Region::Gap> Region::find_gap(std::uint64_t bytes, IsHeld is_held) {
  Gap gap{cursor_, false};
  Extents::iterator next = head_;
  for (;;) {
    if (gap.offset + bytes > bytes_) {
      if (gap.wrapped || bytes > bytes_) return std::nullopt;
      gap = {0, true};
      next = extents_.begin();
    }
    const std::uint64_t until = gap.offset + bytes;
    while (next != extents_.end() && next->offset < until && !is_held(next->slice)) ++next;
    if (next == extents_.end() || next->offset >= until) return gap;
    gap.offset = next->end();
    ++next;
  }
}

template <class IsHeld, class Overwrite>
std::optional<Region::Extents::iterator> Region::place(SliceId slice, std::uint64_t bytes, IsHeld is_held,
                                                       Overwrite overwrite) {
  const std::optional<Gap> gap = find_gap(bytes, is_held);
  if (!gap) return std::nullopt;
  const auto clear_until = [&](std::uint64_t end) {
    while (head_ != extents_.end() && head_->offset < end) {
      if (is_held(head_->slice)) {
        ++head_;
        continue;
      }
      const SliceId gone = head_->slice;
      WEIR_ASSERT(head_->bytes <= used_);
      used_ -= head_->bytes;
      head_ = extents_.erase(head_);
      overwrite(gone);
    }
  };
  if (gap->wrapped) {
    clear_until(bytes_);
    head_ = extents_.begin();
  }
  cursor_ = gap->offset + bytes;
  clear_until(cursor_);
  const auto extent = extents_.insert(head_, Extent{slice, gap->offset, bytes});
  used_ += bytes;
  return extent;
}

}  // namespace weir::burst
