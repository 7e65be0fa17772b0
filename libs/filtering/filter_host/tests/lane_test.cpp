#include "one_lane.hpp"
#include "weir_catch.hpp"
#include <weir/filter_host/lane.hpp>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::filter_host;
using weir::filter_host::test::OneLane;

TEST_CASE("a lane carries forwarded bytes behind the trigger's payload, each in its slot") {
  OneLane one;
  const std::string payload(LaneLayout::kPayloadMax, 'p');
  const std::string forwarded(WEIR_FORWARD_BYTES_MAX, 'f');
  for (std::uint64_t n = 0; n < 3; ++n) {
    weir_filter_slice slice = empty_slice();
    slice.slice = n;
    slice.trigger_payload = payload.data();
    slice.trigger_payload_size = static_cast<std::uint32_t>(payload.size());
    slice.forwarded = forwarded.data();
    slice.forwarded_size = static_cast<std::uint32_t>(forwarded.size() - n);
    write_description(one.lane, n, n, slice, {});
  }
  for (std::uint64_t n = 0; n < 3; ++n) {
    const weir_filter_slice slice = read_description(one.lane, n, {});
    CHECK(slice.slice == n);
    CHECK(std::string(static_cast<const char*>(slice.trigger_payload), slice.trigger_payload_size) ==
          payload);
    CHECK(std::string(static_cast<const char*>(slice.forwarded), slice.forwarded_size) ==
          forwarded.substr(n));
  }
}

TEST_CASE("a lane carries a forward: group and bytes") {
  OneLane one;
  FilterResult result;
  result.token = 7;
  result.verdict = StepVerdict::forward;
  result.forward_group = 3;
  result.filter_result.assign(100, std::byte(9));
  write_result(one.lane, 0, result, true, one.lane.place_for(result_bytes(result)));
  FilterResult read;
  TakenResult taken;
  REQUIRE(read_result(one.lane, 0, 7, empty_slice(), {}, 1, read, taken));
  CHECK(read.verdict == StepVerdict::forward);
  CHECK(read.forward_group == 3);
  CHECK(read.filter_result == result.filter_result);
  result.filter_result.resize(WEIR_FORWARD_BYTES_MAX + 1);
  write_result(one.lane, 0, result, true, one.lane.place_for(result_bytes(result)));
  CHECK_FALSE(read_result(one.lane, 0, 7, empty_slice(), {}, 1, read, taken));
}

TEST_CASE("a lane carries histogram entries, and refuses ones of cells that the worker has not booked") {
  OneLane one;
  FilterResult result;
  result.token = 7;
  result.verdict = StepVerdict::reject;
  result.fills = {{0, 0, 1}, {9, 0, 2.5}};
  const auto carried = [&](std::uint32_t cells) {
    write_result(one.lane, 0, result, false, one.lane.place_for(result_bytes(result)));
    FilterResult read;
    TakenResult taken;
    if (!read_result(one.lane, 0, 7, empty_slice(), {}, 1, read, taken, cells)) return false;
    REQUIRE(read.fills.size() == result.fills.size());
    CHECK(read.fills.back().amount == result.fills.back().amount);
    return true;
  };
  CHECK(carried(10));
  CHECK_FALSE(carried(9));
  CHECK_FALSE(carried(0));
  result.fills.back().amount = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(carried(10));
  // One per cell is as many as there can be.
  result.fills.assign(histograms::kCellsMax, {3, 0, 1});
  CHECK(carried(10));
  result.fills.push_back({3, 0, 1});
  CHECK_FALSE(carried(10));
}

TEST_CASE("a lane carries a filter's burst alert, and refuses one with an impossible window or reason") {
  OneLane one;
  FilterResult result;
  result.token = 7;
  result.verdict = StepVerdict::reject;
  result.alert = AlertRequest{-2000, 30000, "many hits"};
  FilterResult read;
  TakenResult taken;
  const auto carried = [&] {
    write_result(one.lane, 0, result, false, one.lane.place_for(result_bytes(result)));
    return read_result(one.lane, 0, 7, empty_slice(), {}, 1, read, taken);
  };
  REQUIRE(carried());
  REQUIRE(read.alert);
  CHECK(read.alert->before_ms == -2000);
  CHECK(read.alert->after_ms == 30000);
  CHECK(read.alert->reason == "many hits");
  result.alert->reason = std::string(AlertRequest::kReasonMax, 'x');
  CHECK(carried());
  result.alert->reason += 'x';
  CHECK_FALSE(carried());
  result.alert->reason = "a\nline";
  CHECK_FALSE(carried());
  result.alert = AlertRequest{0, AlertRequest::kWindowMsMax + 1, ""};
  CHECK_FALSE(carried());
  result.alert.reset();
  REQUIRE(carried());
  CHECK_FALSE(read.alert);
}
