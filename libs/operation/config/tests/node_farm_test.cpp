#include "weir_catch.hpp"
#include <weir/config/explain.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/replayed_recording.hpp>

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <string>

using namespace weir;
using google::protobuf::util::MessageDifferencer;

namespace {

Expected<config::ReplayContents, std::string> recorded_sources(const std::string& path) {
  if (path != "folder") return Unexpected<std::string>("'" + path + "': no such folder");
  return config::ReplayContents{{SourceId(1000), SourceId(2000), SourceId(3000)}, 1, 3000, 2000};
}

struct Laid {
  config::FarmFile file;
  config::FarmPlan plan;

  [[nodiscard]] const config::NodePlan& node(const std::string& name) const {
    const auto found = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                                    [&](const config::NodePlan& one) { return one.name == name; });
    REQUIRE(found != plan.nodes.end());
    return *found;
  }
  [[nodiscard]] v1::Farm farm_of(const std::string& name) const {
    return config::NodeFarms(file.farm).of(node(name)).farm;
  }
  // Formats a readout's sources with consecutive ids as ranges: "1-4, 7".
  [[nodiscard]] std::string sources(const std::string& name) const {
    std::string text;
    for (const SourceId id : node(name).sources) text += (text.empty() ? "" : " ") + std::to_string(id.value);
    return text;
  }
};

Laid laid(const std::string& text) {
  auto file = config::read_farm(text, "farm.yaml");
  INFO((file ? "" : config::to_text(file.error())));
  REQUIRE(file.has_value());
  auto plan = config::expand(file->farm, file->locations, recorded_sources);
  INFO((plan ? "" : config::to_text(plan.error())));
  REQUIRE(plan.has_value());
  return {std::move(*file), std::move(*plan)};
}

std::string node_problems(const std::string& text) {
  const auto file = config::read_farm(text, "farm.yaml");
  if (!file) return config::to_text(file.error());
  return config::to_text(config::validate(file->farm, file->locations, recorded_sources));
}

constexpr const char* kTestBeam =
    "source: {kind: dummy, size_bytes: 100, parameters: {timeout: 5}}\n"
    "readout:\n"
    "  sources_per_readout: 2\n"
    "  buffer_bytes: 64MiB\n"
    "  profiles:\n"
    "    - {name: network, source: {kind: udp, parameters: {port: 7300}}, parked_max: 10}\n"
    "  nodes:\n"
    "    - {name: 'telescope-{i:02}', count: 3, source: {size_bytes: 200}}\n"
    "    - name: device\n"
    "      profile: network\n"
    "      buffer_bytes: 128MiB\n"
    "      source: {parameters: {port: 7400}}\n"
    "    - {name: recorded, source: {kind: replay}, replay: {path: folder}}\n"
    "    - {name: trigger-unit, sources: [99], listen: '127.0.0.1:4000'}\n"
    "dcm:\n"
    "  credits: 16\n"
    "  nodes:\n"
    "    - {name: 'small-{i}', count: 2}\n"
    "    - {name: large, credits: 256, processing_units: 8}\n"
    "writer:\n"
    "  nodes: {name: 'disk-{i}', count: 2, sync_bytes: 1MiB}\n"
    "supervisor: {in_flight_max: 512}\n";

}  // namespace

TEST_CASE("nodes of one entry are numbered, and sources go on from entry to entry") {
  const Laid farm = laid(kTestBeam);
  std::string names;
  for (const config::NodePlan& node : farm.plan.nodes) names += node.name + " ";
  CHECK(
      names ==
      "supervisor disk-0 disk-1 small-0 small-1 large telescope-00 telescope-01 telescope-02 device recorded "
      "trigger-unit ");
  CHECK(farm.sources("telescope-00") == "1 2");
  CHECK(farm.sources("telescope-02") == "5 6");
  CHECK(farm.sources("device") == "7 8");
  CHECK(farm.sources("recorded") == "1000 2000 3000");
  CHECK(farm.sources("trigger-unit") == "99");
  CHECK(farm.node("trigger-unit").listen == "127.0.0.1:4000");
  CHECK(farm.node("device").index == NodeIndex(3));
  CHECK(farm.plan.sources.size() == 12);
}

