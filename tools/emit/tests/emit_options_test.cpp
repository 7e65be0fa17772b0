#include "emit_options.hpp"

#include "weir_catch.hpp"

#include <filesystem>
#include <fstream>

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::emit;

namespace {

std::string complaint(const EmitOptions& options) {
  try {
    (void)make_plan(options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::string farm_file(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / "weir_emit_options_test.yaml";
  std::ofstream(path) << text;
  return path.string();
}

}  // namespace

TEST_CASE("a slip is a source, a kind and a slice") {
  const auto [source, slip] = parse_slip("3:lag@1000");
  CHECK(source == SourceId(3));
  CHECK(slip.kind == emulation::SlipKind::lag);
  CHECK(slip.at == SliceId(1000));
  for (const char* wrong :
       {"", "3", "3:miss", "3:miss@", ":miss@4", "3:fast@4", "3:none@4", "x:miss@4", "3@4"})
    CHECK_THROWS_WITH(parse_slip(wrong), Catch::Matchers::ContainsSubstring("is not like 3:miss@1000"));
}

TEST_CASE("a list of sources is numbers and ranges, sorted, each once") {
  CHECK(parse_sources("7,1-3,2") == std::vector{SourceId(1), SourceId(2), SourceId(3), SourceId(7)});
  CHECK_THROWS(parse_sources(""));
  CHECK_THROWS(parse_sources("3-1"));
  CHECK_THROWS(parse_sources("1-"));
  CHECK_THROWS(parse_sources("a"));
}

TEST_CASE("a farm file gives the readout and address of each source, and the address for triggers") {
  EmitOptions options;
  options.farm_file = farm_file(
      "farm: emitted\n"
      "run: {number: 9}\n"
      "trigger: {mode: network, listen: \"127.0.0.1:7400\"}\n"
      "source: {kind: udp, size_bytes: 500, parameters: {port: 9000}}\n"
      "readout: {count: 2, sources_per_readout: 2, masked: [3]}\n");
  const EmitPlan plan = make_plan(options);
  REQUIRE(plan.targets.size() == 2);
  CHECK(plan.targets[0].at == ports::Endpoint{"127.0.0.1", 9000});
  CHECK(plan.targets[0].sources == std::vector{SourceId(1), SourceId(2)});
  CHECK(plan.targets[1].at == ports::Endpoint{"127.0.0.1", 9001});
  CHECK(plan.targets[1].sources == std::vector{SourceId(4)});
  REQUIRE(plan.trigger);
  CHECK(plan.trigger->port == 7400);
  CHECK(plan.player.run == RunNumber(9));
  CHECK(plan.targets[0].content.dummy.size_bytes == 500);
  options.trigger = "none";
  CHECK_FALSE(make_plan(options).trigger);
}

TEST_CASE("a missing setting for emit is an error that names it") {
  EmitOptions options;
  CHECK_THAT(complaint(options), ContainsSubstring("name a farm file"));
  options.to = {"127.0.0.1:9"};
  CHECK_THAT(complaint(options), ContainsSubstring("each --to needs its --sources"));
  options.to.clear();
  options.farm_file = farm_file("farm: emitted\n");
  CHECK_THAT(complaint(options), ContainsSubstring("no sources of kind 'udp'"));
  options.farm_file = farm_file("source: {kind: udp}\ntrigger: {mode: network}\n");
  CHECK_THAT(complaint(options), ContainsSubstring("use --trigger"));
}

TEST_CASE("each emitter has a different session number, unless one is given") {
  EmitOptions options;
  options.to = {"127.0.0.1:9000"};
  options.sources = {"1"};
  const std::uint32_t one = make_plan(options).player.session;
  CHECK(one != 0);
  CHECK(one != make_plan(options).player.session);  // except once in 2^32
  options.session = 0;
  CHECK(make_plan(options).player.session == 0);
}
