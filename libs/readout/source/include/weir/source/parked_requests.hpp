#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::source {

// A request of a DCM for one fragment. All fields except slice and source are the adapter's, and are returned
// with the answer.
struct RequestedFragment {
  std::uint32_t connection = 0;  // the adapter's number for the requesting connection
  SliceId slice;
  Attempt attempt;
  SourceId source;
  std::uint32_t offset = 0;  // of the requested byte range
  std::uint32_t length = 0;
  std::uint32_t slot = 0;  // the DCM's own number for the slice
  bool operator==(const RequestedFragment&) const = default;
};

// Waiting requests, in lists that the owner keeps per slice. All lists share one bounded pool, so that
// parking does not allocate. A list is first in, first out. Not thread-safe.
class ParkedRequests {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    [[nodiscard]] bool empty() const { return head == kNone; }
  };

  explicit ParkedRequests(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::size_t size() const { return size_; }

  // Returns false, without effect, if the pool is full.
  [[nodiscard]] bool park(List& list, const RequestedFragment& request);

  // Empties the list and calls visit(request) for each request. Requires: `visit` does not park.
  template <class Visit>
  void take(List& list, Visit&& visit) {
    for (std::uint32_t at = list.head; at != kNone;) {
      const std::uint32_t next = nodes_[at].next;
      visit(nodes_[at].request);
      release(at);
      at = next;
    }
    list = {};
  }

  // Drops the requests for which drop(request) is true, and returns their number.
  template <class Drop>
  std::size_t drop_if(List& list, Drop&& drop) {
    std::size_t dropped = 0;
    std::uint32_t previous = kNone;
    for (std::uint32_t at = list.head; at != kNone;) {
      const std::uint32_t next = nodes_[at].next;
      if (drop(nodes_[at].request)) {
        (previous == kNone ? list.head : nodes_[previous].next) = next;
        if (list.tail == at) list.tail = previous;
        release(at);
        ++dropped;
      } else {
        previous = at;
      }
      at = next;
    }
    return dropped;
  }

 private:
  struct Node {
    RequestedFragment request;
    std::uint32_t next = kNone;
  };

  void release(std::uint32_t at) {
    nodes_[at].next = free_;
    free_ = at;
    WEIR_ASSERT(size_ > 0);
    --size_;
  }

  std::size_t capacity_;
  std::size_t size_ = 0;
  std::vector<Node> nodes_;  // grows to the highest number that waited at once
  std::uint32_t free_ = kNone;
};

}  // namespace weir::source
