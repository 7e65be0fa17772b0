#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run/size_farm.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::run;
using Catch::ContainsSubstring;

namespace {

struct Checked {
  int status = 0;
  std::string page;
  std::string problems;
};

std::string text_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

constexpr const char* kSplitFarm =
    "farm: split\n"
    "dcm:\n"
    "  nodes:\n"
    "    - {name: 'near-{i}', count: 2, group: near}\n"
    "    - {name: far, group: far}\n"
    "  groups:\n"
    "    - {name: near, forward: [far], filter: {plugin: sequential, parameters: {forward: far}}}\n"
    "    - {name: far, remote: true, filter: {plugin: accept-all}}\n";

Checked check_text(const std::string& text, const std::vector<std::string>& sets = {}) {
  const ScratchFolder folder;
  const std::string path = folder.path() / "farm.yaml";
  std::ofstream(path) << text;
  std::FILE* out = std::tmpfile();
  std::FILE* err = std::tmpfile();
  Checked checked;
  checked.status = check_farm({path, sets}, "", "", out, err);
  checked.page = text_of(out);
  checked.problems = text_of(err);
  return checked;
}

struct Sized {
  int status = 0;
  std::string page;
  std::string problems;
  Checked checked;  // the printed farm file
};

// The printed file includes the farm, so it is checked while that exists.
Sized size_text(const std::string& text, std::uint32_t cores, double slices_per_s = 0) {
  const ScratchFolder folder;
  const std::string path = folder.path() / "farm.yaml";
  std::ofstream(path) << text;
  std::FILE* out = std::tmpfile();
  std::FILE* err = std::tmpfile();
  Sized sized;
  sized.status = size_farm({path, cores, slices_per_s}, out, err);
  sized.page = text_of(out);
  sized.problems = text_of(err);
  if (sized.status != 2) sized.checked = check_text(sized.page);
  return sized;
}

}  // namespace

TEST_CASE("parameters that the filter refuses are a problem of the farm file, at their line") {
  const Checked unknown =
      check_text("farm: small\nfilter:\n  plugin: prescale\n  parameters:\n    n: 2\n    colour: red\n");
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.problems, ContainsSubstring("farm.yaml:6: filter.parameters.colour: filter 'prescale': "
                                                 "unknown parameter 'colour'"));
  const Checked set =
      check_text("farm: small\nfilter: {plugin: prescale}\n", {"filter.parameters.colour=red"});
  CHECK(set.status == 2);
  CHECK_THAT(set.problems, ContainsSubstring("--set filter.parameters.colour: filter 'prescale'"));
}

TEST_CASE("a process that the farm does not have cannot be essential or transient") {
  const Checked checked =
      check_text("farm: small\ncontrol:\n  essential: [dcm-0, writer-9]\n  transient: [dmc-0]\n");
  CHECK(checked.status == 2);
  CHECK_THAT(
      checked.problems,
      ContainsSubstring("farm.yaml:3: control.essential: the farm has no process 'writer-9'; did you mean "
                        "'writer-0'?\n") &&
          ContainsSubstring("farm.yaml:4: control.transient: the farm has no process 'dmc-0'"));
}

TEST_CASE("groups of DCMs are listed with the way of a slice, and a filter's unknown group is a problem") {
  const Checked good = check_text(kSplitFarm);
  CHECK(good.problems == "");
  CHECK_THAT(good.page, ContainsSubstring("groups of DCMs\n  near             2 DCMs, forwards to far\n"
                                          "  far              1 DCM, remote\n"));
  std::string text = kSplitFarm;
  text.replace(text.find("forward: far}"), 12, "forward: fra");
  const Checked wrong = check_text(text);
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.problems, ContainsSubstring("farm.yaml:7: dcm.groups[0].filter.parameters.forward: filter "
                                               "'sequential'"));
  CHECK_THAT(wrong.problems,
             ContainsSubstring("may not forward to 'fra': its 'forward' in dcm.groups has far"));
}