TEST_CASE("a node's key comes from its entry, else its profile, else the shared settings") {
  const Laid farm = laid(kTestBeam);
  CHECK(farm.farm_of("telescope-01").source().size_bytes() == 200);
  CHECK(farm.farm_of("telescope-01").readout().buffer_bytes() == 64U << 20U);
  const v1::Farm device = farm.farm_of("device");
  CHECK(device.source().kind() == v1::SourceSettings::KIND_UDP);
  CHECK(device.source().size_bytes() == 100);
  CHECK(device.source().parameters().at("port") == "7400");
  CHECK(device.source().parameters().at("timeout") == "5");
  CHECK(device.readout().parked_max() == 10);
  CHECK(device.readout().buffer_bytes() == 128U << 20U);
  CHECK(farm.farm_of("recorded").replay().path() == "folder");
  CHECK(farm.farm_of("trigger-unit").source().size_bytes() == 100);
  CHECK(farm.farm_of("small-1").dcm().credits() == 16);
  CHECK(farm.farm_of("large").dcm().credits() == 256);
  CHECK(farm.farm_of("disk-1").writer().sync_bytes() == 1U << 20U);
  CHECK(farm.farm_of("supervisor").dcm().credits() == 16);
  CHECK(node_problems(kTestBeam) == "");
}

TEST_CASE("a list in a node's entry replaces the shared one, its parameters extend the shared ones") {
  const Laid farm = laid(
      "source: {search_path: [a, b], parameters: {x: 1, y: 2}}\n"
      "readout: {nodes: [{name: own, source: {search_path: [c], parameters: {y: 3}}}, {name: other}]}\n");
  const v1::Farm own = farm.farm_of("own");
  REQUIRE(own.source().search_path_size() == 1);
  CHECK(own.source().search_path(0) == "c");
  CHECK(own.source().parameters().at("x") == "1");
  CHECK(own.source().parameters().at("y") == "3");
  CHECK(farm.farm_of("other").source().search_path_size() == 2);
}

TEST_CASE("a farm of nodes that differ is written out and reads back the same") {
  const Laid farm = laid(kTestBeam);
  const std::string written = config::to_yaml(farm.file.farm);
  const auto again = config::read_farm(written, "written.yaml");
  INFO(written << (again ? "" : config::to_text(again.error())));
  REQUIRE(again.has_value());
  CHECK(MessageDifferencer::Equivalent(farm.file.farm, again->farm));
  CHECK(config::to_yaml(again->farm) == written);
}

TEST_CASE("a key that cannot differ between nodes, or is unknown, is refused in a node's entry") {
  CHECK(node_problems("dcm:\n  nodes:\n    - {name: a, deadline_ms: 5}\n") ==
        "farm.yaml:3: dcm.nodes[0].deadline_ms: is the same for all: set 'dcm.deadline_ms'");
  CHECK(node_problems("readout:\n  nodes: {name: a, count: 2, nodes: []}\n") ==
        "farm.yaml:2: readout.nodes[0].nodes: is the same for all: set 'readout.nodes'");
  CHECK(node_problems("dcm:\n  nodes:\n    - {name: a, credit: 5}\n") ==
        "farm.yaml:3: dcm.nodes[0].credit: unknown key; did you mean 'dcm.nodes[0].credits'?");
  CHECK(node_problems("readout:\n  nodes:\n    - {name: a, own: {}}\n") ==
        "farm.yaml:3: readout.nodes[0].own: unknown key; docs/configuration.md lists the keys");
  CHECK(node_problems("dcm:\n  nodes:\n    - {name: a, credits: 0}\n") ==
        "farm.yaml:3: dcm.nodes[0].credits: 0 is below 1");
}

