#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/launch/farm_nodes.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <unistd.h>

using namespace weir;
using namespace weir::launch;
using Life = FarmNodes::Life;

namespace {

constexpr int kRounds = 2000;
constexpr useconds_t kRoundUs = 2000;

void script(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << "#!/bin/sh\n" << text << "\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

// A supervisor that stays, a DCM that fails and a writer that ends well, with scripts in place of the
// programs.
struct Farm {
  Farm() {
    for (const auto& [role, name] : {std::pair(Role::supervisor, "supervisor"), std::pair(Role::dcm, "dcm-0"),
                                     std::pair(Role::writer, "writer-0")}) {
      config::NodePlan& node = plan.nodes.emplace_back();
      node.role = role;
      node.name = name;
    }
    script(folder.path() / "weir-supervisor", "echo 'supervisor here'; exec sleep 100");
    script(folder.path() / "weir-dcm", "echo \"$@\"; exit 3");
    script(folder.path() / "weir-writer", "exit 0");
    settings.program_folder = settings.log_folder = folder.path();
    settings.restarts.restarts_max = 1;
    settings.restarts.backoff_ns = kSecond;
  }
  FarmNodes make() {
    return {plan, settings, [this](const std::string& name, pid_t) { started.push_back(name); }};
  }
  // Polls until `count` processes have ended.
  void reap(FarmNodes& nodes, TimeNs now, std::size_t count) {
    for (int i = 0; i < kRounds && ended.size() < count; ++i) {
      nodes.reap(now, [this](FarmNodes::Node& node) { ended.push_back(node.plan->name); });
      ::usleep(kRoundUs);
    }
    REQUIRE(ended.size() == count);
  }
  ScratchFolder folder;
  config::FarmPlan plan;
  FarmNodesSettings settings;
  std::vector<std::string> started;
  std::vector<std::string> ended;
};

FarmNodes::Node& node_of(FarmNodes& nodes, const std::string& name) {
  for (FarmNodes::Node& one : nodes.all()) {
    if (one.plan->name == name) return one;
  }
  throw std::runtime_error(name);
}

}  // namespace

TEST_CASE("a farm's processes start in order, end in their own way, and are judged by their owner") {
  Farm farm;
  FarmNodes nodes = farm.make();
  CHECK(nodes.supervisor().life == Life::absent);
  REQUIRE(nodes.start("127.0.0.1:70").empty());
  CHECK(farm.started == std::vector<std::string>{"supervisor", "writer-0", "dcm-0"});
  farm.reap(nodes, 5 * kSecond, 2);
  CHECK(std::set<std::string>(farm.ended.begin(), farm.ended.end()) ==
        std::set<std::string>{"dcm-0", "writer-0"});
  CHECK(nodes.supervisor().life == Life::there);
  FarmNodes::Node& dcm = node_of(nodes, "dcm-0");
  CHECK(dcm.life == Life::ended);
  CHECK(dcm.end.status == 3);
  CHECK(dcm.at_ns == 5 * kSecond);
  CHECK(nodes.story(dcm).starts_with("dcm-0 ended with status 3"));
  farm_view::LiveFrame frame;
  frame.rows.push_back({"supervisor", "supervisor", "running"});
  frame.rows.push_back({"dcm-0", "dcm", "running"});  // as reported before
  nodes.complete(frame);
  REQUIRE(frame.rows.size() == 3);
  CHECK(frame.rows[0].state == "running");
  CHECK(frame.rows[1].state == "ended");
  CHECK(frame.rows[2].state == "dead: status 3");
  nodes.signal_all(SIGKILL);
  farm.reap(nodes, 6 * kSecond, 3);
  CHECK_FALSE(nodes.is_any_there());
}

TEST_CASE("a process is restarted after a while, a limited number of times, and then stays away") {
  Farm farm;
  FarmNodes nodes = farm.make();
  REQUIRE(nodes.start("127.0.0.1:70").empty());
  farm.reap(nodes, 0, 2);
  FarmNodes::Node& dcm = node_of(nodes, "dcm-0");
  REQUIRE(nodes.start_again(dcm, 0));
  CHECK(dcm.life == Life::waits);
  CHECK_FALSE(nodes.role_without_any());  // it may return, and the writer is not judged yet
  REQUIRE(nodes.start_due(kSecond - 1).empty());
  CHECK(dcm.life == Life::waits);
  REQUIRE(nodes.start_due(kSecond).empty());
  CHECK(dcm.life == Life::there);
  CHECK(farm.started.back() == "dcm-0");
  farm.reap(nodes, 2 * kSecond, 3);
  CHECK_FALSE(nodes.start_again(dcm, 2 * kSecond));
  CHECK(dcm.life == Life::away);
  CHECK(nodes.role_without_any() == Role::dcm);
  std::ifstream log(farm.folder.path() / "dcm-0.log");
  std::string line;
  std::getline(log, line);
  CHECK(line.find("--name dcm-0 --one-run --control 127.0.0.1:70") != std::string::npos);
}

TEST_CASE("a removed process is started again when it is added, and uses up no restart") {
  Farm farm;
  FarmNodes nodes = farm.make();
  REQUIRE(nodes.start("127.0.0.1:70").empty());
  farm.reap(nodes, 0, 2);
  FarmNodes::Node& dcm = node_of(nodes, "dcm-0");
  dcm.life = Life::removed;
  CHECK_FALSE(nodes.role_without_any() == Role::dcm);
  REQUIRE(nodes.start_due(100 * kSecond).empty());
  CHECK(dcm.life == Life::removed);
  FarmNodes::add_again(dcm, 100 * kSecond);
  REQUIRE(nodes.start_due(100 * kSecond).empty());
  CHECK(dcm.life == Life::there);
  CHECK(dcm.restarts.count() == 0);
  dcm.life = Life::removed;
  nodes.stay_away();
  CHECK(dcm.life == Life::away);
}

TEST_CASE("no process is restarted once the run ends, except a spared supervisor") {
  Farm farm;
  FarmNodes nodes = farm.make();
  REQUIRE(nodes.start("127.0.0.1:70").empty());
  nodes.supervisor().child.send_signal(SIGKILL);
  farm.reap(nodes, 0, 3);
  REQUIRE(nodes.start_again(nodes.supervisor(), 0));
  REQUIRE(nodes.start_again(node_of(nodes, "dcm-0"), 0));
  nodes.stay_away(true);
  CHECK(nodes.supervisor().life == Life::waits);
  CHECK(node_of(nodes, "dcm-0").life == Life::away);
  nodes.stay_away();
  CHECK(nodes.supervisor().life == Life::away);
  REQUIRE(nodes.start_due(100 * kSecond).empty());
  CHECK_FALSE(nodes.is_any_there());
}

TEST_CASE("a farm without a supervisor is none, and a masked node is not started") {
  Farm farm;
  farm.plan.nodes[1].masked = true;
  FarmNodes nodes = farm.make();
  CHECK(nodes.all().size() == 2);
  farm.plan.nodes[0].masked = true;
  CHECK_THROWS_AS(farm.make(), std::runtime_error);
}
