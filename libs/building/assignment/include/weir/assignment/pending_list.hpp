#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace weir::assignment {

// Slices that wait for a DCM: a double-ended queue of fixed capacity that never allocates after construction.
class PendingList {
 public:
  struct Slice {
    SliceId id;
    SliceOrder order;
  };

  explicit PendingList(std::size_t capacity) {
    std::size_t power = 1;
    while (power < capacity) power *= 2;
    ring_.resize(power);
  }

  void push_back(const Slice& slice) {
    WEIR_ASSERT(size_ < ring_.size());
    ring_[(head_ + size_) & mask()] = slice;
    ++size_;
  }
  void push_front(const Slice& slice) {
    WEIR_ASSERT(size_ < ring_.size());
    head_ = (head_ - 1) & mask();
    ring_[head_] = slice;
    ++size_;
  }
  // Inserts the slice before the later ones among the slices at the front. Costs a walk up to its place.
  void insert(const Slice& slice) {
    push_front(slice);
    for (std::size_t i = 1; i < size_ && at(i).order < slice.order; ++i)
      std::swap(ring_[(head_ + i - 1) & mask()], ring_[(head_ + i) & mask()]);
  }
  Slice pop_front() {
    WEIR_ASSERT(size_ > 0);
    const Slice slice = ring_[head_];
    head_ = (head_ + 1) & mask();
    WEIR_ASSERT(size_ > 0);
    --size_;
    return slice;
  }
  // Costs a walk over the whole list; used after faults.
  void erase(SliceId slice) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const Slice each = ring_[(head_ + i) & mask()];
      if (each.id != slice) ring_[(head_ + kept++) & mask()] = each;
    }
    size_ = kept;
  }
  void clear() { size_ = 0; }
  [[nodiscard]] std::size_t capacity() const { return ring_.size(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  // The i-th slice from the front.
  [[nodiscard]] const Slice& at(std::size_t i) const { return ring_[(head_ + i) & mask()]; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  [[nodiscard]] std::size_t mask() const { return ring_.size() - 1; }

  std::vector<Slice> ring_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weir::assignment
