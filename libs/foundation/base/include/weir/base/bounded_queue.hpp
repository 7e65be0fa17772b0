#pragma once

#include <weir/base/assert.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace weir {

// A first-in, first-out queue of at most `capacity` entries. A full queue refuses further entries, and the
// caller decides what to do with them. Not thread-safe.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity), ring_(round_up(capacity)) {
    WEIR_ASSERT(capacity > 0);
  }

  // Returns false if the queue is full; `value` is then unchanged.
  [[nodiscard]] bool try_push(T&& value) {
    if (full()) return false;
    ring_[(head_ + size_) & (ring_.size() - 1)] = std::move(value);
    ++size_;
    return true;
  }
  [[nodiscard]] bool try_push(const T& value) {
    if (full()) return false;
    return try_push(T(value));
  }
  T pop() {
    WEIR_ASSERT(size_ > 0);
    T value = std::move(ring_[head_]);
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
    return value;
  }
  [[nodiscard]] T& front() {
    WEIR_ASSERT(size_ > 0);
    return ring_[head_];
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == capacity_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  static std::size_t round_up(std::size_t n) {
    std::size_t power = 1;
    while (power < n) power *= 2;
    return power;
  }

  std::size_t capacity_;
  std::vector<T> ring_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weir
