#include "../src/farm_setup.hpp"

#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

struct File {
  explicit File(const std::string& text) { write(text); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  ScratchFolder folder;
  std::string path = folder.path() / "farm.yaml";
};

}  // namespace

namespace {

// As `configure` with these keys does.
std::string configure(FarmSetup& setup, const FarmSetup::Sets& sets = {}) {
  auto configuration = setup.prepare(sets);
  if (!configuration) return configuration.error();
  setup.configure(std::move(*configuration));
  return {};
}

// Returns "dcm.credits=4 by set" for each displayed key, with pending values.
std::vector<std::string> shown(const FarmSetup& setup, bool run_is_on = false) {
  std::vector<std::string> lines;
  for (const auto& one : setup.shown(run_is_on)) {
    lines.push_back(one.key() + "=" + one.value() + " by " + one.origin() +
                    (one.in_force() ? "" : ", later") + (one.unset() ? ", unset" : ""));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("set keys reach the processes by configure, and not before") {
  const File file("farm: f\ndcm: {credits: 2}\n");
  FarmSetup setup(file.path, {"dcm.credits=3"});
  CHECK(setup.file().dcm().credits() == 3);
  REQUIRE(setup.set({"dcm.credits=4"}).empty());
  REQUIRE(setup.set({"dcm.credits=5", "run.slices=7"}).empty());
  CHECK(setup.configured().dcm().credits() == 3);
  CHECK(setup.of_run(RunNumber(1)).farm.dcm().credits() == 3);
  CHECK(setup.configured_sets().empty());
  REQUIRE(configure(setup).empty());
  CHECK(setup.configured().dcm().credits() == 5);
  CHECK(setup.of_run(RunNumber(1)).farm.run().slices() == 7);
  CHECK(setup.file().dcm().credits() == 3);
  CHECK(setup.configured_sets() == FarmSetup::Sets{"dcm.credits=5", "run.slices=7"});
}

TEST_CASE("a form has each key of the next configure, with its origin and the value in force") {
  const File file("farm: f\ndcm: {range_bytes: 64KiB}\n");
  FarmSetup setup(file.path, {"run.slices=7"});
  REQUIRE(setup.set({"dcm.credits=5"}).empty());
  const auto form = setup.form();
  REQUIRE(form);
  const auto line = [&](const std::string& key) {
    const auto one = std::ranges::find(*form, key, [](const auto& it) { return it.key; });
    REQUIRE(one != form->end());
    return one->value + " in force " + one->in_force + " by " + one->where;
  };
  CHECK(line("dcm.credits") ==
        "5 in force " + std::to_string(setup.configured().dcm().credits()) + " by set");
  CHECK(line("run.slices") == "7 in force 7 by command line");
  CHECK(line("dcm.range_bytes") == "64KiB in force 64KiB by " + file.path + ":2");
  CHECK(line("run.drain_timeout_s").ends_with(" by "));
  // An edit of the file is seen, as by the next configure.
  file.write("farm: f\ndcm: {range_bytes: 32KiB}\n");
  CHECK(setup.form()->size() == form->size());
  file.write("farm: [\n");
  CHECK_THAT(setup.form().error(), ContainsSubstring(file.path));
}

TEST_CASE("a prepared configure that is not carried out changes nothing") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {});
  const std::string digest = setup.digest();
  REQUIRE(setup.prepare({"dcm.credits=9"}));
  CHECK(setup.digest() == digest);
  CHECK(shown(setup).empty());
  REQUIRE(configure(setup).empty());
  CHECK(setup.configured().dcm().credits() != 9);
}

TEST_CASE("every key that someone set is shown with its origin, and whether the processes have it") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {"dcm.credits=3", "run.slices=8"});
  REQUIRE(setup.set({"dcm.credits=4"}).empty());
  CHECK(shown(setup) == Lines{"run.slices=8 by command line", "dcm.credits=4 by set, later"});
  REQUIRE(configure(setup, {"filter.parameters.minimum=5"}).empty());
  setup.start({"run.duration_s=9"});
  const Lines in_force{"run.slices=8 by command line", "dcm.credits=4 by set",
                       "filter.parameters.minimum=5 by configure"};
  CHECK(shown(setup) == in_force);
  CHECK(shown(setup, true).back() == "run.duration_s=9 by start");
  REQUIRE(setup.set({"filter.parameters.minimum=6"}).empty());
  CHECK(shown(setup) == Lines{"run.slices=8 by command line", "dcm.credits=4 by set",
                              "filter.parameters.minimum=6 by set, later",
                              "filter.parameters.minimum=5 by configure, unset"});
}

