#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <fstream>
#include <string>

using namespace weir;
using config::Severity;

namespace {

Expected<config::ReplayContents, std::string> recording(const std::string& path) {
  if (path != "folder") return Unexpected<std::string>("'" + path + "': no such folder");
  return config::ReplayContents{{SourceId(10), SourceId(20)}, 1, 3000, 2000};
}

// Returns the problems of this severity of a farm file with this text.
std::string found(Severity severity, const std::string& text) {
  const auto file = config::read_farm(text, "farm.yaml");
  INFO((file ? "" : config::to_text(file.error())));
  REQUIRE(file.has_value());
  config::Problems chosen;
  for (const auto& problem : config::validate(file->farm, file->locations, recording)) {
    if (problem.severity == severity) chosen.push_back(problem);
  }
  return config::to_text(chosen);
}
std::string errors(const std::string& text) { return found(Severity::error, text); }
std::string warnings(const std::string& text) { return found(Severity::warning, text); }

}  // namespace

TEST_CASE("windows of time need a length, and a wait that is longer") {
  const std::string farm = "source: {kind: udp}\nbuild: {by: time";
  using Catch::ContainsSubstring;
  CHECK_THAT(errors(farm + "}\n"), ContainsSubstring("the window of an event is empty"));
  CHECK_THAT(errors(farm + ", after_us: 5, overlap_us: 5}\n"),
             ContainsSubstring("build.overlap_us: is for time slices"));
  CHECK_THAT(errors(farm + ", after_us: 500000}\n"),
             ContainsSubstring("source.wait_ms: is not longer than the window"));
  CHECK_THAT(errors(farm + ", before_us: 5}\n"),
             !ContainsSubstring("build") && !ContainsSubstring("source.wait_ms"));
  const std::string slices = "trigger: {mode: clock, slice_ms: 10}\n" + farm;
  CHECK_THAT(errors(slices + ", overlap_us: 100}\n"), !ContainsSubstring("build"));
  CHECK_THAT(errors(slices + ", overlap_us: 10001}\n"), ContainsSubstring("is longer than a time slice"));
  CHECK_THAT(errors(slices + ", after_us: 1}\n"), ContainsSubstring("build.after_us: is for events"));
  CHECK_THAT(errors("build: {overlap_us: 1}\n"),
             ContainsSubstring("build.overlap_us: needs build.by 'time'"));
}

TEST_CASE("a farm of defaults is valid, without a warning") {
  CHECK(config::to_text(config::validate(v1::Farm())).empty());
}

TEST_CASE("a trigger mode needs its own keys") {
  CHECK(errors("trigger:\n  mode: rate\n") == "farm.yaml:1: trigger.rate_hz: needed by trigger.mode 'rate'");
  CHECK(errors("trigger:\n  rate_hz: 0\n  mode: poisson\n") ==
        "farm.yaml:2: trigger.rate_hz: needed by trigger.mode 'poisson'");
  CHECK(errors("trigger:\n  mode: file\n") == "farm.yaml:1: trigger.file: needed by trigger.mode 'file'");
  CHECK(errors("trigger:\n  mode: file\n  file: /nonexistent\n") ==
        "farm.yaml:3: trigger.file: '/nonexistent': no such file");
  CHECK(errors("trigger: {mode: rate, rate_hz: 5}\n").empty());
}

TEST_CASE("a rate below one trigger a year is refused") {
  for (const char* rate : {"1e-8", "1e-12", "4e-320"}) {
    CHECK(errors("trigger: {mode: poisson, rate_hz: " + std::string(rate) + "}\n") ==
          "farm.yaml:1: trigger.rate_hz: a rate above 0 must be at least 3.2e-8 Hz, one trigger a year");
  }
  CHECK(errors("trigger: {mode: rate, rate_hz: 3.2e-8}\n").empty());
}

TEST_CASE("a first slice that leaves no ids for the others is refused with the highest that may be") {
  for (const char* beyond : {"4611686014132420608", "4611686018427387904", "18446744073709551615"}) {
    CHECK(errors("trigger:\n  first_slice: " + std::string(beyond) + "\n") ==
          "farm.yaml:2: trigger.first_slice: " + std::string(beyond) +
              " is above 4611686014132420607 (2^62 - 2^32 - 1), the highest id that may be named");
  }
  CHECK(errors("trigger: {first_slice: 4611686014132420607}\n").empty());
}

