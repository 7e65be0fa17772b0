#include "weir_catch.hpp"
#include <weir/base/figures.hpp>

namespace weir {
namespace {

TEST_CASE("bytes are written with three digits and a unit of a power of a thousand") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(734) == "734 B");
  CHECK(bytes_text(1234) == "1.23 kB");
  CHECK(bytes_text(12'345'678) == "12.3 MB");
  CHECK(bytes_text(4e15) == "4000 TB");
}

TEST_CASE("times are written in the unit that suits them") {
  CHECK(microseconds_text(850) == "850 us");
  CHECK(microseconds_text(1234) == "1.23 ms");
  CHECK(microseconds_text(2'500'000) == "2.50 s");
}

TEST_CASE("long numbers are grouped in threes") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1 000");
  CHECK(grouped(12'345'678) == "12 345 678");
}

TEST_CASE("nouns follow their count") {
  CHECK(counted(1, "slice") == "1 slice");
  CHECK(counted(0, "slice") == "0 slices");
}

TEST_CASE("a time is written as UTC to the millisecond") {
  CHECK(utc_text(1'700'000'000'123'456'789) == "2023-11-14T22:13:20.123Z");
}

}  // namespace
}  // namespace weir
