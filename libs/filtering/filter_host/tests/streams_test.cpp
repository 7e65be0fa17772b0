#include "weir_catch.hpp"
#include <weir/filter_host/streams.hpp>

#include <stdexcept>

using weir::filter_host::StreamTable;

TEST_CASE("default is bit 0, debug is bit 63 and the farm's streams are between") {
  const StreamTable streams({"muons", "debug", "grb"});
  CHECK(streams.bit("default") == 1);
  CHECK(streams.bit("debug") == std::uint64_t{1} << 63U);
  CHECK(streams.bit("muons") == 2);
  CHECK(streams.bit("grb") == 4);
  CHECK(streams.bit("gold") == 0);
  CHECK(streams.mask() == (7 | std::uint64_t{1} << 63U));
  CHECK(streams.names(streams.mask()) == "default,muons,grb,debug");
  CHECK(streams.names(0).empty());
}

TEST_CASE("streams that cannot be told apart are refused") {
  CHECK_THROWS_AS(StreamTable({"a", "a"}), std::runtime_error);
  CHECK_THROWS_AS(StreamTable({""}), std::runtime_error);
}

TEST_CASE("a farm has at most 62 streams of its own") {
  std::vector<std::string> names;
  names.reserve(63);
  for (int i = 0; i < 62; ++i) names.push_back("s" + std::to_string(i));
  CHECK(StreamTable(names).bit("s61") == std::uint64_t{1} << 62U);
  names.emplace_back("one too many");
  CHECK_THROWS_AS(StreamTable(names), std::runtime_error);
}