TEST_CASE("unset takes effect with the next configure, and the file's value counts again") {
  const File file("farm: f\ndcm: {credits: 2}\n");
  FarmSetup setup(file.path, {});
  REQUIRE(configure(setup, {"dcm.credits=4", "run.slices=7"}).empty());
  REQUIRE(setup.unset({"dcm.credits"}, false).empty());
  CHECK(setup.configured().dcm().credits() == 4);
  CHECK(shown(setup) == Lines{"run.slices=7 by configure", "dcm.credits=4 by configure, unset"});
  REQUIRE(configure(setup).empty());
  CHECK(setup.configured().dcm().credits() == 2);
  CHECK(setup.configured().run().slices() == 7);
  REQUIRE(setup.unset({}, true).empty());
  REQUIRE(configure(setup).empty());
  CHECK(setup.configured().run().slices() == 0);
  CHECK(shown(setup).empty());
}

TEST_CASE("unset lists the set keys if it is given another") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {"run.slices=8"});
  CHECK_THAT(setup.unset({"dcm.credits"}, false), ContainsSubstring("dcm.credits is not set: no key is"));
  REQUIRE(setup.set({"dcm.credits=4"}).empty());
  CHECK_THAT(setup.unset({"dcm.credit"}, false), ContainsSubstring("set are: dcm.credits"));
  CHECK_THAT(setup.unset({"run.slices"}, false), ContainsSubstring("command line"));
  CHECK(shown(setup).size() == 2);
}

TEST_CASE("an error leaves the settings unchanged") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {});
  REQUIRE(setup.set({"dcm.credits=4"}).empty());
  CHECK_THAT(setup.set({"dcm.credits=none"}), ContainsSubstring("dcm.credits"));
  CHECK_THAT(setup.set({"run.slices=9", "control.order_s=1"}), ContainsSubstring("cannot be set"));
  CHECK_THAT(setup.set({"log.level=debug"}), ContainsSubstring("weir ctl log-level"));
  CHECK_THAT(configure(setup, {"log.format=json"}), ContainsSubstring("only when a process starts"));
  CHECK_THAT(setup.set({"metrics.listen=127.0.0.1:0"}), ContainsSubstring("only when a process starts"));
  CHECK_THAT(setup.set({"dcm.count=9"}), ContainsSubstring("other processes"));
  CHECK_THAT(configure(setup, {"dcm.count=9"}), ContainsSubstring("other processes"));
  REQUIRE(configure(setup).empty());
  CHECK(setup.configured().dcm().credits() == 4);
  CHECK(setup.configured().dcm().count() == 1);
  CHECK(setup.configured_sets() == FarmSetup::Sets{"dcm.credits=4"});
}

TEST_CASE("configure reads the file again, and refuses one with other processes") {
  const File file("farm: f\ndcm: {credits: 2}\n");
  FarmSetup setup(file.path, {});
  const std::string digest = setup.digest();
  file.write("farm: f\ndcm: {credits: 6}\n");
  REQUIRE(setup.set({"run.slices=5"}).empty());
  CHECK(setup.configured().dcm().credits() == 2);
  REQUIRE(configure(setup).empty());
  CHECK(setup.configured().dcm().credits() == 6);
  CHECK(setup.digest() != digest);
  const std::string good = setup.digest();
  file.write("farm: f\ndcm: {count: 2}\n");
  CHECK_THAT(configure(setup), ContainsSubstring("other processes"));
  CHECK(setup.configured().dcm().credits() == 6);
  CHECK(setup.digest() == good);
}

TEST_CASE("start sets only the length of its run") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {});
  CHECK_THAT(setup.check_run_sets({"dcm.credits=4"}), ContainsSubstring("configure"));
  CHECK_FALSE(setup.check_run_sets({"run.slices=many"}).empty());
  CHECK(setup.check_run_sets({"run.slices=12"}).empty());
  setup.start({"run.slices=12"});
  CHECK(setup.of_run(RunNumber(3)).farm.run().slices() == 12);
  CHECK(setup.of_run(RunNumber(3)).farm.run().number() == 3);
  CHECK(setup.configured().run().slices() != 12);
}