TEST_CASE("a trigger file may descend, unless slices are pushed or sources report by marks") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "triggers";
  const auto with = [&](const char* rest) {
    return errors("trigger: {mode: file, file: " + path + "}\n" + rest);
  };
  (void)folder.write("triggers", "131072 1\n65536 2\n");
  CHECK(with("").empty());
  CHECK_THAT(with("run: {mode: push}\nreadout: {shaper: direct}\n"),
             Catch::ContainsSubstring("slice 65536 follows slice 131072, and run.mode 'push' needs"));
  CHECK_THAT(with("source: {kind: udp}\n"),
             Catch::ContainsSubstring("slice 65536 follows slice 131072, and source.kind 'udp' needs"));
  CHECK_THAT(with("dcm: {order: id}\n"),
             Catch::ContainsSubstring("slice 65536 follows slice 131072, and dcm.order 'id' needs ascending "
                                      "numbers: each slice would be kept until all lower numbers have been "
                                      "filtered; set dcm.order to 'completed'"));
  (void)folder.write("triggers", "65536 2\n131072 1\n");
  CHECK(with("dcm: {order: id}\n").empty());
  CHECK(with("run: {mode: push}\nreadout: {shaper: direct}\n").empty());
  CHECK(with("source: {kind: udp}\n").empty());
}

TEST_CASE("a trigger type is listed once and names existing sources") {
  CHECK(errors("trigger:\n  types:\n    - {type: 1, name: a}\n    - {type: 1, name: b}\n") ==
        "farm.yaml:4: trigger.types[1].type: type 1 is listed twice");
  CHECK(errors("trigger:\n  types:\n    - {type: 1, name: a, sources: [1, 2]}\n") ==
        "farm.yaml:3: trigger.types[0].sources[1]: unknown source 2");
}

TEST_CASE("masked and first sources have to be there") {
  CHECK(errors("readout:\n  count: 2\n  masked: [3]\n") ==
        "farm.yaml:3: readout.masked[0]: unknown source 3");
  CHECK(errors("filter:\n  first_sources: [9]\n") ==
        "farm.yaml:2: filter.first_sources[0]: unknown source 9");
  CHECK(errors("readout:\n  masked: [1]\n") ==
        "farm.yaml:2: readout.masked: every source is masked: there is nothing to build");
  CHECK(warnings("readout:\n  count: 2\n  masked: [1,\n    1]\n") ==
        "farm.yaml:4: readout.masked[1]: source 1 is listed twice");
}

TEST_CASE("a replay needs a path that can be read") {
  CHECK(errors("source:\n  kind: replay\n") ==
        "farm.yaml: replay.path: needed by source.kind 'replay': set it in the farm file, or with "
        "--set replay.path=DIR");
  CHECK(errors("source: {kind: replay}\nreplay:\n  path: nowhere\n") ==
        "farm.yaml:3: replay.path: 'nowhere': no such folder");
  CHECK(errors("source: {kind: replay}\nreplay: {path: folder}\nreadout: {count: 2}\n").empty());
}

TEST_CASE("a listed readout has sources that the recording or the detector has") {
  CHECK(errors("source: {kind: replay}\nreplay: {path: folder}\nreadout:\n  nodes: [{name: a, sources: [10, "
               "11]}]\n") == "farm.yaml:4: readout.nodes[0].sources[1]: 'folder' holds no source 11");
  CHECK(errors("source: {kind: hits}\nreadout:\n  nodes: [{name: a, sources: [15, 16]}]\n") ==
        "farm.yaml:3: readout.nodes[0].sources[1]: the detector has no source 16, only 1 to 15");
}

TEST_CASE("sizes of dummy fragments agree with each other and with the DCM's limit") {
  CHECK(errors("source:\n  distribution: uniform\n  size_bytes_min: 4k\n  size_bytes_max: 1k\n") ==
        "farm.yaml:3: source.size_bytes_min: 4000 is above source.size_bytes_max, 1000");
  CHECK(errors("source:\n  size_bytes: 2MiB\n") ==
        "farm.yaml:2: source.size_bytes: 2MiB is outside of source.size_bytes_min to source.size_bytes_max, "
        "0 to 1MiB");
  CHECK(errors("source:\n  size_bytes: 2KiB\ndcm:\n  fragment_bytes_max: 1KiB\n") ==
        "farm.yaml:4: dcm.fragment_bytes_max: 1KiB is below the largest fragment, 2KiB");
}

TEST_CASE("inconsistent limits are errors") {
  CHECK(errors("dcm:\n  slices_max: 8\n") == "farm.yaml:2: dcm.slices_max: 8 is below dcm.credits, 64");
  CHECK(errors("network:\n  frame_bytes_max: 4KiB\n") == "");
  CHECK(errors("dcm:\n  buffer_bytes: 8MiB\n") ==
        "farm.yaml:1: dcm.fragment_bytes_max: 16MiB is above dcm.buffer_bytes, 8MiB");
  CHECK(errors("readout: {count: 100}\nsource: {size_bytes: 1MiB}\nwriter:\n  buffer_bytes: 64MiB\n") == "");
  const std::string gigabytes =
      "source: {size_bytes: 1GiB, size_bytes_max: 1GiB}\ndcm: {fragment_bytes_max: 1GiB, buffer_bytes: "
      "100GiB}\n"
      "writer: {buffer_bytes: 100GiB}\n";
  CHECK(errors(gigabytes + "readout: {count: 64, buffer_bytes: 8GiB}\n") == "");
  CHECK(errors(gigabytes + "readout: {count: 65, buffer_bytes: 8GiB}\n") ==
        "farm.yaml:4: readout: one slice of about 65GiB is above the longest that is stored, 64GiB");
  CHECK(errors("readout:\n  buffer_bytes: 4KiB\n  sources_per_readout: 5\n") ==
        "farm.yaml:2: readout.buffer_bytes: 4KiB is below one slice of about 5KiB");
  CHECK(
      errors("readout: {count: 4, sources_per_readout: 2000}\nsource: {size_bytes: 1}\n"
             "dcm: {buffer_bytes: 64KiB, fragment_bytes_max: 64KiB}\n") ==
      "farm.yaml:3: dcm.buffer_bytes: 64KiB is below 85333: one slice of about 8000 and the gaps between its "
      "fragments");
  CHECK(errors("source: {kind: hits}\ntrigger:\n  slice_ms: 5000\n") ==
        "farm.yaml:3: trigger.slice_ms: 5000 is above 4294, the longest slice of source.kind 'hits'");
}

