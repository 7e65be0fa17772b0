#pragma once

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

  // Returns the extent of a new record, or nothing if no gap is long enough. is_held(slice) decides about
  // each record on the way; overwrite(slice) is called after its extent is gone, oldest first.
  template <class IsHeld, class Overwrite>
  [[nodiscard]] std::optional<Extents::iterator> place(SliceId slice, std::uint64_t bytes, IsHeld is_held,
                                                       Overwrite overwrite);
  void remove(Extents::iterator extent) {
    used_ -= extent->bytes;
    if (head_ == extent) ++head_;
    extents_.erase(extent);
  }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] const Extents& extents() const { return extents_; }

 private:
  std::uint64_t bytes_;
  Extents extents_;
  Extents::iterator head_ = extents_.end();  // the first one at or behind the cursor
  std::uint64_t cursor_ = 0;
  std::uint64_t used_ = 0;
};

template <class IsHeld, class Overwrite>
std::optional<Region::Extents::iterator> Region::place(SliceId slice, std::uint64_t bytes, IsHeld is_held,
                                                       Overwrite overwrite) {
  if (bytes > bytes_) return std::nullopt;
  bool wrapped = false;
  for (;;) {
    const bool at_end = cursor_ + bytes > bytes_;
    if (at_end && wrapped) return std::nullopt;
    const std::uint64_t until = at_end ? bytes_ : cursor_ + bytes;
    bool blocked = false;
    while (!blocked && head_ != extents_.end() && head_->offset < until) {
      if (is_held(head_->slice)) {
        blocked = !at_end;
        if (blocked) cursor_ = head_->end();
        ++head_;
      } else {
        const SliceId gone = head_->slice;
        used_ -= head_->bytes;
        head_ = extents_.erase(head_);
        overwrite(gone);
      }
    }
    if (at_end) {
      wrapped = true;
      cursor_ = 0;
      head_ = extents_.begin();
    } else if (!blocked) {
      const auto extent = extents_.insert(head_, Extent{slice, cursor_, bytes});
      used_ += bytes;
      cursor_ = until;
      return extent;
    }
  }
}

}  // namespace weir::burst
