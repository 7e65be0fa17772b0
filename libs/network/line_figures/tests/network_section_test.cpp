#include "weir_catch.hpp"
#include <weir/line_figures/network_section.hpp>

namespace weir::line_figures {
namespace {

TEST_CASE("a measured line is a network section with the farm file's units") {
  CHECK(network_yaml({199.84e6, false, 99'924.0, false, 112.4}) ==
        "network:\n  port_rate: 199.8mbit\n  port_buffer: 98k   # 99924 bytes: a k is 1024\n  round_trip_us: "
        "112\n");
}

TEST_CASE("bounds, and queues of the sender itself, are comments") {
  const std::string text = network_yaml({9.7e9, true, 150'000.0, true, 0.2});
  CHECK_THAT(text, Catch::ContainsSubstring("  # port_rate: 9.7gbit   at least") &&
                       Catch::ContainsSubstring("  # port_buffer: 146k   the sender's own") &&
                       Catch::ContainsSubstring("  round_trip_us: 1\n"));
  CHECK(network_yaml({}) == "network:\n");
}

TEST_CASE("rates keep four digits, and buffers whole bytes or kilobytes") {
  CHECK(rate_text(1e9) == "1gbit");
  CHECK(rate_text(94.123e6) == "94.12mbit");
  CHECK(rate_text(999.96e6) == "1000mbit");
  CHECK(rate_text(1234.5) == "1.234kbit");
  CHECK(rate_text(100) == "100bit");
  CHECK(buffer_text(1514 * 5) == "7570");
  CHECK(buffer_text(20 * 1024) == "20k");
}

}  // namespace
}  // namespace weir::line_figures