TEST_CASE("a filter plugin that is not there is a problem of the farm file, at its line") {
  const Checked none = check_text("farm: small\nfilter:\n  plugin: no-such-filter\n");
  CHECK(none.status == 2);
  CHECK_THAT(none.problems, ContainsSubstring("farm.yaml:3: filter.plugin: "));
}

TEST_CASE("a farm with a filter that accepts its parameters is good") {
  const Checked good = check_text("farm: small\nfilter: {plugin: prescale}\n");
  INFO(good.problems);
  CHECK(good.status == 0);
}

TEST_CASE(
    "loopback addresses in a farm of several hosts cause a warning, with the processes and the remedy") {
  const std::string filter = "filter: {plugin: prescale}\nsecurity: {mode: open}\n";
  const Checked several =
      check_text("farm: two-hosts\nsupervisor: {listen: '10.9.0.1:7720'}\nreadout: {count: 2}\n" + filter);
  CHECK(several.status == 0);
  CHECK_THAT(several.problems, ContainsSubstring("readout.host: readout-0, readout-1 listen on loopback") &&
                                   ContainsSubstring("writer.host: writer-0 listens on loopback"));
  const Checked good = check_text(
      "farm: two-hosts\nsupervisor: {listen: '10.9.0.1:7720'}\nreadout: {host: 10.9.0.2}\nwriter: {host: "
      "10.9.0.1}\n" +
      filter);
  CHECK_THAT(good.problems, !ContainsSubstring("loopback"));
  const Checked one = check_text("farm: small\n" + filter);
  CHECK_THAT(one.problems, !ContainsSubstring("loopback"));
}

TEST_CASE("rows of slices that take more memory than the buffers are a warning, with what to do") {
  const Checked many =
      check_text("farm: many\nsource: {size_bytes: 12}\nreadout: {count: 10, sources_per_readout: 100000}\n");
  CHECK(many.status == 0);
  CHECK_THAT(many.problems, ContainsSubstring("readout.buffer_bytes: with this many sources, the rows"));
  CHECK_THAT(many.problems, ContainsSubstring("or set a smaller supervisor.in_flight_max"));
  CHECK_THAT(many.problems, ContainsSubstring("dcm.buffer_bytes: with this many sources, the rows"));
  CHECK_THAT(many.problems, ContainsSubstring("or set smaller dcm.credits"));
  CHECK_THAT(many.problems,
             ContainsSubstring("dcm.deadline_ms: a DCM that shares its core may need 5000 ms"));
  const Checked few = check_text("farm: few\nsource: {size_bytes: 0}\n");
  CHECK_THAT(few.problems, !ContainsSubstring("rows"));
}

TEST_CASE("a congestion control that the kernel does not have is a warning, with the names it has") {
  const Checked unknown = check_text("farm: small\nnetwork:\n  congestion_control: no-such\n");
  CHECK(unknown.status == 0);
  CHECK_THAT(unknown.problems,
             ContainsSubstring("farm.yaml:3: network.congestion_control: this kernel has no "
                               "'no-such', and uses its default; it has: ") &&
                 ContainsSubstring("reno"));
  const Checked known = check_text("farm: small\nnetwork: {congestion_control: reno}\n");
  CHECK_THAT(known.problems, !ContainsSubstring("congestion_control"));
}

TEST_CASE("burst rings that do not fit the free disk are refused, and their bytes are shown") {
  const std::string farm = "farm: small\nfilter: {plugin: prescale}\nburst:\n  buffer_bytes: 1MiB\n";
  const Checked large = check_text(farm + "  disk_bytes: 60TiB\n  folder: /tmp/weir-no-such-folder/ring\n");
  CHECK(large.status == 2);
  CHECK_THAT(large.problems, ContainsSubstring("farm.yaml:5: burst.disk_bytes: the DCMs need") &&
                                 ContainsSubstring("'/tmp/weir-no-such-folder/ring' has"));
  const Checked good = check_text(farm + "  disk_bytes: 2MiB\n  folder: /tmp/weir-no-such-folder/ring\n");
  CHECK(good.problems == "");
  CHECK(good.status == 0);
  const Checked nowhere = check_text(farm + "  disk_bytes: 2MiB\n");
  CHECK_THAT(nowhere.problems, ContainsSubstring("burst.folder: burst.disk_bytes needs a folder"));
  const Checked small = check_text(farm + "  disk_bytes: 1MiB\n  folder: /tmp\n");
  CHECK_THAT(small.problems, ContainsSubstring("is not above burst.buffer_bytes"));
  const Checked alone =
      check_text("farm: small\nfilter: {plugin: prescale}\nburst: {disk_bytes: 1MiB, folder: /tmp}\n");
  CHECK_THAT(alone.problems, ContainsSubstring("burst.disk_bytes: needs burst.buffer_bytes"));
}

