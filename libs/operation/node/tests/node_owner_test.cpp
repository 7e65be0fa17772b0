#include "../src/node_owner.hpp"

#include "../src/run_setup.hpp"
#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/config/farm_file.hpp>

#include <stdexcept>
#include <string>

namespace weir::node {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Counts {
  int made = 0;
  int alive = 0;
  bool lets_go = true;
  std::string error;
};

struct Counted final : Node {
  explicit Counted(Counts& all) : counts(all) { ++counts.alive; }
  ~Counted() override { --counts.alive; }
  void pass(TimeNs) override {}
  [[nodiscard]] bool finished() const override { return false; }
  void on_signal(std::string_view) override {}
  [[nodiscard]] bool let_go() override { return counts.lets_go; }
  Counts& counts;
};

MakeNode maker(Counts& counts) {
  return [&counts](const Setup&, transport::Loop&) -> std::unique_ptr<Node> {
    ++counts.made;
    if (!counts.error.empty()) throw std::runtime_error(counts.error);
    return std::make_unique<Counted>(counts);
  };
}

Setup farm_setup(const std::string& more, const std::string& name) {
  const auto file = config::read_farm(
      "{readout: {count: 1}, dcm: {count: 1}, writer: {count: 1}" + more + "}", "farm.yaml");
  REQUIRE(file);
  const auto plan = config::expand(file->farm);
  REQUIRE(plan);
  return make_setup(file->farm, *plan, name, {"127.0.0.1", 7000});
}

}  // namespace

TEST_CASE("a run's node is made and destroyed with its setup") {
  Counts counts;
  transport::Loop loop{transport::SocketPolicy()};
  const MakeNode make = maker(counts);
  NodeOwner node(make, loop);
  CHECK_FALSE(node);
  node.begin(RunNumber(1));
  node.make(std::make_unique<Setup>());
  CHECK(node);
  CHECK(counts.alive == 1);
  node.drop();
  CHECK_FALSE(node);
  CHECK(counts.alive == 0);
  CHECK_FALSE(node.left_behind());
}

TEST_CASE("a node that cannot be made leaves nothing behind") {
  Counts counts;
  counts.error = "port taken";
  transport::Loop loop{transport::SocketPolicy()};
  const MakeNode make = maker(counts);
  NodeOwner node(make, loop);
  CHECK_THROWS_WITH(node.make(std::make_unique<Setup>()), "port taken");
  CHECK_FALSE(node);
}

TEST_CASE("five failures of a run's node are an error, and the next run begins anew") {
  Counts counts;
  transport::Loop loop{transport::SocketPolicy()};
  const MakeNode make = maker(counts);
  NodeOwner node(make, loop);
  const auto fail = [&](std::uint32_t run) {
    node.begin(RunNumber(run));
    return node.count_failure();
  };
  for (int i = 0; i < 4; ++i) CHECK(fail(1) == control::State::idle);
  CHECK(fail(1) == control::State::error);
  CHECK(fail(2) == control::State::idle);
  for (int i = 0; i < 3; ++i) CHECK(fail(2) == control::State::idle);
  node.forget_failures();
  CHECK(fail(2) == control::State::idle);
}

TEST_CASE("a run's setup has the order's number and overrides, for the run's records, too") {
  const ScratchFolder folder;
  const Setup configured = farm_setup(", run: {out: '" + folder.path().string() + "'}", "dcm-0");
  v1::Order order;
  order.set_run(12);
  order.set_claim(99);
  order.set_limit_ms(1500);
  order.add_sets("dcm.credits=3");
  order.add_absent("readout-0");
  order.set_supervisor("127.0.0.1:7100");
  v1::Farm whole = *configured.whole_farm;
  const std::unique_ptr<Setup> setup = run_setup(configured, order);
  CHECK(setup->run == RunNumber(12));
  CHECK(setup->identity.run == RunNumber(12));
  CHECK(setup->claim == 99);
  CHECK(setup->absent == std::vector<std::string>{"readout-0"});
  CHECK(setup->start_limit_ns == 1500 * kMillisecond);
  CHECK(setup->farm.dcm().credits() == 3);
  CHECK(setup->whole_farm->dcm().credits() == 3);
  CHECK(setup->whole_farm->run().number() == 12);
  CHECK(setup->supervisor.port == 7100);
  CHECK(configured.farm.dcm().credits() != 3);
  order.add_sets("dcm.credits=none");
  CHECK_THROWS_WITH(run_setup(configured, order), ContainsSubstring("dcm.credits"));
}

TEST_CASE("writers and supervisors with a journal keep data in run.out, DCMs with bursts in their folder") {
  using Links = FolderWatch::Links;
  const auto keys = [](const Setup& setup) {
    std::vector<std::string> found;
    for (const FolderWatch::Folder& one : data_folders(setup, Links::resolved)) found.push_back(one.key);
    return found;
  };
  const std::vector<std::string> out{"run.out"};
  CHECK(keys(farm_setup("", "writer-0")) == out);
  CHECK(keys(farm_setup(", supervisor: {journal: true}", "supervisor")) == out);
  CHECK(keys(farm_setup(", supervisor: {journal: false}", "supervisor")).empty());
  CHECK(keys(farm_setup("", "dcm-0")).empty());
  CHECK(keys(farm_setup("", "readout-0")).empty());
}

}  // namespace weir::node
