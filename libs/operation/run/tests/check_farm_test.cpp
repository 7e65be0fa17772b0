#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/run/farm_command.hpp>

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
  checked.status = check_farm({path, sets}, "", out, err);
  checked.page = text_of(out);
  checked.problems = text_of(err);
  return checked;
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