TEST_CASE("a successor has the processes' configuration, and the settings for the next one") {
  const File file("farm: f\n");
  FarmSetup first(file.path, {});
  REQUIRE(configure(first, {"dcm.credits=4"}).empty());
  REQUIRE(first.set({"dcm.credits=5"}).empty());
  FarmSetup second(file.path, {});
  std::string problem;
  CHECK(second.recall(first.remembered(), problem));
  CHECK(problem.empty());
  CHECK(second.digest() == first.digest());
  CHECK(second.configured().dcm().credits() == 4);
  CHECK(shown(second) == shown(first));
  REQUIRE(configure(second).empty());
  CHECK(second.configured().dcm().credits() == 5);
}

TEST_CASE("a successor has the farm of the processes although the file was edited, if that farm was kept") {
  const File file("farm: f\ndcm: {credits: 2}\n");
  FarmSetup first(file.path, {});
  FarmSetup::Remembered kept = first.remembered();
  file.write("farm: f\ndcm: {credits: 6}\n");
  std::string problem;
  FarmSetup without(file.path, {});
  CHECK_FALSE(without.recall(kept, problem));
  CHECK(without.configured().dcm().credits() == 6);
  kept.farm_yaml = config::to_yaml(first.configured());
  FarmSetup with(file.path, {});
  CHECK(with.recall(kept, problem));
  CHECK(with.configured().dcm().credits() == 2);
  CHECK(with.digest() == first.digest());
  kept.farm_yaml += "dcm: {}\n";  // damaged
  FarmSetup damaged(file.path, {});
  CHECK_FALSE(damaged.recall(kept, problem));
}

TEST_CASE("beside a broken farm file, or one with other processes, the fallback is used") {
  const File file("farm: f\ndcm: {credits: 2}\n");
  FarmSetup before(file.path, {});
  REQUIRE(before.set({"dcm.credits=5"}).empty());
  REQUIRE(configure(before).empty());
  REQUIRE(before.set({"dcm.credits=6"}).empty());
  FarmSetup::Remembered kept = before.remembered();
  kept.farm_yaml = config::to_yaml(before.configured());
  const File begun("farm: f\ndcm: {credits: 2}\n");
  const bool broken = GENERATE(true, false);
  file.write(broken ? "farm: f\ndcm: {credits: \n" : "farm: f\ndcm: {count: 7}\n");

  FarmSetup after(file.path, {}, begun.path);
  CHECK_THAT(after.file_problem(), ContainsSubstring(broken ? "farm.yaml:" : "other processes"));
  CHECK(after.configured().dcm().credits() == 2);
  std::string problem;
  CHECK(after.recall(kept, problem));
  CHECK(problem.empty());
  CHECK(after.configured().dcm().credits() == 5);
  CHECK(after.digest() == before.digest());
  CHECK(shown(after) == Lines{"dcm.credits=6 by set, later", "dcm.credits=5 by set, unset"});
  CHECK_FALSE(configure(after).empty());
  CHECK(after.configured().dcm().credits() == 5);
  file.write("farm: f\ndcm: {credits: 3}\n");
  CHECK(configure(after).empty());
  CHECK(after.configured().dcm().credits() == 6);

  CHECK(FarmSetup(file.path, {}, begun.path).file_problem().empty());
  CHECK(FarmSetup(file.path, {}, begun.path).configured().dcm().credits() == 3);
}

TEST_CASE("keys that an earlier process knew and that fit no more are left out") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {});
  std::string problem;
  CHECK_FALSE(setup.recall({{{"dcm.count=9", "set"}}, {}, {"run.slices=5"}, "00000000", {}}, problem));
  CHECK_FALSE(problem.empty());
  CHECK(shown(setup).empty());
  CHECK(setup.run_sets() == FarmSetup::Sets{"run.slices=5"});
  CHECK_THROWS_AS(FarmSetup("/nowhere/at/all.yaml", {}), std::runtime_error);
}