TEST_CASE("entries that do not fit together are refused with their line") {
  CHECK(
      node_problems("dcm:\n  nodes:\n    - {name: a, count: 2}\n") ==
      "farm.yaml:3: dcm.nodes[0].name: 2 nodes cannot all be called 'a': write {i} in place of their number\n"
      "farm.yaml:3: dcm.nodes[0].name: another node is called 'a' too");
  CHECK(node_problems("readout:\n  nodes:\n    - {name: 'a{j}'}\n") ==
        "farm.yaml:3: readout.nodes[0].name: 'a{j}' is not a name: 1 to 64 letters, digits, '_', '-' and "
        "'.', and "
        "{i} or {i:03} for a number");
  CHECK(node_problems("dcm:\n  profiles: [{name: fast}]\n  nodes:\n    - {name: a, profile: fats}\n") ==
        "farm.yaml:4: dcm.nodes[0].profile: unknown profile 'fats' in dcm.profiles; did you mean 'fast'?");
  CHECK(node_problems("dcm:\n  profiles:\n    - {name: fast}\n    - {name: fast}\n  nodes: [{name: a}]\n") ==
        "farm.yaml:4: dcm.profiles[1].name: another profile is called 'fast' already");
  CHECK(node_problems("readout:\n  nodes:\n    - {name: a, sources_per_readout: 3}\n    - {name: b, "
                      "first_source: 3}\n") ==
        "farm.yaml:4: readout.nodes[1]: source 3 belongs to 'a' already: set first_source or sources here");
  CHECK(node_problems("readout:\n  nodes:\n    - {name: 'a-{i}', count: 3, sources: [1, 2]}\n") ==
        "farm.yaml:3: readout.nodes[0].count: 3 readouts for 2 sources");
  CHECK(
      node_problems("readout:\n  nodes:\n    - {name: 'a-{i}', count: 3, listen: '127.0.0.1:4000'}\n") ==
      "farm.yaml:3: readout.nodes[0].listen: one address for 3 nodes: omit it, or list the nodes one by one");
  CHECK(node_problems(
            "readout:\n  nodes:\n    - {name: 'a-{i}', count: 4000}\n    - {name: 'b-{i}', count: 97}\n") ==
        "farm.yaml:2: readout.nodes: 4097 nodes are above 4096");
}

TEST_CASE("a node's own settings are checked together with the shared ones") {
  CHECK(node_problems("dcm:\n  credits: 8\n  nodes:\n    - {name: a}\n    - {name: b, slices_max: 4}\n") ==
        "farm.yaml:5: dcm.nodes[1].slices_max: 4 is below dcm.credits, 8");
  CHECK(node_problems("supervisor: {in_flight_max: 64}\nreadout:\n  nodes:\n    - name: a\n      source: "
                      "{size_bytes: 2MiB}\n") ==
        "farm.yaml:5: readout.nodes[0].source.size_bytes: 2MiB is outside of source.size_bytes_min to "
        "source.size_bytes_max, 0 to 1MiB");
  CHECK(node_problems("readout:\n  nodes:\n    - name: a\n      source: {kind: plugin}\n") ==
        "farm.yaml:4: readout.nodes[0].source.plugin: needed by source.kind 'plugin'");
  CHECK(
      node_problems(
          "readout:\n  nodes:\n    - name: a\n      source: {kind: replay}\n      replay: {path: other}\n") ==
      "farm.yaml:5: readout.nodes[0].replay.path: 'other': no such folder");
  CHECK(node_problems("source:\n  kind: replay\nreplay: {path: folder}\nreadout:\n  nodes:\n"
                      "    - {name: a, sources: [1000, 7]}\n") ==
        "farm.yaml:6: readout.nodes[0].sources[1]: 'folder' holds no source 7");
  // A problem in shared settings is reported once, however many entries exist.
  CHECK(node_problems("dcm:\n  credits: 8\n  slices_max: 4\n  nodes: [{name: a}, {name: b}]\n") ==
        "farm.yaml:3: dcm.slices_max: 4 is below dcm.credits, 8");
  CHECK(node_problems(
            "supervisor: {in_flight_max: 100}\ndcm:\n  nodes:\n    - {name: 'a{i}', count: 3, credits: 30}\n"
            "    - {name: b, credits: 11}\n") ==
        "farm.yaml:1: supervisor.in_flight_max: 100 is below the DCMs' 101 credits: some of them are never "
        "used");
}

TEST_CASE("some sources have other sizes than the rest") {
  CHECK(
      node_problems(
          "source:\n  size_bytes: 10\n  sizes:\n    - {sources: [1], size_bytes: 5, size_bytes_min: 6}\n") ==
      "farm.yaml:4: source.sizes[0].size_bytes: 5 is outside of source.sizes[0].size_bytes_min to "
      "source.sizes[0].size_bytes_max, 6 to 1MiB");
  CHECK(node_problems("source:\n  sizes:\n    - {size_bytes: 5}\n") ==
        "farm.yaml:3: source.sizes[0].sources: missing");
  // 20 MB for one source exceed a DCM's limit.
  CHECK(node_problems("source:\n  sizes:\n    - {sources: [1], size_bytes: 20M, size_bytes_max: 20M}\n")
            .find("dcm.fragment_bytes_max: 16MiB is below the largest fragment, 20000000") !=
        std::string::npos);
}

