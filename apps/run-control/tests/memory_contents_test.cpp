#include "../src/memory_contents.hpp"

#include "weir_catch.hpp"

using namespace weir;
using namespace weir::run_control;

TEST_CASE("a successor reads the farm's state as it was saved") {
  control::Remembered farm;
  farm.goal = control::State::running;
  farm.run = RunNumber(7);
  farm.epoch = 3;
  farm.run_open = true;
  farm.removed = {{"readout-1", "anna"}, {"dcm-0", ""}};
  v1::ControlMemory memory;
  add_farm(farm, memory);
  CHECK(farm_of(memory) == farm);
}

TEST_CASE("a state that names no goal, or no operator, is one of an idle farm") {
  v1::ControlMemory memory;
  memory.set_goal("dancing");
  memory.add_excluded("readout-1");
  const control::Remembered farm = farm_of(memory);
  CHECK(farm.goal == control::State::idle);
  REQUIRE(farm.removed.size() == 1);
  CHECK(farm.removed.front().by.empty());
}

TEST_CASE("a successor reads the settings with their commands as they were saved") {
  FarmSetup::Remembered settings;
  settings.wanted = {{"dcm.credits=4", "set"}, {"run.out=/data", "configure"}};
  settings.configured = {{"dcm.credits=3", "set"}};
  settings.run_sets = {"trigger.rate_hz=5"};
  settings.digest = "abc";
  v1::ControlMemory memory;
  add_settings(settings, memory);
  const FarmSetup::Remembered read = settings_of(memory, "farm: {}");
  CHECK(read.wanted == settings.wanted);
  CHECK(read.configured == settings.configured);
  CHECK(read.run_sets == settings.run_sets);
  CHECK(read.digest == "abc");
  CHECK(read.farm_yaml == "farm: {}");
}

TEST_CASE("settings of a version that did not save their commands were set") {
  v1::ControlMemory memory;
  memory.add_sets("dcm.credits=4");
  CHECK(settings_of(memory, {}).wanted == FarmSetup::Overrides{{"dcm.credits=4", std::string(kBySet)}});
}
