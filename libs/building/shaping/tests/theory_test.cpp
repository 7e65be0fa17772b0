#include "weir_catch.hpp"
#include <weir/shaping/theory.hpp>

namespace weir::shaping {

TEST_CASE("a gigabit link carries 117.7 MB of a stream in a second") {
  EthernetLink link;
  link.bits_per_s = 1e9;
  CHECK(stream_share(link) == Approx(1448.0 / 1538));
  CHECK(stream_goodput(link, 1, 0) == Approx(117.685e6).epsilon(1e-5));
  link.timestamps = false;
  CHECK(stream_goodput(link, 1, 0) == Approx(118.66e6).epsilon(1e-5));
  CHECK(stream_goodput(link, 64 * 1024, 32) < stream_goodput(link, 1, 0));
  CHECK(stream_goodput(link, 0, 32) == 0);
}

// 200 readouts with 12 fragments of 1 kB at 50 Hz are 102 % of the theoretical goodput at 1 Gb/s (Jereczek
// 2017, section 4.5.1); 12 kB take nine frames.
TEST_CASE("the thesis' formula gives the load of its own example") {
  const double payload = 12 * 1000 + 12 * 56.0;
  const double goodput = thesis_goodput(1e9, payload, 0);
  CHECK(200 * payload * 50 / goodput == Approx(1.07).epsilon(0.05));
  CHECK(thesis_goodput(1e9, 1, 0) < 125e6 / 80);
}

TEST_CASE("the safe window is between the bandwidth-delay product and that plus the buffer") {
  EthernetLink link;
  link.bits_per_s = 1e9;
  const SafeWindow window = safe_window(link, 100 * kMicrosecond, 100e3);
  CHECK(window.least == Approx(12'500 * 1448.0 / 1538));
  CHECK(window.most - window.least == Approx(100e3 * 1448.0 / 1538));
}

TEST_CASE("serialisation is bytes over goodput") {
  CHECK(serialisation(1e6, 1e6) == kSecond);
  CHECK(serialisation(1e6, 0) == 0);
}

}  // namespace weir::shaping