TEST_CASE("the page has the limit of what run control holds for clients of its bus") {
  const Checked small = check_text("farm: small\nfilter: {plugin: accept-all}\n");
  CHECK(small.status == 0);
  CHECK_THAT(small.page, ContainsSubstring("run control") &&
                             ContainsSubstring(" clients of its bus, 1.05 MB for one without a key"));
}

TEST_CASE("check estimates the processor time, and warns with its key about a role of too few processes") {
  const std::string farm =
      "farm: small\ntrigger: {mode: rate, rate_hz: 1000}\nreadout: {count: 2, sources_per_readout: 2}\n"
      "dcm:\n  count: 1\nwriter: {count: 1}\n";
  const Checked modest = check_text(farm);
  CHECK(modest.status == 0);
  CHECK(modest.problems == "");
  CHECK_THAT(modest.page, ContainsSubstring("a slice takes ") &&
                              ContainsSubstring("1 000 a second use, of a core: ") &&
                              ContainsSubstring(" slices a second at most; then "));
  const Checked high = check_text(farm, {"trigger.rate_hz=600000"});
  CHECK(high.status == 0);
  CHECK_THAT(high.problems, ContainsSubstring("farm.yaml:5: dcm.count: 600 000 slices a second take ") &&
                                ContainsSubstring("writer.count: 600 000 slices"));
  CHECK_THAT(check_text(farm, {"run.mode=push"}).page, !ContainsSubstring("processor time"));
}

TEST_CASE("a farm sized for a host is a farm file with the same sources") {
  const std::string farm = "farm: small\nreadout: {count: 3, sources_per_readout: 4}\ndcm: {count: 9}\n";
  const Sized large = size_text(farm, 24);
  CHECK(large.status == 0);
  CHECK(large.problems == "");
  CHECK(large.checked.status == 0);
  CHECK_THAT(large.page,
             ContainsSubstring("for 24 cores, by `weir size`: ") && ContainsSubstring("\ndcm: {count: "));
  CHECK_THAT(large.checked.page, ContainsSubstring("dcm-1 ") && ContainsSubstring("-12\n"));
  const Sized small = size_text(farm, 1);
  CHECK_THAT(small.page,
             ContainsSubstring(
                 "readout: {count: 1, sources_per_readout: 12}\ndcm: {count: 1}\nwriter: {count: 1}\n"));
  const Sized beyond = size_text(farm, 2, 5e6);
  CHECK(beyond.status == 1);
  CHECK_THAT(beyond.problems, ContainsSubstring("5 000 000 slices a second are more than 2 cores can"));
}

TEST_CASE("sizing keeps front-ends with their readouts, and roles with a list of nodes") {
  const Sized listed = size_text(
      "farm: small\nreadout: {nodes: [{name: a, sources: [1, 2]}, {name: b, sources: [7]}]}\n"
      "dcm: {nodes: [{name: 'd-{i}', count: 3}]}\n",
      16);
  CHECK(listed.status == 0);
  CHECK_THAT(listed.page,
             ContainsSubstring("# The readouts and DCMs are those of ") && !ContainsSubstring("readout:"));
  CHECK(listed.checked.status == 0);
  CHECK_THAT(size_text("farm: small\nsource: {kind: udp, parameters: {port: 7000}}\n", 8).page,
             ContainsSubstring("# The readouts are those of "));
  CHECK(size_text("farm: small\nrun: {mode: push}\n", 8).status == 2);
}