TEST_CASE("a row of ports beyond 65535 is refused with a valid beginning") {
  // One supervisor, one writer, two DCMs and two readouts.
  const std::string farm = "readout: {count: 2}\ndcm: {count: 2}\nwriter: {count: 1}\n";
  CHECK(errors(farm + "metrics: {listen: '127.0.0.1:65531'}\n") ==
        "farm.yaml:4: metrics.listen: 'readout-1' would need port 65536: start at 65530 or below, because "
        "each process uses the next port");
  CHECK(errors(farm + "metrics: {listen: '[::1]:65535'}\n") ==
        "farm.yaml:4: metrics.listen: 'writer-0' would need port 65536: start at 65530 or below, because "
        "each process uses the next port");
  CHECK(errors(farm + "metrics: {listen: '127.0.0.1:65530'}\n").empty());
  CHECK(errors(farm + "metrics: {listen: '127.0.0.1:0'}\n").empty());
  const std::string udp = farm + "source: {kind: udp, wait_ms: 100, parameters: {port: ";
  CHECK(errors(udp + "65535}}\n") ==
        "farm.yaml:4: source.parameters: port 65535 leaves none for 'readout-1', which takes port + 1");
  CHECK(errors(udp + "65534}}\n").empty());
  CHECK(errors(udp + "0}}\n").empty());
}

TEST_CASE("the page needs a port of its own beside the three of run control's bus") {
  for (const char* page : {"127.0.0.1:7700", "127.0.0.1:7702", "0.0.0.0:7701", "localhost:7701"}) {
    CAPTURE(page);
    CHECK_THAT(errors("control: {listen: '127.0.0.1:7700', page: '" + std::string(page) + "'}\n"),
               Catch::ContainsSubstring("which takes 7700 to 7702") && Catch::ContainsSubstring("as 7703"));
  }
  for (const char* page : {"127.0.0.1:7703", "127.0.0.1:7699", "127.0.0.1:0", "127.0.0.2:7700"}) {
    CAPTURE(page);
    CHECK(errors("control: {listen: '127.0.0.1:7700', page: '" + std::string(page) + "'}\n") == "");
  }
}

TEST_CASE("the page's HTTPS takes a certificate and its key") {
  CHECK_THAT(errors("control:\n  page: '127.0.0.1:0'\n  page_certificate: a.pem\n"),
             Catch::ContainsSubstring("control.page_key: needed by control.page_certificate"));
  CHECK_THAT(errors("control:\n  page: '127.0.0.1:0'\n  page_key: a.key\n"),
             Catch::ContainsSubstring("control.page_certificate: needed by control.page_key"));
  const std::string both = "control: {page_certificate: a.pem, page_key: a.key";
  CHECK(errors(both + "}\n") == "");
  CHECK_THAT(warnings(both + "}\n"), Catch::ContainsSubstring("has no effect without control.page"));
  CHECK(warnings(both + ", page: '127.0.0.1:0'}\n") == "");
}

TEST_CASE("triggers as lines of text need mode network, and their own key beyond loopback") {
  CHECK(errors("trigger: {mode: network, listen_text: '127.0.0.1:5571'}\n") == "");
  CHECK(errors("trigger:\n  listen_text: '127.0.0.1:5571'\n") ==
        "farm.yaml:2: trigger.listen_text: needs trigger.mode 'network'");
  const std::string open = "trigger: {mode: network, listen_text: '0.0.0.0:5571'";
  CHECK_THAT(errors(open + "}\nsecurity: {key_file: farm.key}\n"),
             Catch::ContainsSubstring("trigger.key_file: needed, as trigger.listen_text is 0.0.0.0:5571") &&
                 Catch::ContainsSubstring("`weir keys trigger`"));
  CHECK(errors(open + ", key_file: trigger.key}\n") == "");
  CHECK_THAT(warnings(open + "}\nsecurity: {mode: open}\n"),
             Catch::ContainsSubstring("any program that reaches 0.0.0.0:5571 can offer triggers"));
}

