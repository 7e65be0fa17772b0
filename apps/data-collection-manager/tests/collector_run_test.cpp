// Requests of several slices to one readout in sequence.
#include "collector_farm.hpp"
#include "weir_catch.hpp"

namespace weir::dcm {
namespace {

constexpr std::uint32_t kRunReadouts = 16;

// Returns the collector's steps for each fragment, with so many slices in flight.
double steps_with(std::size_t in_flight) {
  CollectorFarm farm("none", shaping::ReadoutOrder::least_loaded, kRunReadouts, 0, in_flight);
  farm.pass(0);
  for (int n = 0; n < 3; ++n) farm.pass(farm.unanswered());
  const std::uint64_t before = farm.collector().steps();
  const std::uint64_t received = farm.assembler().counters().received;
  for (int n = 0; n < 20; ++n) farm.pass(farm.unanswered());
  return static_cast<double>(farm.collector().steps() - before) /
         static_cast<double>(farm.assembler().counters().received - received);
}

}  // namespace

TEST_CASE("a readout gets no more of the window than its share while others wait") {
  constexpr std::uint64_t kWindow = 4 * kRunReadouts;  // in fragments
  CollectorFarm farm("fragment-credits", shaping::ReadoutOrder::least_loaded, kRunReadouts, kWindow, 100);
  farm.pass(0);
  for (int n = 0; n < 8; ++n) {
    farm.pass(farm.unanswered());
    std::size_t most = 0;
    for (std::uint32_t readout = 0; readout < kRunReadouts; ++readout)
      most = std::max(most, farm.unanswered_of(readout));
    CHECK(farm.unanswered() == kWindow);
    CHECK(most <= kWindow / kRunReadouts);
  }
}

TEST_CASE("requests of many slices to a readout share the choice of it") {
  CHECK(steps_with(32) < 0.6 * steps_with(1));
}

}  // namespace weir::dcm
