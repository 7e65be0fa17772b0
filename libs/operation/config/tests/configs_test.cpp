#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <filesystem>
#include <string>

using namespace weir;

namespace {

constexpr const char* kConfigs = WEIR_SOURCE_DIR "/configs";

config::FarmFile load(const std::string& name) {
  auto file = config::load_farm(std::filesystem::path(kConfigs) / name);
  INFO((file ? "" : config::to_text(file.error())));
  REQUIRE(file.has_value());
  return std::move(*file);
}

std::vector<SourceId> ids(std::uint32_t first, std::uint32_t last) {
  std::vector<SourceId> all;
  for (std::uint32_t id = first; id <= last; ++id) all.emplace_back(id);
  return all;
}

}  // namespace

TEST_CASE("every farm file of the project is good, without a warning") {
  const config::ReplayReader recording = [](const std::string&) {
    return Expected<config::ReplayContents, std::string>(
        config::ReplayContents{ids(1, 69), 2, 300'000, 10'000});
  };
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    config::FarmFile file = load(entry.path().filename().string());
    if (file.farm.replay().path().empty())
      REQUIRE(config::apply_override(file.farm, "replay.path=recording", &file.locations).empty());
    CHECK(config::to_text(config::validate(file.farm, file.locations, recording)) == "");
  }
  CHECK(count >= 4);
}

TEST_CASE("replay.yaml asks for the folder to replay") {
  const config::FarmFile file = load("replay.yaml");
  const auto problems = config::validate(file.farm, file.locations);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].key == "replay.path");
  CHECK(problems[0].what ==
        "needed by source.kind 'replay': set it in the farm file, or with --set replay.path=DIR");
}

TEST_CASE("demo.yaml is a string of five readouts with three modules each") {
  const auto plan = config::expand(load("demo.yaml").farm);
  REQUIRE(plan.has_value());
  const auto readouts = plan->of_role(Role::readout);
  REQUIRE(readouts.size() == 5);
  for (const config::NodePlan* readout : readouts) CHECK(readout->sources.size() == 3);
  CHECK(plan->of_role(Role::dcm).size() == 3);
}

TEST_CASE("detector-10-strings.yaml has 900 modules on 30 readouts") {
  const auto plan = config::expand(load("detector-10-strings.yaml").farm);
  REQUIRE(plan.has_value());
  CHECK(plan->sources.size() == 900);
  const auto readouts = plan->of_role(Role::readout);
  REQUIRE(readouts.size() == 30);
  for (const config::NodePlan* readout : readouts) CHECK(readout->sources.size() == 30);
}