TEST_CASE("slices by number need front-ends that count, and no triggers") {
  const std::string udp = "source: {kind: udp}\n";
  CHECK(errors("build: {by: number}\n" + udp) == "");
  CHECK(errors("build: {by: number, counter_bits: 48}\n" + udp) == "");
  CHECK(errors("build: {by: number, counter_bits: 8}\nsource: {kind: plugin, plugin: board}\n") == "");
  CHECK_THAT(errors("build: {by: number}\n"),
             Catch::ContainsSubstring("build.by: 'number' needs front-ends that count"));
  CHECK_THAT(
      errors("build: {by: number}\ntrigger: {mode: network}\n" + udp),
      Catch::ContainsSubstring("trigger.mode: build.by 'number' takes its slices from the front-ends"));
  CHECK_THAT(errors("build: {by: number, counter_bits: 16}\n" + udp),
             Catch::ContainsSubstring("'udp' needs numbers of at least 48 bits"));
  CHECK_THAT(errors("build: {counter_bits: 7}\n"),
             Catch::ContainsSubstring("build.counter_bits: 7 is below 8"));
  CHECK_THAT(errors("build: {offsets: [{sources: [1, 2]}, {sources: [2]}]}\n"),
             Catch::ContainsSubstring("build.offsets[1].sources: source 2 has an offset already"));
  CHECK_THAT(warnings("build: {by: number, skew_ms: 600}\n" + udp),
             Catch::ContainsSubstring("build.skew_ms: is longer than source.wait_ms"));
}

TEST_CASE("a farm that listens beyond loopback needs a key, or security.mode=open") {
  CHECK(errors("readout: {host: 127.0.0.2}\nwriter: {host: '::1'}\nsupervisor: {listen: 'localhost:0'}\n") ==
        "");
  CHECK(
      errors("readout:\n  host: 10.0.0.1\n  count: 3\n") ==
      "farm.yaml: security.key_file: needed, as readout-0 listens at 10.0.0.1:0 and 2 more like it, outside "
      "this machine: create keys with `weir keys new`, or set security.mode=open on a private "
      "network");
  CHECK_THAT(errors("trigger: {mode: network, listen: '0.0.0.0:7000'}\n"),
             Catch::ContainsSubstring("as the supervisor's port for triggers listens at 0.0.0.0:7000"));
  CHECK(errors("trigger: {listen: '0.0.0.0:7000'}\n") == "");  // other modes do not listen there
  CHECK(errors("readout: {host: 10.0.0.1}\nsecurity: {key_file: farm.key}\n") == "");
  CHECK(errors("readout: {host: 10.0.0.1}\nsecurity: {mode: open}\n") == "");
  CHECK_THAT(warnings("readout: {host: 10.0.0.1}\nsecurity:\n  mode: open\n"),
             Catch::ContainsSubstring("farm.yaml:3: security.mode: 'open': readout-0 listens at"));
  CHECK(errors("security:\n  tls: true\n") ==
        "farm.yaml:1: security.key_file: needed by security.tls: create keys with `weir keys new`");
}

TEST_CASE("counters and times can be compared where front-ends have them") {
  CHECK(errors("build: {counter_bits: 8}\n").empty());
  CHECK(warnings("build: {counter_bits: 8}\n").empty());
  CHECK_THAT(warnings("source: {kind: udp}\nbuild: {counter_bits: 8}\n"),
             Catch::Matchers::ContainsSubstring(
                 "farm.yaml:2: build.counter_bits: the supervisor makes the triggers"));
  CHECK(
      warnings("source: {kind: udp}\ntrigger: {mode: network}\nbuild: {counter_bits: 8}\n").find("counter") ==
      std::string::npos);
  CHECK_THAT(warnings("build: {on_out_of_step: mask}\n"),
             Catch::Matchers::ContainsSubstring("nothing is compared"));
  CHECK_THAT(errors("build: {counter_bits: 8, on_out_of_step: realign}\n"),
             Catch::Matchers::ContainsSubstring("'realign' is for front-ends that deliver by themselves"));
  CHECK_THAT(
      errors("source: {kind: udp}\nbuild: {by: number, on_out_of_step: realign}\n"),
      Catch::Matchers::ContainsSubstring("'realign' in build.by 'number' needs the front-ends' times"));
  CHECK(warnings("source: {kind: udp}\nbuild: {by: number, on_out_of_step: mask}\n").find("compared") ==
        std::string::npos);
  CHECK_THAT(warnings("trigger: {mode: rate, rate_hz: 1000}\nbuild: {time_tolerance_us: 500}\n"),
             Catch::Matchers::ContainsSubstring("below half of the time between triggers"));
  CHECK(warnings("trigger: {mode: rate, rate_hz: 1000}\nbuild: {time_tolerance_us: 499}\n").empty());
  CHECK(errors("build: {counter_bits: 8, offsets: [{sources: [1, 99999], counter: 1}]}\n") ==
        "farm.yaml:1: build.offsets[0].sources[1]: unknown source 99999");
}

