// Filters in Python: one that decides, and some that misbehave and cost the slices that they misbehave over.
#include "farm_run.hpp"
#include "python_here.hpp"
#include "recorded_folder.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;
using Catch::ContainsSubstring;

constexpr std::uint64_t kSlices = 3000;
constexpr std::uint64_t kEvery = 900;
constexpr std::uint64_t kBad = 3;  // slices 900, 1800, 2700

std::string python_plugin(const char* name) { return std::string(WEIR_TEST_SOURCE_DIR) + "/plugins/" + name; }

FarmEnd run_filter(const TemporaryFolder& folder, const std::string& plugin,
                   const std::vector<std::string>& more) {
  std::vector<std::string> assignments{"filter.plugin=" + plugin, "supervisor.lease_ms=120000",
                                       "filter.timeout_ms=20000", "filter.workers.start_timeout_ms=20000"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  std::vector<std::string> arguments = sets(assignments);
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  return FarmRun(folder, config_file("event-building.yaml"), arguments).finish(Seconds(240));
}

FarmEnd run_unruly(const TemporaryFolder& folder, const std::string& what,
                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments{"filter.parameters.what=" + what,
                                       "filter.parameters.every=" + std::to_string(kEvery)};
  assignments.insert(assignments.end(), more.begin(), more.end());
  return run_filter(folder, "unruly.py", assignments);
}

std::string text_of(ConstBytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Checks that every slice is stored with the bytes that its sources made, and that exactly the bad ones have
// `decision` and `words` in their record.
void check_stored(const TemporaryFolder& folder, const FarmEnd& end, storage::DecisionKind decision,
                  const std::vector<std::string>& words) {
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  std::uint64_t found = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    const std::uint64_t id = slice.head().slice.value;
    const bool bad = id > 0 && id % kEvery == 0;
    if ((slice.head().decision == decision) != bad) FAIL_CHECK("slice " << id << " has the wrong decision");
    if (slice.head().decision != decision) return;
    ++found;
    for (const std::string& word : words) CHECK_THAT(text_of(slice.filter_result()), ContainsSubstring(word));
  });
  CHECK(found == kBad);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
  for (const auto& process : end.summary.json().at("processes").as_array())
    CHECK(process.at("exit_status").as_int64() == 0);  // each DCM lived
}

void check_poison(const std::string& what, const std::vector<std::string>& words,
                  const std::vector<std::string>& more = {}) {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_unruly(folder, what, more);
  check_stored(folder, end, storage::DecisionKind::poison, words);
  CHECK_THAT(end.logs, ContainsSubstring("poison slice="));
  CHECK(end.summary.count("filter_workers.slices_poisoned") == kBad);
}

void check_error(const std::string& what, const std::vector<std::string>& words,
                 const std::vector<std::string>& more = {}) {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_unruly(folder, what, more);
  check_stored(folder, end, storage::DecisionKind::no_filter, words);
  CHECK(end.summary.count("filter_workers.slices_poisoned") == 0);
}

}  // namespace

