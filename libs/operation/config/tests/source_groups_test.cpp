// Named sets of sources, from the farm file.
#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/source_groups.hpp>

#include <string>

using namespace weir;
using namespace weir::config;

namespace {

constexpr const char* kReadouts = "readout: {count: 3, sources_per_readout: 4, masked: [5]}\n";

FarmFile read_groups(const std::string& text) {
  auto file = config::read_farm(kReadouts + text, "farm.yaml");
  REQUIRE(file.has_value());
  return std::move(*file);
}

std::string group_errors(const std::string& text) {
  const FarmFile file = read_groups(text);
  std::string all;
  for (const Problem& problem : validate(file.farm, file.locations)) {
    if (problem.severity == Severity::error) all += (all.empty() ? "" : "\n") + problem.text();
  }
  return all;
}

std::vector<std::uint32_t> members(const FarmFile& file, const std::string& name) {
  const auto plan = expand(file.farm, file.locations);
  REQUIRE(plan.has_value());
  const auto groups = source_groups(file.farm, *plan, file.locations);
  REQUIRE(groups.has_value());
  std::vector<std::uint32_t> numbers;
  for (const SourceId source : sources_of(*groups, name)) numbers.push_back(source.value);
  return numbers;
}

}  // namespace

TEST_CASE(
    "a source group is the union of numbers, ranges, readouts and earlier groups, without masked ones") {
  const FarmFile file = read_groups(
      "source:\n  groups:\n"
      "    - {name: calo, sources: [1], ranges: ['3-5', '7']}\n"
      "    - {name: muon, readouts: [readout-2]}\n"
      "    - {name: region, groups: [calo, muon], sources: [2]}\n");
  CHECK(members(file, "calo") == std::vector<std::uint32_t>{1, 3, 4, 7});
  CHECK(members(file, "muon") == std::vector<std::uint32_t>{9, 10, 11, 12});
  CHECK(members(file, "region") == std::vector<std::uint32_t>{1, 2, 3, 4, 7, 9, 10, 11, 12});
}

TEST_CASE("a source group names only existing sources, readouts and groups") {
  const auto group = [](const std::string& keys) {
    return group_errors("source:\n  groups:\n    - {name: calo, " + keys + "}\n");
  };
  CHECK(group("sources: [13]") == "farm.yaml:4: source.groups[0].sources[0]: the farm has no source 13");
  CHECK(group("ranges: ['20-30']") ==
        "farm.yaml:4: source.groups[0].ranges[0]: the farm has no source in '20-30'");
  CHECK(group("ranges: ['8..15']") ==
        "farm.yaml:4: source.groups[0].ranges[0]: '8..15' is not a range of source numbers: write first and "
        "last, as 8-15");
  CHECK(group("readouts: [readout-9]") ==
        "farm.yaml:4: source.groups[0].readouts[0]: the farm has no readout 'readout-9'; did you mean "
        "'readout-0'?");
  CHECK(group("groups: [calo]") ==
        "farm.yaml:4: source.groups[0].groups[0]: no earlier source group is called 'calo'");
  CHECK(
      group_errors("source:\n  groups:\n    - {name: calo}\n") ==
      "farm.yaml:4: source.groups[0].name: source group 'calo' has no source: give sources, ranges, readouts "
      "or groups");
  CHECK(group_errors("source:\n  groups:\n    - {name: a, sources: [1]}\n    - {name: a, sources: [2]}\n") ==
        "farm.yaml:5: source.groups[1].name: source group 'a' is defined already");
}

TEST_CASE("keys that name an unknown source group are refused, and the nearest name is suggested") {
  const std::string groups = "source:\n  groups:\n    - {name: muon, sources: [1]}\n";
  CHECK(group_errors(groups + "filter: {first_groups: [muons]}\n") ==
        "farm.yaml:5: filter.first_groups[0]: source.groups has no group 'muons'; did you mean 'muon'?");
  CHECK(group_errors(groups + "filter: {steps: [{prefetch: [moun]}]}\n") ==
        "farm.yaml:5: filter.steps[0].prefetch[0]: source.groups has no group 'moun'; did you mean 'muon'?");
  CHECK(group_errors("filter: {first_groups: [muon]}\n") ==
        "farm.yaml:2: filter.first_groups[0]: source.groups has no group 'muon': it is empty");
}