TEST_CASE("limits that waste something are warnings") {
  CHECK_THAT(warnings("readout: {count: 100}\nsource: {size_bytes: 1MiB}\nwriter:\n  buffer_bytes: 64MiB\n"),
             Catch::ContainsSubstring("farm.yaml:4: writer.buffer_bytes: 64MiB is below one slice of about "
                                      "100MiB: a writer accepts one at a time, and needs memory for it"));
  CHECK(warnings("dcm:\n  credits: 2\n  processing_units: 4\n") ==
        "farm.yaml:2: dcm.credits: 2 is below dcm.processing_units, 4: some of them never work");
  CHECK(
      warnings("supervisor:\n  in_flight_max: 10\n") ==
      "farm.yaml:2: supervisor.in_flight_max: 10 is below the DCMs' 64 credits: some of them are never used");
  CHECK(warnings("supervisor:\n  in_flight_max: 9000\n") ==
        "farm.yaml:2: supervisor.in_flight_max: 9000 is above readout.buffer_slices, 8192: the readouts are "
        "the limit");
  CHECK(warnings("supervisor:\n  lease_ms: 1000\n") ==
        "farm.yaml:2: supervisor.lease_ms: 1000 is not above filter.step_deadline_ms, 1000: a long step is "
        "ended before it counts as stalled");
  CHECK(warnings("dcm:\n  shaper: byte-credits\n  window_bytes: 32KiB\n  range_bytes: 64KiB\n") ==
        "farm.yaml:3: dcm.window_bytes: 32KiB is below one request of 64KiB: set a smaller dcm.range_bytes, "
        "otherwise requests go one by one");
  CHECK(
      warnings("readout: {count: 64}\nsource: {size_bytes: 256KiB}\nsupervisor: {in_flight_max: 1000}\n") ==
      "farm.yaml: dcm.buffer_bytes: 512MiB holds about 28 slices in blocks of 16MiB, and dcm.credits allows "
      "for 64: memory is the limit");
  CHECK_THAT(
      warnings("readout: {count: 4, sources_per_readout: 1000}\nsource: {size_bytes: 1}\n"
               "dcm: {buffer_bytes: 1MiB, fragment_bytes_max: 64KiB}\n"),
      Catch::ContainsSubstring("farm.yaml:3: dcm.buffer_bytes: 1MiB holds about 28 slices in blocks of "
                               "32KiB, and dcm.credits allows for 64"));
}

TEST_CASE("of two inconsistent times the larger one is refused at its line") {
  CHECK(errors("control:\n  heartbeat_ms: 5000\n") ==
        "farm.yaml:2: control.heartbeat_ms: 5000 is not below control.silence_ms, 5000: run control would "
        "consider live processes dead between two heartbeats; set at most a third of it");
  CHECK(errors("control: {heartbeat_ms: 500, silence_ms: 499}\n") != "");
  CHECK(errors("control: {heartbeat_ms: 498, silence_ms: 499}\n") == "");
  CHECK(errors("dcm:\n  deadline_ms: 2\nnetwork: {round_trip_us: 2000}\n") ==
        "farm.yaml:2: dcm.deadline_ms: 2 is not above network.round_trip_us, 2000: every slice would be "
        "incomplete");
  CHECK(errors("dcm: {deadline_ms: 3}\nnetwork: {round_trip_us: 2000}\n") == "");
  CHECK_THAT(
      errors("network: {hello_timeout_ms: 1, round_trip_us: 1000}\n"),
      Catch::ContainsSubstring("network.hello_timeout_ms: 1 is not above network.round_trip_us, 1000"));
}

TEST_CASE("a writer syncs within the time in which it has to acknowledge") {
  const std::string slow = "supervisor: {lease_ms: 2000}\nwriter:\n  sync_interval_ms: 2000\n";
  CHECK(errors(slow + "  count: 2\n") ==
        "farm.yaml:3: writer.sync_interval_ms: 2000 is not below supervisor.lease_ms, 2000: each slice would "
        "go "
        "to another writer before it is acknowledged");
  CHECK(errors(slow + "  nodes: [{name: a, sync_interval_ms: 100}, {name: b, sync_interval_ms: 1999}]\n") ==
        "");
  CHECK_THAT(errors(slow + "  nodes: [{name: a, sync_interval_ms: 100}, {name: b}]\n"),
             Catch::ContainsSubstring("writer.sync_interval_ms: 2000 is not below supervisor.lease_ms"));
  CHECK(errors(slow) == "");  // no other writer
  CHECK(warnings("writer:\n  sync_interval_ms: 1000\nrun: {drain_timeout_s: 1}\n") ==
        "farm.yaml:2: writer.sync_interval_ms: 1000 is not below run.drain_timeout_s, 1 s: the last slices "
        "of a "
        "run are discarded before they are synced");
  CHECK(warnings("writer: {sync_interval_ms: 1000}\nrun: {drain_timeout_s: 0}\n") == "");
}

