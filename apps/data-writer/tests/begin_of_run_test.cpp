// Reads the begin-of-run record of a run file back as a farm file.
#include "../src/settings.hpp"
#include "every_key.hpp"
#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <google/protobuf/util/message_differencer.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir::writer {
namespace {

namespace fs = std::filesystem;
using google::protobuf::util::MessageDifferencer;

// A farm with profiles, groups, single entries, masked nodes and ports, for each role that can have them.
constexpr const char* kNodes = R"(
readout:
  masked: [21]
  profiles:
    - {name: big, source: {size_bytes: 3000}, buffer_bytes: 64MiB}
    - {name: board, source: {kind: udp, parameters: {listen: "127.0.0.1:0"}}}
  nodes:
    - {name: cam, sources: [5, 9], profile: big}
    - {name: "tdc-{i:03}", count: 2, sources: [20, 21, 22, 23]}
    - {name: crate, sources: [40], profile: board, source: {wait_ms: 20}}
    - {name: off, sources: [50], masked: true, listen: "127.0.0.1:4000"}
dcm:
  profiles: [{name: wide, credits: 16}]
  nodes: [{name: "a-{i}", count: 2, profile: wide, port: left}, {name: b, port: right}]
writer:
  profiles: [{name: slow, sync_interval_ms: 500}]
  nodes: [{name: w, profile: slow}, {name: "v-{i}", count: 2, file_bytes_max: 1MiB}]
)";

Expected<config::ReplayContents, std::string> recording(const std::string&) {
  config::ReplayContents contents;
  for (std::uint32_t id = 1; id <= 69; ++id) contents.sources.emplace_back(id);
  contents.slices = 2;
  return contents;
}

std::string text_of(const config::FarmPlan& plan) {
  std::string text;
  for (const config::NodePlan& node : plan.nodes) {
    text += node.name + " " + std::string(name(node.role)) + " " + std::to_string(node.index.value) + " " +
            node.listen + " " + node.port + " " + std::to_string(node.source_kind) +
            (node.masked ? " masked" : "") + ":";
    for (const SourceId source : node.sources) text += " " + std::to_string(source.value);
    text += "\n";
  }
  text += "masked:";
  for (const SourceId source : plan.masked) text += " " + std::to_string(source.value);
  return text;
}

void check_record(const v1::Farm& farm) {
  const auto plan = config::expand(farm, {}, recording);
  INFO((plan ? "" : config::to_text(plan.error())));
  REQUIRE(plan);
  for (const config::NodePlan* writer : plan->of_role(Role::writer)) {
    INFO(writer->name);
    const node::Setup setup = node::make_setup(farm, *plan, writer->name, {"127.0.0.1", 7000});
    const auto read = config::read_farm(begin_of_run_record(setup), "record.yaml");
    INFO((read ? "" : config::to_text(read.error())));
    REQUIRE(read);
    CHECK(MessageDifferencer::Equivalent(read->farm, farm));
    const auto again = config::expand(read->farm, {}, recording);
    REQUIRE(again);
    CHECK(text_of(*again) == text_of(*plan));
  }
}

v1::Farm farm_of(const std::string& text) {
  auto file = config::read_farm(text, "farm.yaml");
  INFO((file ? "" : config::to_text(file.error())));
  REQUIRE(file);
  return file->farm;
}

}  // namespace

TEST_CASE(
    "a run file's record expands to the same nodes as the farm that ran, profiles and groups included") {
  check_record(farm_of(kNodes));
}

TEST_CASE("a run file's record expands to the plan of every farm file of the project") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(WEIR_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path());
    ++count;
    auto file = config::load_farm(entry.path());
    REQUIRE(file);
    if (file->farm.replay().path().empty()) file->farm.mutable_replay()->set_path("recording");
    check_record(file->farm);
  }
  CHECK(count >= 4);
}

TEST_CASE("a run file's record contains the farm file's includes inline") {
  const fs::path folder = fs::temp_directory_path() / "weir-begin-of-run-test";
  fs::remove_all(folder);
  fs::create_directory(folder);
  std::ofstream(folder / "common.yaml") << "dcm: {credits: 7}\nreadout: {count: 2}\n";
  std::ofstream(folder / "farm.yaml") << "include: [common.yaml]\nreadout: {count: 3}\n";
  const auto file = config::load_farm(folder / "farm.yaml");
  fs::remove_all(folder);
  REQUIRE(file);
  CHECK(file->farm.dcm().credits() == 7);
  check_record(file->farm);
}

TEST_CASE("a run file's record has the lists of nodes and profiles with every key that they give") {
  const v1::Farm every = config::farm_of_every_key();
  v1::Farm farm = farm_of("dcm: {count: 1}\n");
  *farm.mutable_readout()->mutable_profiles() = every.readout().profiles();
  *farm.mutable_dcm()->mutable_profiles() = every.dcm().profiles();
  *farm.mutable_writer()->mutable_profiles() = every.writer().profiles();
  check_record(farm);
}

}  // namespace weir::writer
