#include "one_lane.hpp"
#include "test_slice.hpp"
#include <weir/filter_host/lane_worker.hpp>

#include <cstdint>
#include <span>
#include <vector>

using namespace weir;
using namespace weir::filter_host;
using namespace weir::filter_host::test;

namespace {

constexpr std::uint64_t kSlices = 3;

int destroyed = 0;

void destroy(void* data) {
  ++destroyed;
  delete static_cast<std::uint64_t*>(data);
}

// A worker whose filter requests every source at step 0, and fails at step 1.
struct Worker {
  Worker() {
    if (auto begun = instance->begin_run({RunNumber(1), 0, {10, 20}}); !begun) FAIL(begun.error().text);
  }
  // Lends one step of each slice, and returns the results.
  std::vector<bool> run_step(std::uint32_t step) {
    for (std::uint64_t token = 0; token < kSlices; ++token) {
      TestSlice slice(100 + token);
      slice.view().step = step;
      slice.add(10, WEIR_FRAGMENT_OK);
      slice.add(20, step == 0 ? WEIR_FRAGMENT_NOT_REQUESTED : WEIR_FRAGMENT_OK);
      write_description(one.lane, submitted++, token, slice.view(), {});
    }
    one.lane.header().submitted.store(submitted);
    while (worker.step() == LaneWorker::Step::done) {
    }
    std::vector<bool> held;
    for (; taken < submitted; ++taken) held.push_back(one.lane.result(taken).holds_state != 0);
    one.lane.header().taken.store(taken);
    return held;
  }

  OneLane one;
  FilterMetrics metrics;
  std::unique_ptr<FilterInstance> instance = *FilterInstance::create(
      load("scripted", WEIR_TEST_PLUGIN_DIR), config_of({{"do", "need_all"}}), metrics);
  LaneWorker worker{one.lane, {}, *instance, metrics, [] { return TimeNs{1}; }};
  std::uint64_t submitted = 0;
  std::uint64_t taken = 0;
};

}  // namespace

TEST_CASE(
    "what a batch remembers through its slices' states is there in their next step, one by one or not") {
  for (const bool again_in_batches : {true, false}) {
    CAPTURE(again_in_batches);
    destroyed = 0;
    Worker at;
    std::vector<std::uint64_t> remembered;
    at.worker.work_in_batches([&](std::span<const weir_filter_slice> slices) {
      REQUIRE(slices.size() == kSlices);
      for (const weir_filter_slice& slice : slices) {
        if (slice.state->data != nullptr) {
          remembered.push_back(*static_cast<std::uint64_t*>(slice.state->data));
        } else {
          *slice.state = {new std::uint64_t(slice.slice), &destroy};
        }
      }
    });
    CHECK(at.run_step(0) == std::vector{true, true, true});
    CHECK(remembered.empty());
    CHECK(destroyed == 0);
    if (!again_in_batches) at.worker.work_in_batches({});
    CHECK(at.run_step(1) == std::vector{false, false, false});
    if (again_in_batches) CHECK(remembered == std::vector<std::uint64_t>{100, 101, 102});
    CHECK(destroyed == 3);
  }
}

TEST_CASE("states of a batch that no step of their slices follows are destroyed with its result") {
  destroyed = 0;
  Worker at;
  at.worker.work_in_batches([&](std::span<const weir_filter_slice> slices) {
    for (const weir_filter_slice& slice : slices) {
      if (slice.state->data == nullptr) *slice.state = {new std::uint64_t(slice.slice), &destroy};
    }
  });
  (void)at.run_step(1);
  CHECK(destroyed == 3);
}
