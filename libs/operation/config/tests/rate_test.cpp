#include "weir_catch.hpp"
#include <weir/config/rate.hpp>

using namespace weir::config;

TEST_CASE("a rate is read in bits per second, in steps of 1000 as tc does") {
  CHECK(parse_rate("1gbit") == 1'000'000'000);
  CHECK(parse_rate("200mbit") == 200'000'000);
  CHECK(parse_rate("2.5gbit") == 2'500'000'000);
  CHECK(parse_rate("64kbit") == 64'000);
  CHECK(parse_rate("10Gbit") == 10'000'000'000);
  CHECK(parse_rate("9600") == 9600);
  CHECK(parse_rate("unlimited") == 0);
}

TEST_CASE("text that is not a rate is rejected") {
  for (const char* text : {"", "fast", "1gb", "1gbps", "-1mbit", "0", "0.1bit", "1e9", "1gbit x", "inf",
                           "nan", "99999999tbit"}) {
    INFO(text);
    CHECK_FALSE(parse_rate(text).has_value());
  }
}

TEST_CASE("a buffer is read in bytes, in steps of 1024 as tc does") {
  CHECK(parse_buffer("100k") == 102'400);
  CHECK(parse_buffer("100kb") == 102'400);
  CHECK(parse_buffer("100KiB") == 102'400);
  CHECK(parse_buffer("4m") == 4'194'304);
  CHECK(parse_buffer("1g") == 1'073'741'824);
  CHECK(parse_buffer("30000") == 30'000);
}

TEST_CASE("text that is not a buffer size is rejected") {
  for (const char* text : {"", "k", "0", "-1k", "1.5m", "100kbit", "5t", "2000g", "99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(parse_buffer(text).has_value());
  }
}

TEST_CASE("rates and buffers are printed so that they read back the same") {
  for (const std::uint64_t rate : {1ULL, 64'000ULL, 188'300'000ULL, 1'000'000'000ULL, 2'500'000'000ULL}) {
    CHECK(parse_rate(print_rate(rate)) == rate);
  }
  for (const std::uint64_t bytes : {1ULL, 1500ULL, 102'400ULL, 4'194'304ULL}) {
    CHECK(parse_buffer(print_buffer(bytes)) == bytes);
  }
  CHECK(print_rate(0) == "unlimited");
  CHECK(print_rate(1'000'000'000) == "1gbit");
  CHECK(print_rate(2'500'000'000) == "2500mbit");
  CHECK(print_rate(1234) == "1234bit");
  CHECK(print_buffer(102'400) == "100k");
  CHECK(print_buffer(1500) == "1500");
}
