#include "weir_catch.hpp"
#include <weir/packet_model/packet_link.hpp>

namespace weir::packet_model {

TEST_CASE("packets leave one after the other, at the rate of the line") {
  PacketLink link(8e6, 10);  // a byte in a microsecond
  CHECK(link.enter(1000, 0) == 1 * kMillisecond);
  CHECK(link.enter(500, 100) == 1500 * kMicrosecond);
  CHECK(link.enter(1000, 5 * kMillisecond) == 6 * kMillisecond);
  CHECK(link.drops() == 0);
}

TEST_CASE("a packet that finds the queue full is dropped, and the next one that finds a place is not") {
  PacketLink link(8e6, 2);
  for (int i = 0; i < 3; ++i) CHECK(link.enter(1000, 0).has_value());  // one is sent, two wait
  CHECK(!link.enter(1000, 999 * kMicrosecond));
  CHECK(link.enter(1000, 1 * kMillisecond) == 4 * kMillisecond);
  CHECK(!link.enter(40, 1 * kMillisecond));  // counted in packets, however short
  CHECK(link.drops() == 2);
}

}  // namespace weir::packet_model