TEST_CASE("a node's settings are explained, each with its origin") {
  Laid farm = laid(kTestBeam);
  REQUIRE(config::apply_override(farm.file.farm, "source.wait_ms=77", &farm.file.locations).empty());
  const auto keys = config::explain(farm.file.farm, farm.node("device"), farm.file.locations);
  const auto explained = [&](const std::string& key) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const config::ExplainedKey& one) { return one.key == key; });
    return found == keys.end() ? "none"
                               : found->value + " @ " + (found->where.empty() ? "default" : found->where);
  };
  CHECK(explained("readout.buffer_bytes") == "128MiB @ farm.yaml:11");
  CHECK(explained("readout.parked_max") == "10 @ farm.yaml:6");
  CHECK(explained("readout.sources_per_readout") == "2 @ farm.yaml:3");
  CHECK(explained("readout.buffer_slices") == "8192 @ default");
  CHECK(explained("source.kind") == "udp @ farm.yaml:6");
  CHECK(explained("source.size_bytes") == "100 @ farm.yaml:1");
  CHECK(explained("source.wait_ms") == "77 @ --set");
  CHECK(explained("source.parameters.port") == "7400 @ farm.yaml:12");
  CHECK(explained("source.parameters.timeout") == "5 @ farm.yaml:1");
  CHECK(explained("readout.nodes") == "none");
  CHECK(explained("dcm.credits") == "none");
  CHECK(config::explain(farm.file.farm, farm.node("large"), farm.file.locations).front().key ==
        "dcm.credits");
}

TEST_CASE("keys of a section within a section are explained with their names in full") {
  Laid farm = laid(kTestBeam);
  REQUIRE(config::apply_override(farm.file.farm, "filter.workers.count=3", &farm.file.locations).empty());
  const auto keys = config::explain(farm.file.farm, farm.node("large"), farm.file.locations);
  const auto found = std::find_if(keys.begin(), keys.end(), [](const config::ExplainedKey& one) {
    return one.key == "filter.workers.count";
  });
  REQUIRE(found != keys.end());
  CHECK(found->value == "3");
  CHECK(found->where == "--set");
}

TEST_CASE("sizes and faults of unknown sources, and an address for no writer, are rejected") {
  CHECK(node_problems("source:\n  sizes: [{sources: [1, 77], size_bytes: 9}]\n") ==
        "farm.yaml:2: source.sizes[0].sources[1]: unknown source 77");
  CHECK(node_problems(
            "readout:\n  nodes:\n    - name: a\n      source: {faults: [{sources: [77], drop: 0.5}]}\n") ==
        "farm.yaml:4: readout.nodes[0].source.faults[0].sources[0]: unknown source 77");
  CHECK(node_problems("writer:\n  listen: '127.0.0.1:4000'\n  nodes: [{name: a}]\n") ==
        "farm.yaml:2: writer.listen: has no effect besides writer.nodes: set listen in each entry");
}

TEST_CASE("a farm of 300 readouts fits on a screen, and is planned immediately") {
  const Laid farm = laid(
      "readout:\n  nodes: {name: 'rp-{i:03}', count: 300, sources_per_readout: 2}\n"
      "dcm:\n  nodes: {name: 'dcm-{i}', count: 30}\nsupervisor: {in_flight_max: 8192}\n");
  CHECK(farm.plan.of_role(Role::readout).size() == 300);
  CHECK(farm.sources("rp-299") == "599 600");
}

