#include "../src/preflight.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"
#include <weir/run_record/version.hpp>

#include <filesystem>
#include <fstream>

using namespace weir;
using namespace weir::run_control;

TEST_CASE("preflight sees processes, their clocks and versions, conflicts, and key files") {
  test::SmallFarm farm;
  farm.join_all();
  farm.members.has_clock(farm.member("dcm-0"), 30 * kSecond, 20 * kSecond, kSecond);
  farm.members.has_clock(farm.member("writer-0"), 0, 20 * kSecond, kSecond);  // an older release sends none
  const auto facts = preflight_facts(farm.parts, Unexpected<std::string>("files differ"));
  REQUIRE(facts.processes.size() == 4);
  CHECK(facts.own_software == std::string("weir ") + run_record::kVersion);
  CHECK(facts.processes[farm.member("dcm-0")].clock_ahead == 10 * kSecond);
  CHECK_FALSE(facts.processes[farm.member("writer-0")].clock_ahead);
  CHECK(facts.processes[farm.member("writer-0")].live);
  CHECK(facts.conflict == "files differ");
  CHECK_FALSE(facts.is_configured);
  CHECK(facts.keys.empty());
  v1::Reply reply;
  add_checks(facts, reply);
  CHECK(reply.checks(0).name() == "processes");
  CHECK(reply.checks(0).gravity() == "good");
}

TEST_CASE("preflight finds a key that others may read, and a missing one") {
  ScratchFolder folder;
  const std::string key = folder.path() / "farm.key";
  std::ofstream(key) << "secret";
  std::filesystem::permissions(key, std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  test::SmallFarm farm(RunBook::Keeper::self, "security: {key_file: '" + key + "'}\n");
  auto facts = preflight_facts(farm.parts, v1::RunIdentity());
  REQUIRE(facts.keys.size() == 1);
  CHECK(facts.keys[0].is_open);
  REQUIRE(facts.keys[0].age.has_value());
  CHECK(*facts.keys[0].age < 3600 * kSecond);
  std::filesystem::remove(key);
  CHECK_FALSE(preflight_facts(farm.parts, v1::RunIdentity()).keys[0].age);
}
