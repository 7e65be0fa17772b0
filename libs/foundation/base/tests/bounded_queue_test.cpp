#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/base/bounded_queue.hpp>
#include <weir/base/hash.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace weir {

TEST_CASE("a bounded queue returns items in the order in which they were pushed") {
  const std::size_t capacity = GENERATE(as<std::size_t>{}, 1, 2, 3, 7, 8, 100);
  CAPTURE(capacity);
  BoundedQueue<std::uint64_t> queue(capacity);
  std::deque<std::uint64_t> model;
  std::uint64_t random = capacity;
  for (int step = 0; step < 2000; ++step) {
    random = mix64(random);
    if (random % 2 == 0) {
      CHECK(queue.try_push(random) == (model.size() < capacity));
      if (model.size() < capacity) model.push_back(random);
    } else if (!model.empty()) {
      CHECK(queue.front() == model.front());
      CHECK(queue.pop() == model.front());
      model.pop_front();
    }
    CHECK(queue.size() == model.size());
    CHECK(queue.empty() == model.empty());
    CHECK(queue.full() == (model.size() == capacity));
  }
  CHECK(queue.capacity() == capacity);
}

TEST_CASE("a full queue refuses a value without moving it; one with room moves it") {
  int moves = 0;
  struct Counted {
    int* moves = nullptr;
    explicit Counted(int* m = nullptr) : moves(m) {}
    Counted(Counted&& other) noexcept : moves(other.moves) { ++*moves; }
    Counted& operator=(Counted&& other) noexcept {
      moves = other.moves;
      ++*moves;
      return *this;
    }
    ~Counted() = default;
  };
  BoundedQueue<Counted> queue(1);
  CHECK(queue.try_push(Counted(&moves)));
  CHECK(moves == 1);
  CHECK_FALSE(queue.try_push(Counted(&moves)));
  CHECK(moves == 1);
}

TEST_CASE("a queue accepts move-only values") {
  BoundedQueue<std::unique_ptr<int>> queue(3);
  for (int i = 0; i < 3; ++i) CHECK(queue.try_push(std::make_unique<int>(i)));
  for (int i = 0; i < 3; ++i) CHECK(*queue.pop() == i);
}

TEST_CASE("an empty queue has no front to give") {
  const auto broken = [] {
    BoundedQueue<int> queue(1);
    (void)queue.pop();
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: size_ > 0"));
}

}  // namespace weir