TEST_CASE("planes are networks of the same size, with an address of each readout, and time for a move") {
  const auto farm = [](const std::string& planes, const std::string& more = "") {
    return "readout: {host: 127.1.0.1}\nnetwork:\n  planes: " + planes + "\n" + more;
  };
  const std::string two = "[{name: a, network: 127.1.0.0/16}, {name: b, network: 127.2.0.0/16}]";
  CHECK(errors(farm(two)).empty());
  CHECK(errors(farm("[{name: a, network: 127.1.0.0/16}]")) ==
        "farm.yaml:3: network.planes: needs 2 to 8 entries, or none for a single network, and has 1");
  CHECK(errors(farm("[{name: a, network: 127.1.0.0/16}, {name: a, network: 127.1.0.0/16}]")) ==
        "farm.yaml:3: network.planes[1].name: another plane is called 'a' already\n"
        "farm.yaml:3: network.planes[1].network: is the network of another plane, too");
  CHECK(errors(farm("[{name: a, network: 127.1.0.0/16}, {name: b, network: 127.2.0.1/16}]")) ==
        "farm.yaml:3: network.planes[1].network: '127.2.0.1/16' is not an IPv4 network of 8 to 30 bits, as "
        "10.1.0.0/16");
  CHECK(errors(farm("[{name: a, network: 127.1.0.0/16}, {name: b, network: 127.2.0.0/24}]")) ==
        "farm.yaml:3: network.planes[1].network: has 24 bits, and the first plane has 16: hosts have the "
        "same address "
        "but for these bits in each plane");
  CHECK(errors("network:\n  planes: " + two + "\n") ==
        "farm.yaml: readout.host: readout-0 listens at '127.0.0.1', which is not in 127.1.0.0/16, the "
        "network of the "
        "first plane");
  CHECK(errors(farm(two, "  heartbeat_ms: 200\n")) ==
        "farm.yaml:4: network.heartbeat_ms: network.heartbeat_ms x network.heartbeat_misses is 600, above "
        "half of "
        "dcm.deadline_ms, 1000: slices would be incomplete before their DCM has moved");
  CHECK(
      errors(farm(two, "  plane_hold_ms: 400\n")) ==
      "farm.yaml:4: network.plane_hold_ms: 400 is too short: network.heartbeat_ms x network.heartbeat_misses "
      "is 450 ms, in which no plane can be judged");
}

TEST_CASE("an empty text for a required key is an error") {
  CHECK(errors("run:\n  out: ''\n") == "farm.yaml:2: run.out: needs a directory");
  CHECK(errors("filter:\n  plugin: ''\n") ==
        "farm.yaml:2: filter.plugin: needs a plugin; 'accept-all' keeps everything");
}

TEST_CASE("an output folder that only a shell would expand is an error") {
  CHECK(errors("run:\n  out: ~/x\n") ==
        "farm.yaml:2: run.out: '~/x' is not expanded here, and would be a folder named '~': write the full "
        "path, or ./~");
  CHECK(errors("control:\n  out: '~'\n").starts_with("farm.yaml:2: control.out: '~' is not expanded here"));
  CHECK(errors("run:\n  out: ./~/x\n").empty());
  CHECK(errors("run:\n  out: a~b\n").empty());
  const std::string variable = " has a variable, which is not expanded here: write the full path";
  CHECK(errors("run:\n  out: ${HOME}/x\n") == "farm.yaml:2: run.out: '${HOME}/x'" + variable);
  CHECK(errors("burst:\n  folder: /data/$USER\n") == "farm.yaml:2: burst.folder: '/data/$USER'" + variable);
  CHECK(errors("filter:\n  search_path: [a, $(pwd)/b]\n") ==
        "farm.yaml:2: filter.search_path[1]: '$(pwd)/b'" + variable);
  CHECK(errors("filter:\n  plugin: $HOME/x.so\n") == "farm.yaml:2: filter.plugin: '$HOME/x.so'" + variable);
  CHECK(errors("run:\n  out: a$b\n").empty());
}

TEST_CASE("the lines of a trigger file are checked, whatever the order of its ids may be") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "triggers";
  std::ofstream(path) << "hello\n";
  CHECK_THAT(errors("trigger:\n  mode: file\n  file: " + path + "\n"),
             Catch::ContainsSubstring("farm.yaml:3: trigger.file: " + path + ":1: "));
  std::ofstream(path) << "7 1000 2 ff # a comment\n\n3 2000\n";
  CHECK(errors("trigger:\n  mode: file\n  file: " + path + "\n").empty());
}

