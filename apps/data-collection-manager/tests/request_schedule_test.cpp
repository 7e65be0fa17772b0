#include "../src/request_schedule.hpp"

#include "weir_catch.hpp"

#include <array>
#include <memory>
#include <optional>

using namespace weir;
using namespace weir::dcm;

namespace {

constexpr std::uint32_t kBoth = 2;
const std::array kTwoSources{assembly::SourceInfo{SourceId(1), 0}, assembly::SourceInfo{SourceId(2), 1}};

struct Slices {
  Slices() {
    for (std::uint32_t readout = 0; readout < kBoth; ++readout) schedule.connected(readout);
  }
  std::unique_ptr<assembly::BuiltSlice> make(std::uint64_t id, bool ahead = false) {
    auto selection = std::make_shared<assembly::Selection>();
    selection->by_readout = {{SourceId(1)}, {SourceId(2)}};
    auto slice = std::make_unique<assembly::BuiltSlice>(id);
    slice->gathering.begin(kBoth, std::move(selection), id);
    slice->gathering.ahead = ahead;
    for (std::uint32_t readout = 0; readout < kBoth; ++readout) schedule.add(*slice, readout);
    return slice;
  }
  void owe(assembly::BuiltSlice& slice, std::uint32_t readout, std::uint64_t bytes) {
    accounts.requested(readout, slice.gathering.parts[readout], bytes, {slice.id(), 0, 1, 0, 0});
    schedule.touch(readout);
  }
  std::optional<std::uint32_t> next() {
    schedule.begin_round();
    return schedule.best();
  }

  RequestAccounts accounts{kBoth, false};
  SizeEstimates sizes{kTwoSources, kBoth};
  RequestSchedule schedule{shaping::ReadoutOrder::least_loaded, 0, kBoth, accounts, sizes};
};

}  // namespace

TEST_CASE("the oldest slice is served first, by the readout that owes least") {
  Slices of;
  const auto newer = of.make(2);
  const auto older = of.make(1);
  of.owe(*older, 0, 100);
  CHECK(of.next() == 1);
  CHECK(of.schedule.oldest(1) == older.get());
  of.schedule.remove(*older);
  CHECK(of.next() == 1);
  CHECK(of.schedule.oldest(1) == newer.get());
}

TEST_CASE("requests ahead of a step come after those of all steps") {
  Slices of;
  const auto ahead = of.make(1, true);
  CHECK(of.schedule.is_empty());
  const auto step = of.make(2);
  CHECK(of.schedule.oldest(0) == step.get());
  of.schedule.remove(*step, 0);
  of.schedule.touch(0);
  CHECK(of.next() == 1);  // the step's, although the other slice is older
  of.schedule.remove(*step);
  CHECK(of.schedule.oldest(1) == ahead.get());
  CHECK(of.schedule.is_empty());
}

TEST_CASE("a readout without a connection, or without room, gets no request") {
  Slices of;
  const auto slice = of.make(1);
  CHECK(of.next() == 0);
  of.schedule.end_turn(0);
  of.schedule.refresh(0);
  CHECK(of.schedule.best() == 1);
  of.schedule.disconnected(1);
  CHECK(of.next() == 0);  // another round
  of.schedule.disconnected(0);
  CHECK(of.next() == std::nullopt);
  CHECK_FALSE(of.schedule.is_empty());
  of.schedule.connected(1);
  CHECK(of.next() == 1);
}

TEST_CASE("slices held up by a readout without a connection are visited once for each connection") {
  Slices of;
  of.schedule.disconnected(1);
  const auto first = of.make(1);
  const auto second = of.make(2);
  const auto visited = [&](std::uint64_t order) {
    std::size_t count = 0;
    of.schedule.visit_held_up(order, [&](assembly::BuiltSlice&) { ++count; });
    return count;
  };
  CHECK(visited(2) == 1);
  CHECK(visited(UINT64_MAX) == 1);
  CHECK(visited(UINT64_MAX) == 0);
  of.schedule.connected(1);
  of.schedule.disconnected(1);
  CHECK(visited(UINT64_MAX) == 2);
  of.schedule.remove_all_of(1);
  CHECK(of.schedule.oldest(1) == nullptr);
}

TEST_CASE("the first slice that a readout owes nothing is found behind those that it owes") {
  Slices of;
  const auto first = of.make(1);
  const auto second = of.make(2);
  of.owe(*first, 0, 100);
  CHECK(of.schedule.first_unasked(0) == second.get());
  CHECK(of.schedule.first_unasked(1) == first.get());
  of.owe(*second, 0, 100);
  CHECK(of.schedule.first_unasked(0) == nullptr);
}
