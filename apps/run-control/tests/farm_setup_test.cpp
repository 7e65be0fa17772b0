#include "../src/farm_setup.hpp"

#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>

#include <fstream>
#include <stdexcept>
#include <string>

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

TEST_CASE("what is set comes on top of the file and the command line, the last word for each key") {
  const File file("farm: f\ndcm: {credits: 2}\n");
  FarmSetup setup(file.path, {"dcm.credits=3"});
  CHECK(setup.file().dcm().credits() == 3);
  REQUIRE(setup.set({"dcm.credits=4"}).empty());
  REQUIRE(setup.set({"dcm.credits=5", "run.slices=7"}).empty());
  CHECK(setup.farm().dcm().credits() == 5);
  CHECK(setup.file().dcm().credits() == 3);
  CHECK(setup.sets() == FarmSetup::Sets{"dcm.credits=5", "run.slices=7"});
}

TEST_CASE("who gets an error has changed nothing") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {});
  REQUIRE(setup.set({"dcm.credits=4"}).empty());
  CHECK_THAT(setup.set({"dcm.credits=none"}), ContainsSubstring("dcm.credits"));
  CHECK_THAT(setup.set({"run.slices=9", "control.order_s=1"}), ContainsSubstring("cannot be set"));
  CHECK_THAT(setup.set({"dcm.count=9"}), ContainsSubstring("other processes"));
  CHECK(setup.farm().dcm().credits() == 4);
  CHECK(setup.farm().dcm().count() == 1);
  CHECK(setup.sets() == FarmSetup::Sets{"dcm.credits=4"});
}

TEST_CASE("configure reads the file again, and refuses one with other processes") {
  const File file("farm: f\ndcm: {credits: 2}\n");
  FarmSetup setup(file.path, {});
  const std::string digest = setup.digest();
  file.write("farm: f\ndcm: {credits: 6}\n");
  CHECK(setup.farm().dcm().credits() == 2);
  REQUIRE(setup.configure({}).empty());
  CHECK(setup.farm().dcm().credits() == 6);
  CHECK(setup.digest() != digest);
  const std::string good = setup.digest();
  file.write("farm: f\ndcm: {count: 2}\n");
  CHECK_THAT(setup.configure({}), ContainsSubstring("other processes"));
  CHECK(setup.farm().dcm().credits() == 6);
  CHECK(setup.digest() == good);
}

TEST_CASE("start says of its run how long it is, and nothing else") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {});
  CHECK_THAT(setup.check_run_sets({"dcm.credits=4"}), ContainsSubstring("configure"));
  CHECK_FALSE(setup.check_run_sets({"run.slices=many"}).empty());
  CHECK(setup.check_run_sets({"run.slices=12"}).empty());
  setup.start({"run.slices=12"});
  CHECK(setup.of_run(RunNumber(3)).run().slices() == 12);
  CHECK(setup.of_run(RunNumber(3)).run().number() == 3);
  CHECK(setup.farm().run().slices() != 12);
}

TEST_CASE("keys that an earlier process knew and that fit no more are left out") {
  const File file("farm: f\n");
  FarmSetup setup(file.path, {});
  CHECK_FALSE(setup.recall({"dcm.count=9"}, {"run.slices=5"}).empty());
  CHECK(setup.sets().empty());
  CHECK(setup.run_sets() == FarmSetup::Sets{"run.slices=5"});
  CHECK_THROWS_AS(FarmSetup("/nowhere/at/all.yaml", {}), std::runtime_error);
}