TEST_CASE("a front-end needs a plugin, and is waited for shorter than a slice is") {
  CHECK(errors("source: {kind: plugin}\n") == "farm.yaml:1: source.plugin: needed by source.kind 'plugin'");
  CHECK(errors("source: {kind: plugin, plugin: mine}\n").empty());
  CHECK(errors("source: {kind: udp}\n").empty());
  CHECK(errors("source:\n  kind: udp\n  plugin: udp\n") ==
        "farm.yaml:3: source.plugin: source.kind 'udp' names its plugin itself: leave this out, or set "
        "source.kind to 'plugin'");
  CHECK_THAT(warnings("source: {kind: udp, wait_ms: 2000}\n"),
             Catch::ContainsSubstring("source.wait_ms: a slice is given up after dcm.deadline_ms, 1000 ms"));
}

TEST_CASE("push running needs to know its slots, its limit, and delays for a cut-off") {
  CHECK(errors("run: {mode: push}\nreadout: {count: 2}\n") ==
        "farm.yaml:2: readout.slot_ms: needed by readout.shaper 'barrel' where trigger.mode is not 'clock', "
        "'rate' or 'poisson'");
  CHECK(errors("run: {mode: push}\ntrigger: {mode: clock}\n").empty());
  CHECK(errors("run: {mode: push}\nreadout: {shaper: direct}\n").empty());
  CHECK(errors("run: {mode: push}\ntrigger: {mode: clock}\nreadout: {on_overrun: drop}\n") ==
        "farm.yaml:3: readout.overrun_bytes: needed by readout.on_overrun 'truncate' and 'drop'");
  CHECK_THAT(errors("run: {mode: push}\nreadout: {shaper: direct, cut_off_bytes: 5}\n"),
             Catch::ContainsSubstring("readout.cut_off_bytes: needs readout.shaper 'barrel'"));
  CHECK(errors("readout: {on_overrun: drop, slot_ms: 1}\n").empty());  // pull mode
}

TEST_CASE("slices in order need push running, and sources with bursts together whole groups") {
  const std::string push = "run: {mode: push}\ntrigger: {mode: clock}\n";
  CHECK(errors(push + "dcm: {incomplete: order}\n").empty());
  CHECK(errors("dcm: {incomplete: order}\n") ==
        "farm.yaml:1: dcm.incomplete: 'order' needs run.mode 'push': requested fragments have no order that "
        "tells which are late");
  CHECK(errors(push + "dcm: {incomplete: order, credits: 8, slices_max: 16}\n").empty());
  CHECK(errors(push + "dcm: {incomplete: order, credits: 8, slices_max: 15}\n") ==
        "farm.yaml:3: dcm.slices_max: 15 is below twice dcm.credits, 8: with dcm.incomplete 'order' a slice "
        "that arrives while decided ones await their confirmation would lose its fragments");
  CHECK_THAT(warnings(push + "dcm: {incomplete: order}\nsource: {kind: udp, wait_ms: 500}\n"),
             Catch::ContainsSubstring("source.wait_ms: should be below dcm.push_wait_ms, 500 ms"));
  CHECK_THAT(warnings(push + "dcm: {incomplete: order}\nsource: {kind: udp, wait_ms: 400}\n"),
             !Catch::ContainsSubstring("source.wait_ms"));
  const std::string cut_off = push + "readout: {cut_off_bytes: 5, cut_off_sources: 3, sources_per_readout: ";
  CHECK(errors(cut_off + "6}\n").empty());
  CHECK(errors(cut_off + "7}\n") ==
        "farm.yaml:3: readout.cut_off_sources: 3 does not divide the 7 sources of readout-0");
  CHECK(warnings(push + "readout: {cut_off_sources: 3, sources_per_readout: 3}\n") ==
        "farm.yaml:3: readout.cut_off_sources: has no effect without readout.cut_off_bytes");
}

TEST_CASE("more delays than DCMs, and more slices in transit than allowed, are warnings") {
  const std::string farm =
      "run: {mode: push}\ntrigger: {mode: clock}\nreadout:\n  count: 16\n  barrel_group: ";
  CHECK(warnings(farm + "2\ndcm: {count: 8}\n").empty());
  CHECK(warnings(farm + "2\ndcm: {count: 4}\n") ==
        "farm.yaml:5: readout.barrel_group: 2 makes 8 delays, more than there are DCMs, 4: readouts of two "
        "delays send to one DCM at a time; 4 is the least that fits");
  CHECK_THAT(warnings(farm + "2\ndcm: {count: 8, push_active_slices: 2}\n"),
             Catch::ContainsSubstring("dcm.push_active_slices: 2 is below the 3 slices"));
}

TEST_CASE("a window for a shaper that is not selected causes a warning") {
  CHECK(warnings("dcm:\n  window_bytes: 72000\n") ==
        "farm.yaml:2: dcm.window_bytes: has no effect with dcm.shaper 'adaptive', the default: set "
        "dcm.shaper to "
        "'byte-credits'");
  CHECK(warnings("dcm: {shaper: adaptive, window_bytes: 72000}\n").empty());
  CHECK(warnings("dcm: {shaper: byte-credits, window_bytes: 72000}\n").empty());
}

