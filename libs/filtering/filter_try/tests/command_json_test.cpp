#include "weir_catch.hpp"
#include <weir/filter_try/command_json.hpp>

using namespace weir;
using namespace weir::filter_try;

TEST_CASE("a command keeps every setting on its way to another process") {
  TryCommand command;
  command.plugin = "./hits \"odd\".py";
  command.recording = "run/demo";
  command.search_path = {"plugins", "more"};
  command.against = "hits";
  command.trial.parameters = {{"minimum", "5"}, {"name", "caf\xc3\xa9"}};
  command.trial.groups = {{"muon", {1, 2, 9}}, {"none", {}}};
  command.trial.first_sources = std::vector<std::uint32_t>{3, 4};
  command.trial.jobs = 3;
  command.trial.repeat = 2;
  command.trial.slice = SliceId(0xffffffffffffffff);
  command.list = command.json = true;
  command.lines_max = 0;
  const auto read = parse_command(to_json(command));
  REQUIRE(read);
  CHECK(read->plugin == command.plugin);
  CHECK(read->recording == command.recording);
  CHECK(read->search_path == command.search_path);
  CHECK(read->against == command.against);
  CHECK(read->trial.parameters == command.trial.parameters);
  REQUIRE(read->trial.groups.size() == 2);
  CHECK(read->trial.groups[0].name == "muon");
  CHECK(read->trial.groups[0].sources == command.trial.groups[0].sources);
  CHECK(read->trial.groups[1].sources.empty());
  CHECK(read->trial.first_sources == command.trial.first_sources);
  CHECK(read->trial.jobs == 3);
  CHECK(read->trial.repeat == 2);
  CHECK(read->trial.slice == command.trial.slice);
  CHECK(read->list);
  CHECK(read->json);
  CHECK(read->lines_max == 0);

  const auto bare = parse_command(to_json(TryCommand{}));
  REQUIRE(bare);
  CHECK_FALSE(bare->trial.first_sources);
  CHECK_FALSE(bare->trial.slice);
  CHECK_FALSE(parse_command("{}"));
  CHECK_FALSE(parse_command("not JSON"));
}
