#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <vector>

namespace weir::packet_model {

// Orders the events by time. Events of the same time keep the order in which they were pushed.
template <class Event>
class EventQueue {
 public:
  void push(TimeNs at_ns, const Event& event) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(events_.size());
      events_.push_back(event);
    } else {
      slot = free_.back();
      free_.pop_back();
      events_[slot] = event;
    }
    const Key key{at_ns, order_++, slot};
    std::size_t place = heap_.size();
    heap_.push_back(key);
    while (place > 0 && key.before(heap_[(place - 1) / kChildren])) {
      heap_[place] = heap_[(place - 1) / kChildren];
      place = (place - 1) / kChildren;
    }
    heap_[place] = key;
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] TimeNs next_ns() const { return heap_.front().at_ns; }
  Event pop() {
    const std::uint32_t slot = heap_.front().slot;
    free_.push_back(slot);
    const Key last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return events_[slot];
  }

 private:
  struct Key {
    TimeNs at_ns;
    std::uint32_t order;
    std::uint32_t slot;
    [[nodiscard]] bool before(const Key& other) const {
      return at_ns != other.at_ns ? at_ns < other.at_ns : order < other.order;
    }
  };
  static constexpr std::size_t kChildren = 4;

  void sink(const Key& key) {
    std::size_t place = 0;
    const std::size_t size = heap_.size();
    for (;;) {
      const std::size_t first = place * kChildren + 1;
      if (first >= size) break;
      std::size_t least = first;
      const std::size_t end = first + kChildren < size ? first + kChildren : size;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child].before(heap_[least])) least = child;
      }
      if (!heap_[least].before(key)) break;
      heap_[place] = heap_[least];
      place = least;
    }
    heap_[place] = key;
  }

  std::vector<Key> heap_;
  std::vector<Event> events_;
  std::vector<std::uint32_t> free_;
  std::uint32_t order_ = 0;
};

}  // namespace weir::packet_model