TEST_CASE("a filter in Python decides, reads every byte, and adds a result and events") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_filter(folder, python_plugin("sums.py"), {"filter.parameters.multiple=4"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices / 4);
  CHECK(end.summary.count("rejected") == kSlices - kSlices / 4);
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    CHECK(slice.head().slice.value % 4 == 0);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i)
      for (const std::byte byte : slice.fragment(i).bytes) sum += std::to_integer<std::uint64_t>(byte);
    std::uint64_t said = 0;
    REQUIRE(slice.filter_result().size() == sizeof said);
    std::memcpy(&said, slice.filter_result().data(), sizeof said);
    CHECK(said == sum);
  });
}
TEST_CASE("a filter in Python that crashes costs its slices, and their records name its line") {
  check_poison("crash", {"signal 11", "unruly.py", "in _misbehave"});
}
TEST_CASE("a filter in Python that aborts costs its slices") {
  check_poison("abort", {"signal 6", "in _misbehave"});
}
TEST_CASE("a filter in Python that calls exit(0) costs its slices") {
  check_poison("exit", {"exit status 0", "sys.exit(0)"});
}
TEST_CASE("a filter in Python that calls os._exit(0) costs its slices") {
  check_poison("_exit", {"exit status 0"});
}
TEST_CASE("a filter in Python that hangs costs its slices") {
  check_poison("hang", {"took longer than 800 ms", "in _misbehave"}, {"filter.timeout_ms=800"});
}
TEST_CASE("a filter in Python that loops costs its slices") {
  check_poison("spin", {"took longer than 800 ms", "in _misbehave"}, {"filter.timeout_ms=800"});
}
TEST_CASE("a filter in Python that takes all memory costs its slices") {
  check_poison("memory", {"out of memory", "MemoryError"}, {"filter.workers.memory_bytes=160MiB"});
}
TEST_CASE("a filter in Python that writes into slice memory costs its slices, and no byte changes") {
  check_poison("wild", {"signal 11"});
}
TEST_CASE("an exception in Python is an error of its slice, with the traceback in the record") {
  check_error("throw", {"RuntimeError: slice ", "unruly.py:", "Traceback", "in _misbehave"});
}
TEST_CASE("views of a slice cannot be written") { check_error("write", {"read-only"}); }
TEST_CASE("a filter in Python that returns no decision is told what to return") {
  check_error("nothing", {"returned None", "accept()"});
}
TEST_CASE("output of a filter in Python beyond the limits is an error of its slice") {
  check_error("overflow", {"more output events than the farm allows"});
}
TEST_CASE("a kept view is an error of its slice, and its bytes stay as they are") {
  check_error("keep", {"copy it"});
}
TEST_CASE("a batch that fails is repeated slice by slice") {
  check_error("throw", {"RuntimeError: slice "}, {"filter.parameters.batches=true"});
}
TEST_CASE("a batch that crashes is repeated slice by slice, and costs the slice that crashes alone") {
  check_poison("crash", {"signal 11"}, {"filter.parameters.batches=true"});
}
TEST_CASE("a batch in Python remembers its slices, in a farm and in weir filter try") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_filter(folder, python_plugin("remembers.py"), {});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  std::uint64_t remembered = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    remembered += text_of(slice.filter_result()) == std::to_string(slice.head().slice.value) ? 1 : 0;
  });
  CHECK(remembered == kSlices);
  const CommandEnd tried = run_command(
      folder, "weir", {"filter", "try", python_plugin("remembers.py"), folder / "out", "--repeat", "2"});
  INFO(tried.out << tried.err);
  CHECK(tried.status == 0);
}
TEST_CASE("a kept view in a batch is an error of its slice") {
  check_error("keep", {"copy it"}, {"filter.parameters.batches=true"});
}
TEST_CASE("a filter in Python that forks costs nothing") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_unruly(folder, "fork");
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count("filter_workers.slices_poisoned") == 0);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}
TEST_CASE("filters in Python and in C++ work in one farm") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const bool python_last = GENERATE(false, true);
  const std::string last = python_last ? python_plugin("receives.py") : "accept-all, isolation: worker";
  const std::string file = folder.write(
      "mixed.yaml",
      "farm: mixed\ntrigger: {mode: max}\nreadout: {count: 2, sources_per_readout: 4}\n"
      "supervisor: {lease_ms: 120000}\nfilter: {timeout_ms: 20000, workers: {start_timeout_ms: 20000}}\n"
      "dcm:\n  nodes:\n    - {name: selection, group: selection}\n    - {name: building, group: building}\n"
      "  groups:\n    - name: selection\n      forward: [building]\n      filter: {plugin: " +
          python_plugin("forwards.py") + "}\n    - name: building\n      filter: {plugin: " + last + "}\n");
  const FarmEnd end = run_farm(folder, file, {"--slices", "1000"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 500);
  CHECK(end.summary.count("rejected") == 500);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    CHECK(slice.head().decision == storage::DecisionKind::filter);
    CHECK(slice.filter_result().size() == (python_last ? 8 : 0));
  });
}
TEST_CASE("the same filter in Python and in C++ decides alike, slice by slice") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("demo.yaml"),
               {"--slices", "400", "--set", "filter.plugin=accept-all", "--set", "hits.track_rate_hz=50"});
  CHECK_BALANCED(end, 0);
  const auto compare = [&](const std::string& recording, const std::string& minimum) {
    const CommandEnd tried =
        run_command(folder, "weir",
                    {"filter", "try", "multiplicity.py", recording, "--against", "multiplicity", "--set",
                     "minimum=" + minimum, "--set", "window_ns=300"});
    INFO(tried.out << tried.err);
    CHECK(tried.status == 0);
    CHECK_THAT(tried.out,
               ContainsSubstring("agree on every slice") && !ContainsSubstring("accepted           0 "));
    CHECK_THAT(tried.out, !ContainsSubstring("rejected           0 "));
  };
  compare(folder / "out", "12");
  if (std::filesystem::exists(km3net_recording() + "/index.json")) compare(km3net_recording(), "30");
}
TEST_CASE("weir check refuses a filter in Python that cannot be used, with the key and a sentence") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const auto check = [&](const std::string& source, const std::vector<std::string>& more) {
    (void)folder.write("mine.py", source);
    std::vector<std::string> words{"check", config_file("event-building.yaml")};
    std::vector<std::string> assignments{"filter.plugin=" + (folder / "mine.py")};
    assignments.insert(assignments.end(), more.begin(), more.end());
    for (const std::string& word : sets(assignments)) words.push_back(word);
    return run_command(folder, "weir", words);
  };
  const std::string good =
      "from weir_daq.filters import accept\nclass Filter:\n  def process(self, slice): return accept()\n";
  CHECK(check(good, {}).status == 0);
  const auto refused = [&](const std::string& source, const std::vector<std::string>& more,
                           const std::vector<std::string>& words) {
    const auto end = check(source, more);
    CHECK(end.status == 2);
    for (const std::string& word : words) CHECK_THAT(end.err, ContainsSubstring(word));
  };
  refused("import nonexistent\n", {}, {"filter.plugin", "mine.py:1", "No module named 'nonexistent'"});
  refused("x = (\n", {}, {"filter.plugin", "SyntaxError", "mine.py:1"});
  refused("class Sieve: pass\n", {}, {"filter.plugin", "no class Filter"});
  refused("class Filter: pass\n", {}, {"filter.plugin", "process(self, slice)"});
  refused("import os\nos._exit(3)\n", {}, {"filter.plugin", "status 3"});
  refused(good, {"filter.parameters.minimun=5"}, {"filter.parameters.minimun", "takes none"});
  refused(good, {"filter.python=/nowhere/python3"},
          {"--set filter.python:", "/nowhere/python3", "apt install python3-numpy"});
  // The filter's own sentence names no parameter: the farm file's line and the option may both be meant.
  const std::string farm =
      folder.write("least.yaml", "farm: least\nfilter:\n  plugin: " + (folder / "bound.py") +
                                     "\n  parameters: {least: 1}\n");
  (void)folder.write(
      "bound.py",
      "from weir_daq.filters import accept\nclass Filter:\n  def __init__(self, setup):\n"
      "    if setup.parameter('least', 1) > setup.parameter('most', 9): raise ValueError('none')\n"
      "  def process(self, slice): return accept()\n");
  const auto both = run_command(folder, "weir", {"check", farm, "--set", "filter.parameters.most=0"});
  CHECK(both.status == 2);
  CHECK_THAT(both.err,
             ContainsSubstring("least.yaml:4, --set: filter.parameters: filter 'bound': ValueError"));
  // `weir run` finds it before a process of the farm starts.
  const FarmEnd run = run_filter(folder, folder / "mine.py", {"filter.parameters.minimun=5"});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, ContainsSubstring("filter.parameters.minimun") && ContainsSubstring("takes none"));
  CHECK(!std::filesystem::exists(folder / "out"));
}
TEST_CASE(
    "no file of the working folder is run, and a module beside a filter that hides one of Python's is "
    "named") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  for (const char* name : {"random.py", "logging.py", "json.py", "numpy.py", "runpy.py"})
    (void)folder.write(name, "open('hijacked', 'a').write(__file__)\n");
  std::filesystem::create_directories(folder / "filters");
  (void)folder.write("filters/test.py", "");  // hides nothing that is imported
  const std::string filter =
      folder.write("filters/mine.py",
                   "import json, random, mine_cuts\nfrom weir_daq.filters import accept\n"
                   "class Filter:\n  def process(self, slice): return accept()\n");
  (void)folder.write("filters/mine_cuts.py", "import logging\n");
  std::vector<std::string> words{"check", config_file("event-building.yaml")};
  for (const std::string& word : sets({"filter.plugin=" + filter})) words.push_back(word);
  const CommandEnd good = run_command(folder, "weir", words);
  INFO(good.err);
  CHECK(good.status == 0);
  CHECK(run_command(folder, "weir", {"file", "convert", "--to", "hdf5", folder / "nowhere"}).status == 1);
  CHECK(!std::filesystem::exists(folder / "hijacked"));
  (void)folder.write("filters/statistics.py", "");
  const CommandEnd hidden = run_command(folder, "weir", words);
  CHECK(hidden.status == 2);
  CHECK_THAT(hidden.err, ContainsSubstring("filters/statistics.py hides the module 'statistics'"));
}
TEST_CASE("a filter in Python that is edited in a run, with a module of its own, costs nothing") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "cuts");
  (void)folder.write("cuts/inner.py", "def good(id): return id % 900 != 0 or id == 0\n");
  const std::string filter = folder.write("mine.py",
                                          "import os\nfrom weir_daq.filters import accept\n"
                                          "class Filter:\n"
                                          "  def process(self, slice):\n"
                                          "    from cuts import inner\n"
                                          "    if inner.good(slice.id): return accept()\n"
                                          "    for name in (__file__, inner.__file__):\n"
                                          "      with open(name, 'w') as file: file.write('edited')\n"
                                          "    os.abort()\n");
  const FarmEnd end = run_filter(folder, filter, {});
  check_stored(folder, end, storage::DecisionKind::poison, {"signal 6", "mine.py", "line 9 in process"});
  CHECK(end.summary.count("filter_workers.restarts") >= kBad);
}
TEST_CASE("workers of Python end in order: atexit, __del__, and what their files have buffered") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const std::string filter = folder.write(
      "ends.py",
      "import atexit, os, threading, time\nfrom weir_daq.filters import accept\n"
      "def note(text): open(os.path.join(os.path.dirname(__file__), 'notes'), 'a').write(text + '\\n')\n"
      "class Object:\n  def __del__(self): note('del')\n"
      "class Filter:\n"
      "  def __init__(self, setup):\n"
      "    self.file = open(os.path.join(os.path.dirname(__file__), f'lines-{os.getpid()}'), 'w')\n"
      "    self.object = Object()\n"
      "    self.object.cycle = self.object\n"
      "    atexit.register(note, 'atexit')\n"
      "    if setup.parameter('thread', False): threading.Thread(target=time.sleep, args=(600,)).start()\n"
      "  def process(self, slice):\n"
      "    self.file.write('line\\n')\n"
      "    print('x' * 400)\n"
      "    return accept()\n");
  const bool thread = GENERATE(false, true);
  const FarmEnd end = run_filter(folder, filter,
                                 {"filter.workers.spare=0", "log.file_bytes_max=20000",
                                  thread ? "filter.parameters.thread=true" : "dcm.count=1"});
  CHECK_BALANCED(end, 0);
  std::size_t lines = 0;
  std::size_t workers = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "")) {
    if (!entry.path().filename().string().starts_with("lines-")) continue;
    ++workers;
    const std::string text = read_file(entry.path().string());
    lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  CHECK(lines == kSlices);
  const std::string notes = read_file(folder / "notes");
  std::size_t atexit = 0;
  for (std::size_t at = 0; (at = notes.find("atexit", at)) != notes.npos; ++at) ++atexit;
  CHECK(atexit == workers);
  CHECK(notes.find("del") != notes.npos);
  // Its output is in its DCM's log, and each file of that keeps the limit.
  constexpr std::uint64_t kSlack = 300'000;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out/log"))
    CHECK(entry.file_size() < 20'000 + kSlack);
}
TEST_CASE("numbers that do not fit are errors of their slices, not other numbers") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const std::string filter = folder.write("odd.py",
                                          "import numpy as np\nfrom weir_daq.filters import accept, need\n"
                                          "class Filter:\n"
                                          "  def __init__(self, setup): self.counter = setup.counter('odd')\n"
                                          "  def process(self, slice):\n"
                                          "    k = slice.id\n"
                                          "    if k == 1: return accept(events=[(-1, b'x')])\n"
                                          "    if k == 2: return accept(events=[(2**64, b'x')])\n"
                                          "    if k == 3: self.counter.add(-1)\n"
                                          "    if k == 4: slice.alert('huge', before_s=1e300)\n"
                                          "    if k == 5: return accept(keep=[99])\n"
                                          "    if k == 6: return need(2**32 + 1)\n"
                                          "    if k == 7: return accept(keep=[1.5])\n"
                                          "    if k == 8: return accept(events=[(1.5, b'x')])\n"
                                          "    if k == 9: slice.alert('nan', after_s=float('nan'))\n"
                                          "    if k == 10: return accept(stream=-1)\n"
                                          "    if k == 11: return accept(keep=[-1])\n"
                                          "    self.counter.add(np.uint64(2))\n"
                                          "    return accept(events=[(2**64 - 1, b'x'), (np.int32(5), "
                                          "b'y')], keep=[1, 99], prescaled=(1, 2**64 - 1))\n");
  const FarmEnd end = run_filter(folder, filter, {});
  std::uint64_t errors = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    const std::uint64_t id = slice.head().slice.value;
    const bool bad = id >= 1 && id <= 11;
    if ((slice.head().decision == storage::DecisionKind::no_filter) != bad) FAIL_CHECK("slice " << id);
    errors += bad ? 1 : 0;
    if (!bad) CHECK(slice.event_count() == 2);
  });
  CHECK(errors == 11);
}
