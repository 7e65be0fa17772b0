#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <string>

using namespace weir;

namespace {

v1::Farm with(const std::string& assignment, v1::Farm farm = {}) {
  const config::Problems problems = config::apply_override(farm, assignment);
  INFO(config::to_text(problems));
  REQUIRE(problems.empty());
  return farm;
}

std::string refusal(const std::string& assignment) {
  v1::Farm farm;
  const std::string before = config::to_yaml(farm);
  const std::string text = config::to_text(config::apply_override(farm, assignment));
  CHECK(config::to_yaml(farm) == before);
  return text;
}

}  // namespace

TEST_CASE("an override sets one key of any kind") {
  CHECK(with("dcm.credits=8").dcm().credits() == 8);
  CHECK(with("farm=other").farm() == "other");
  CHECK(with("dcm.window_bytes=64k").dcm().window_bytes() == 64'000);
  CHECK(with("source.kind=hits").source().kind() == v1::SourceSettings::KIND_HITS);
  CHECK(with("network.congestion_control=").network().congestion_control().empty());
}

TEST_CASE("a text is taken as it was typed") {
  CHECK(with("replay.path=/data/[a]: #1").replay().path() == "/data/[a]: #1");
  CHECK(with("writer.on_close=sh -c 'a=b'").writer().on_close() == "sh -c 'a=b'");
  CHECK(with("run.out=null").run().out() == "null");
}

TEST_CASE("an override that is not UTF-8 is refused, and sets nothing") {
  v1::Farm farm;
  const config::Problems problems = config::apply_override(farm, "run.out=caf\xe9");
  CHECK(config::to_text(problems) == "--set run.out: not UTF-8 text");
  CHECK_FALSE(farm.run().has_out());
  CHECK(with("run.out=caf\xc3\xa9").run().out() == "caf\xc3\xa9");
}

TEST_CASE("a list is replaced as a whole") {
  v1::Farm farm = with("readout.masked=[1,2]");
  REQUIRE(farm.readout().masked_size() == 2);
  CHECK(farm.readout().masked(1) == 2);
  farm = with("readout.masked=[7]", farm);
  REQUIRE(farm.readout().masked_size() == 1);
  CHECK(farm.readout().masked(0) == 7);
  CHECK(with("readout.masked=[]", farm).readout().masked_size() == 0);
  farm = with("readout.nodes=[{name: left, sources: [1]}, {name: right, sources: [2]}]");
  REQUIRE(farm.readout().nodes_size() == 2);
  CHECK(farm.readout().nodes(1).name() == "right");
}

TEST_CASE("a plugin's parameter is set one by one") {
  v1::Farm farm = with("filter.parameters.minimum=5");
  farm = with("filter.parameters.window.ns=20", farm);
  farm = with("filter.parameters.minimum=6", farm);
  CHECK(farm.filter().parameters().size() == 2);
  CHECK(farm.filter().parameters().at("minimum") == "6");
  CHECK(farm.filter().parameters().at("window.ns") == "20");
  CHECK(with("filter.parameters={a: b}", farm).filter().parameters().size() == 1);
}

TEST_CASE("a refused override gives the reason and changes nothing") {
  CHECK(refusal("dcm.credits=0") == "--set dcm.credits: 0 is below 1");
  CHECK(refusal("dcm.credit=8") == "--set dcm.credit: unknown key; did you mean 'dcm.credits'?");
  CHECK(refusal("credits=8") == "--set credits: unknown key; did you mean 'dcm.credits'?");
  CHECK(refusal("dcm.credits") == "--set dcm.credits: write key=value");
  CHECK(refusal("=8") == "--set =8: write key=value");
  CHECK(refusal("dcm={credits: 8}") == "--set dcm: is a section: set one of its keys, as in dcm.count=…");
  CHECK(refusal("dcm.credits.most=8") == "--set dcm.credits.most: 'dcm.credits' has no subkeys");
  CHECK(refusal("readout.masked=5") == "--set readout.masked: expected a list as in [a, b], found '5'");
  CHECK(refusal("readout.masked=[a]") == "--set readout.masked[0]: 'a' is not a whole number");
  CHECK_THAT(refusal("readout.masked=[1"),
             Catch::ContainsSubstring("--set readout.masked: not valid YAML: "));
  CHECK(refusal("readout.nodes=[{sources: [1]}]") == "--set readout.nodes[0].name: missing");
}

TEST_CASE("a key from the command line is named so when it fails beside another key") {
  auto file = config::read_farm("farm: a\ndcm:\n  slices_max: 100\n", "farm.yaml");
  REQUIRE(file.has_value());
  REQUIRE(config::apply_override(file->farm, "dcm.slices_max=8", &file->locations).empty());
  CHECK(config::to_text(config::validate(file->farm, file->locations)) ==
        "--set dcm.slices_max: 8 is below dcm.credits, 64");
}
