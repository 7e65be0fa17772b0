#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <string>

using namespace weir;

namespace {

config::FarmFile read_farm(const std::string& text) {
  auto file = config::read_farm(text, "farm.yaml");
  INFO((file ? "" : config::to_text(file.error())));
  REQUIRE(file.has_value());
  return std::move(*file);
}

config::FarmPlan plan_of(const std::string& text, const config::ReplayReader& replay = {}) {
  auto plan = config::expand(read_farm(text).farm, {}, replay);
  INFO((plan ? "" : config::to_text(plan.error())));
  REQUIRE(plan.has_value());
  return std::move(*plan);
}

std::string plan_refusal(const std::string& text) {
  const config::FarmFile file = read_farm(text);
  const auto plan = config::expand(file.farm, file.locations);
  REQUIRE_FALSE(plan.has_value());
  return config::to_text(plan.error());
}

std::vector<std::uint32_t> numbers(const std::vector<SourceId>& ids) {
  std::vector<std::uint32_t> values;
  for (const SourceId id : ids) values.push_back(id.value);
  return values;
}

using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a farm of counts gets generated names and consecutive sources") {
  const auto plan =
      plan_of("readout: {count: 2, sources_per_readout: 3, first_source: 10}\ndcm: {count: 2}\n");
  std::vector<std::string> names;
  for (const auto& node : plan.nodes) names.push_back(node.name);
  CHECK(names ==
        std::vector<std::string>{"supervisor", "writer-0", "dcm-0", "dcm-1", "readout-0", "readout-1"});
  const auto readouts = plan.of_role(Role::readout);
  CHECK(numbers(readouts[0]->sources) == Numbers{10, 11, 12});
  CHECK(numbers(readouts[1]->sources) == Numbers{13, 14, 15});
  CHECK(readouts[1]->index == NodeIndex(1));
  CHECK(readouts[1]->listen == "127.0.0.1:0");
  CHECK(plan.of_role(Role::dcm)[0]->listen.empty());
  CHECK(plan.sources.size() == 6);
}

TEST_CASE("a detector's modules are divided into blocks that differ by one at most") {
  const auto plan = plan_of(
      "source: {kind: hits}\nhits: {strings: 1, floors_per_string: 2, modules_per_floor: 4}\nreadout: "
      "{count: 3}\n");
  const auto readouts = plan.of_role(Role::readout);
  CHECK(numbers(readouts[0]->sources) == Numbers{1, 2, 3});
  CHECK(numbers(readouts[1]->sources) == Numbers{4, 5, 6});
  CHECK(numbers(readouts[2]->sources) == Numbers{7, 8});
}

TEST_CASE("a farm that replays is rejected by programs that cannot read recordings") {
  const auto plan = config::expand(read_farm("source: {kind: replay}\nreplay: {path: folder}\n").farm);
  REQUIRE_FALSE(plan.has_value());
  CHECK(plan.error().front().key == "replay.path");
  CHECK(plan.error().front().what == "this program does not open recordings");
}

TEST_CASE("recorded sources are shared out in the recording's order") {
  const config::ReplayReader recording = [](const std::string& path) {
    CHECK(path == "folder");
    config::ReplayContents contents;
    for (const std::uint32_t id : {4294967295U, 7U, 806451572U}) contents.sources.emplace_back(id);
    return Expected<config::ReplayContents, std::string>(contents);
  };
  const auto plan =
      plan_of("source: {kind: replay}\nreplay: {path: folder}\nreadout: {count: 2}\n", recording);
  const auto readouts = plan.of_role(Role::readout);
  CHECK(numbers(readouts[0]->sources) == Numbers{4294967295U, 7});
  CHECK(numbers(readouts[1]->sources) == Numbers{806451572});
}

TEST_CASE("listed nodes replace the counts") {
  const auto plan = plan_of(
      "readout:\n  host: ::1\n  count: 7\n  masked: [3]\n  nodes:\n"
      "    - {name: left, sources: [5, 3]}\n    - {name: right, sources: [4, 1], listen: 'daq:4000', masked: "
      "true}\n"
      "dcm: {nodes: [{name: farm-1}]}\nwriter: {count: 0}\n");
  CHECK(plan.of_role(Role::writer).empty());
  CHECK(plan.of_role(Role::dcm)[0]->name == "farm-1");
  const auto readouts = plan.of_role(Role::readout);
  REQUIRE(readouts.size() == 2);
  CHECK(readouts[0]->listen == "[::1]:0");
  CHECK(readouts[1]->listen == "daq:4000");
  CHECK(readouts[1]->masked);
  CHECK(numbers(plan.sources) == Numbers{5, 3, 4, 1});
  CHECK(numbers(plan.masked) == Numbers{1, 3, 4});
}

TEST_CASE("a farm that cannot be laid out is refused with its line") {
  CHECK(plan_refusal("readout:\n  nodes: [{name: a, sources: [1]}, {name: a, sources: [2]}]\n") ==
        "farm.yaml:2: readout.nodes[1].name: another node is called 'a' too");
  CHECK(plan_refusal("dcm:\n  nodes: [{name: supervisor}]\n") ==
        "farm.yaml:2: dcm.nodes[0].name: another node is called 'supervisor' too");
  CHECK(plan_refusal("readout:\n  nodes: [{name: a, sources: [1]}, {name: b, sources: [2, 1]}]\n") ==
        "farm.yaml:2: readout.nodes[1].sources: source 1 belongs to 'a' already");
  CHECK(plan_refusal("source: {kind: hits}\nreadout:\n  count: 16\n") ==
        "farm.yaml:3: readout.count: 16 readouts for 15 sources");
  CHECK(plan_refusal("readout:\n  count: 4096\n  sources_per_readout: 1000000\n") ==
        "farm.yaml:3: readout.sources_per_readout: 4096000000 sources in all are above 1000000");
  CHECK(plan_refusal("readout:\n  first_source: 4294967295\n  count: 2\n") ==
        "farm.yaml:2: readout.first_source: leaves no room for 2 sources below 2^32");
  CHECK(plan_refusal("writer:\n  count: 2\n  listen: 'here:4000'\n") ==
        "farm.yaml:3: writer.listen: one address for 2 writers: leave it empty, or set writer.count=1");
}