TEST_CASE("a DCM has its group's settings, below those of its profile and its entry") {
  const Laid farm = laid(
      "filter: {plugin: prescale, parameters: {n: 10}, first_sources: [1], on_error: reject}\n"
      "dcm:\n"
      "  credits: 5\n"
      "  nodes:\n"
      "    - {name: build, group: building, profile: big}\n"
      "    - {name: 'sel-{i}', count: 2, group: selection, credits: 7}\n"
      "  profiles: [{name: big, credits: 9}]\n"
      "  groups:\n"
      "    - {name: selection, forward: [building], credits: 2, shaper: byte-credits}\n"
      "    - {name: building, credits: 3, filter: {plugin: accept-all}}\n");
  // Those of the first group have the first numbers.
  CHECK(farm.node("sel-0").index == NodeIndex(0));
  CHECK(farm.node("sel-1").index == NodeIndex(1));
  CHECK(farm.node("build").index == NodeIndex(2));
  CHECK(farm.node("sel-1").group == 0);
  CHECK(farm.node("build").group == 1);
  const v1::Farm selecting = farm.farm_of("sel-1");
  CHECK(selecting.dcm().credits() == 7);
  CHECK(selecting.dcm().shaper() == v1::DcmSettings::SHAPER_BYTE_CREDITS);
  CHECK(selecting.filter().plugin() == "prescale");
  CHECK(selecting.filter().parameters().at("n") == "10");
  const v1::Farm building = farm.farm_of("build");
  CHECK(building.dcm().credits() == 9);
  CHECK(building.dcm().shaper() == v1::DcmSettings::SHAPER_ADAPTIVE);
  CHECK(building.filter().plugin() == "accept-all");
  CHECK(building.filter().parameters().empty());
  CHECK(building.filter().first_sources().empty());
  CHECK(building.filter().on_error() == v1::FilterSettings::ON_ERROR_REJECT);
}

TEST_CASE(
    "a remote group has a lease and announced addresses, and an announcement needs a port to forward to") {
  const std::string groups =
      "dcm:\n  nodes: [{name: near, group: near}, {name: far, group: far}]\n"
      "  groups: [{name: near, forward: [far]}, {name: far, remote: true, lease_ms: 45000}]\n";
  const Laid farm = laid("supervisor: {listen: '127.0.0.1:7000', announce: 'gate:7000'}\n" + groups);
  CHECK(farm.node("far").remote);
  CHECK_FALSE(farm.node("near").remote);
  CHECK(farm.node("supervisor").announce == "gate:7000");
  CHECK(farm.farm_of("far").supervisor().lease_ms() == 45'000);
  CHECK(farm.farm_of("near").supervisor().lease_ms() == 10'000);
  CHECK_THAT(node_problems("supervisor: {announce: 'gate:7000'}\n" + groups),
             Catch::ContainsSubstring("supervisor.announce: needs supervisor.listen with a port"));
  CHECK_THAT(node_problems("supervisor: {listen: '127.0.0.1:7000', announce: 'gate:7000'}\n"),
             Catch::ContainsSubstring("supervisor.announce: is for DCMs of remote groups"));
}

TEST_CASE("slices are those of a recording if every readout replays it, and triggers have no numbers") {
  const auto recording_of = [](const std::string& text) {
    const auto file = config::read_farm(text, "farm.yaml");
    REQUIRE(file);
    const auto found = config::replayed_recording(file->farm);
    return found ? found->path + (found->by_number ? " by number" : "") : "none";
  };
  const std::string replay = "source: {kind: replay}\nreplay: {path: folder}\n";
  CHECK(recording_of("source: {kind: dummy}\n") == "none");
  CHECK(recording_of(replay + "readout: {count: 3}\n") == "folder");
  CHECK(recording_of("source: {kind: replay}\nreplay: {path: folder, loop: false}\n") == "folder by number");
  for (const std::string mode : {"max", "rate", "poisson", "clock", "file", "network"}) {
    const bool numbered = mode == "clock" || mode == "file" || mode == "network";
    CHECK(recording_of(replay + "trigger: {mode: " + mode + ", rate_hz: 1, file: f}\n") ==
          (numbered ? "none" : "folder"));
  }
  const std::string nodes =
      "readout:\n  nodes:\n    - {name: a, source: {kind: replay}, replay: {path: one}}\n";
  CHECK(recording_of(nodes) == "one");
  CHECK(recording_of(nodes + "    - {name: b, source: {kind: replay}, replay: {path: one}}\n") == "one");
  CHECK(recording_of(nodes + "    - {name: b, source: {kind: replay}, replay: {path: two}}\n") == "none");
  CHECK(recording_of(nodes + "    - {name: b, source: {kind: replay}, replay: {path: one, loop: false}}\n") ==
        "none");
  CHECK(recording_of(nodes + "    - {name: b}\n") == "none");
}