TEST_CASE("faults on purpose are for sources that Weir makes itself") {
  CHECK(
      errors("source:\n  kind: udp\n  faults: [{drop: 0.1}]\n") ==
      "farm.yaml:3: source.faults: faults on purpose are for emulated and recorded sources: 'dummy', 'hits', "
      "'replay'");
  CHECK(errors("source:\n  faults:\n    - {silent_every_s: 2, silent_for_s: 3}\n") ==
        "farm.yaml:3: source.faults[0].silent_for_s: 3 is above source.faults[0].silent_every_s, 2");
  CHECK(warnings("run: {checksums: false}\nsource:\n  faults: [{corrupt: 0.1}]\n") ==
        "farm.yaml:3: source.faults[0].corrupt: goes undetected without run.checksums");
}

TEST_CASE("a farm that is longer than a farm file may be is refused before its processes read it") {
  v1::Farm farm;
  const auto set_length = [&](std::size_t bytes) {
    (*farm.mutable_filter()->mutable_parameters())["text"] = std::string(bytes, 'x');
  };
  set_length(config::kFarmFileBytesMax / 2);
  CHECK(config::to_text(config::validate(farm)).empty());
  set_length(config::kFarmFileBytesMax);
  CHECK_THAT(config::to_text(config::validate(farm)),
             Catch::ContainsSubstring("bytes long with its included files, and above 16777216"));
}

TEST_CASE("a farm with long lists of sources is read again as it was recorded") {
  std::string text = "readout:\n  nodes:\n";
  for (int readout = 0; readout < 20; ++readout) {
    text += "    - name: r" + std::to_string(readout) + "\n      sources: [";
    for (int i = 0; i < 10'000; ++i)
      text += std::to_string(3 * (readout * 10'000 + i) + 1) + (i < 9'999 ? "," : "");
    text += "]\n";
  }
  const auto file = config::read_farm(text, "farm.yaml");
  INFO((file ? "" : config::to_text(file.error()).substr(0, 300)));
  REQUIRE(file.has_value());
  const std::string recorded = config::to_yaml(file->farm);
  REQUIRE(recorded.size() > std::size_t{1} << 20);
  const auto again = config::read_farm(recorded, "again.yaml");
  REQUIRE(again.has_value());
  CHECK(config::to_yaml(again->farm) == recorded);
}

namespace {

constexpr const char* kSplit =
    "dcm:\n"
    "  nodes:\n"
    "    - {name: 'sel-{i}', count: 2, group: selection}\n"
    "    - {name: build, group: building}\n"
    "  groups:\n"
    "    - {name: selection, forward: [building]}\n"
    "    - {name: building}\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("groups of DCMs have names, DCMs, and a way to each of them from the first") {
  CHECK(errors(kSplit).empty());
  CHECK(errors(with(kSplit, "group: building}", "group: bulding}")) ==
        "farm.yaml:4: dcm.nodes[1].group: unknown group 'bulding': not in dcm.groups; did you mean "
        "'building'?\n"
        "farm.yaml:7: dcm.groups[1]: group 'building' has no DCM in dcm.nodes");
  CHECK(errors(with(kSplit, ", group: building", "")) ==
        "farm.yaml:4: dcm.nodes[1].group: name its group: dcm.groups has 'selection' and others\n"
        "farm.yaml:7: dcm.groups[1]: group 'building' has no DCM in dcm.nodes");
  CHECK(errors(with(kSplit, "forward: [building]", "forward: [builder]")) ==
        "farm.yaml:6: dcm.groups[0].forward[0]: unknown group 'builder': not in dcm.groups\n"
        "farm.yaml:7: dcm.groups[1]: no slice reaches group 'building': name it in the `forward` of another "
        "group, or remove it");
  CHECK(errors(with(kSplit, "- {name: building}", "- {name: building, forward: [selection]}")) ==
        "farm.yaml:7: dcm.groups[1].forward[0]: a slice that was forwarded to 'selection' would return "
        "there: a slice never goes back");
  CHECK(errors(std::string(kSplit) + "run: {mode: push}\ntrigger: {mode: clock}\n") ==
        "farm.yaml:5: dcm.groups: needs run.mode 'pull': pushed slices are sent before any filter decides");
  CHECK(errors(std::string(kSplit) + "supervisor: {policy: static}\n") ==
        "farm.yaml:8: supervisor.policy: has no effect besides dcm.groups: set policy in each group");
  CHECK(errors("dcm: {groups: [{name: one}]}\n").find("dcm.groups: needs dcm.nodes") != std::string::npos);
}

TEST_CASE("a group's filter is checked as its DCMs have it") {
  const std::string found =
      errors(with(kSplit, "- {name: building}", "- {name: building, filter: {first_sources: [99]}}"));
  CHECK(found.starts_with("farm.yaml:7: dcm.groups[1].filter.first_sources[0]: "));
  CHECK(found.ends_with("source 99"));
}
