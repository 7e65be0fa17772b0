// The real weir-filter-worker under filters that misbehave.
#include "skip.hpp"
#include "test_slice.hpp"
#include <weir/base/memory_region.hpp>
#include <weir/base/scratch_folder.hpp>
#include <weir/filter_host/spawned_workers.hpp>
#include <weir/filter_host/worker_units.hpp>
#include <weir/histograms/contents.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace weir;
using namespace weir::filter_host;
using namespace weir::filter_host::test;

namespace {

constexpr std::size_t kFragmentBytes = 256;
constexpr std::uint32_t kSources = 4;
constexpr std::string_view kSanitizers = WEIR_TEST_SANITIZERS;  // "", "thread", "address,undefined"
constexpr char kNoMemoryLimit[] = "under a sanitizer a process cannot have a memory limit";

// A machine that is busy takes its time for everything else.
bool hangs(const Parameters& parameters) {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const auto& one) { return one.second == "hang" || one.second == "spin"; });
}

// A DCM reduced to its filter units: slices in sealed memory, jobs, results.
class SmallDcm {
 public:
  explicit SmallDcm(Parameters parameters, const std::string& plugin = "unruly",
                    std::uint64_t memory_bytes = 0, std::size_t slices = 512,
                    const std::vector<std::string>& search_path = {WEIR_TEST_PLUGIN_DIR})
      : region_("weir-test", slices * kSources * kFragmentBytes),
        host_({WEIR_FILTER_WORKER}, region_.descriptor()) {
    region_.seal();
    for (std::size_t i = 0; i < slices; ++i) free_.push_back(i);
    slices_.resize(slices);
    WorkerUnitsOptions options;
    options.pool.workers = 2;
    options.pool.spares = 1;
    options.pool.timeout_ns = hangs(parameters) ? 400 * kMillisecond : 60 * kSecond;
    options.pool.start_timeout_ns = 20 * kSecond;
    options.rows_max = kSources;
    options.memory_bytes = memory_bytes;
    options.slice_memory = region_.bytes();
    FilterConfig config;
    config.parameters = std::move(parameters);
    units = WorkerUnits::launch(plugin, search_path, config, options, host_);
    if (const auto created = units->wait_for_start(); !created) {
      refusal = created.error().text;
      return;
    }
    histograms.set_layout(units->histograms());
    RunInfo run;
    run.run = RunNumber(7);
    for (std::uint32_t source = 0; source < kSources; ++source) run.sources.push_back(source);
    if (auto begun = units->begin_run(run); !begun) refusal = begun.error().text;
    if (auto begun = units->wait_for_start(); !begun) refusal = begun.error().text;
  }

  static std::byte content(std::uint64_t id, std::uint32_t source) {
    return static_cast<std::byte>(id * 7 + source);
  }

  // Filters slices 0 to count - 1.
  void run(std::uint64_t count) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::seconds(240);
    std::uint64_t next = 0;
    while (finished < count) {
      REQUIRE(Clock::now() < until);
      REQUIRE(units->failure().empty());
      take_results();
      while (next < count && !free_.empty()) open(next++);
      std::vector<Job> jobs(waiting_.begin(), waiting_.end());
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(units->submit(jobs)));
      units->flush();
      const std::string broken = units->broken_invariant();
      if (!broken.empty()) FAIL(broken);
    }
  }

  MemoryRegion region_;
  SpawnedWorkers host_;
  std::unique_ptr<WorkerUnits> units;
  std::string refusal;
  histograms::Contents histograms;
  std::uint64_t finished = 0;
  std::uint64_t changed_bytes = 0;
  std::uint64_t restarts = 0;
  std::map<std::uint64_t, StepVerdict> verdicts;
  std::map<std::uint64_t, std::string> errors;
  std::map<std::uint64_t, std::uint32_t> kills;

  [[nodiscard]] std::set<std::uint64_t> with(StepVerdict verdict) const {
    std::set<std::uint64_t> ids;
    for (const auto& [id, its] : verdicts) {
      if (its == verdict) ids.insert(id);
    }
    return ids;
  }

 private:
  Bytes bytes_of(std::size_t place, std::uint32_t source) {
    return region_.bytes().subspan((place * kSources + source) * kFragmentBytes, kFragmentBytes);
  }
  void open(std::uint64_t id) {
    const std::size_t place = free_.back();
    free_.pop_back();
    slices_[place] = std::make_unique<TestSlice>(id, 7);
    for (std::uint32_t source = 0; source < kSources; ++source) {
      std::memset(bytes_of(place, source).data(), std::to_integer<int>(content(id, source)), kFragmentBytes);
      slices_[place]->add(source, WEIR_FRAGMENT_OK, bytes_of(place, source));
    }
    waiting_.push_back({&slices_[place]->view(), place});
  }
  void take_results() {
    std::vector<FilterResult*> results;
    units->drain(results);
    std::vector<SliceKills> killed;
    units->take_kills(killed);
    for (const SliceKills& one : killed) kills[slices_[one.token]->view().slice] += one.number;
    for (FilterResult* result : results) {
      const std::size_t place = result->token;
      const std::uint64_t id = slices_[place]->view().slice;
      if (result->verdict == StepVerdict::restart || result->verdict == StepVerdict::need_more) {
        restarts += result->verdict == StepVerdict::restart ? 1 : 0;
        weir_filter_slice& view = slices_[place]->view();
        view.step = result->verdict == StepVerdict::restart ? 0 : view.step + 1;
        if (result->verdict == StepVerdict::need_more) {
          for (std::uint32_t i = 0; i < kSources; ++i) slices_[place]->set_status(i, WEIR_FRAGMENT_OK);
        }
        waiting_.push_back({&view, place});
        continue;
      }
      CHECK(verdicts.emplace(id, result->verdict).second);
      histograms.add(result->fills);
      if (!result->error.empty()) errors[id] = result->error;
      for (std::uint32_t source = 0; source < kSources; ++source) {
        for (const std::byte byte : bytes_of(place, source))
          changed_bytes += byte == content(id, source) ? 0 : 1;
      }
      slices_[place].reset();
      free_.push_back(place);
      ++finished;
    }
    units->recycle(results);
    if (results.empty()) host_.wait(kMillisecond);
  }

  std::vector<std::size_t> free_;
  std::vector<std::unique_ptr<TestSlice>> slices_;
  std::deque<Job> waiting_;
};

std::set<std::uint64_t> multiples(std::uint64_t of, std::uint64_t below) {
  std::set<std::uint64_t> ids;
  for (std::uint64_t id = of; id < below; id += of) ids.insert(id);
  return ids;
}

// From "pids 12 13 14, restarts 0".
std::vector<pid_t> pids_of(const std::string& note) {
  std::vector<pid_t> pids;
  std::istringstream words(note.substr(0, note.find(',')));
  words.ignore(static_cast<std::streamsize>(note.find(' ')));
  for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
  return pids;
}

// Every process of the group, once the system has cleared them away.
bool group_ends(pid_t group) {
  for (int look = 0; look < 1000; ++look) {
    if (::kill(-group, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Returns the number of control groups below that of this process.
std::size_t groups_below_own() {
  std::ifstream own("/proc/self/cgroup");
  std::string line;
  while (std::getline(own, line) && !line.starts_with("0::")) {
  }
  std::size_t groups = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/fs/cgroup" + line.substr(3)))
    groups += entry.is_directory() ? 1 : 0;
  return groups;
}

void check_kills(const char* what, const char* word, std::uint64_t memory_bytes = 0) {
  constexpr std::uint64_t kCount = 3000;
  SmallDcm dcm(Parameters{{"what", what}, {"every", "500"}}, "unruly", memory_bytes);
  REQUIRE(dcm.refusal.empty());
  dcm.run(kCount);
  CHECK(dcm.with(StepVerdict::poison) == multiples(500, kCount));
  CHECK(dcm.with(StepVerdict::accept).size() == kCount - multiples(500, kCount).size());
  CHECK(dcm.changed_bytes == 0);
  for (const auto& [id, number] : dcm.kills) {
    INFO("slice " << id);
    CHECK(number == 2);
    CHECK_THAT(dcm.errors[id], Catch::ContainsSubstring(word));
  }
  CHECK(dcm.kills.size() == multiples(500, kCount).size());
  // Each step that ended counts once, and a killed one not at all.
  CHECK(dcm.histograms.view(0).entries() == static_cast<double>(dcm.with(StepVerdict::accept).size()));
  CHECK(dcm.histograms.view(0).content(1) == static_cast<double>(kCount / 100 - dcm.kills.size()));
  CHECK(dcm.histograms.view(0).content(2) == static_cast<double>(kCount / 100));
  const FilterMetricsSnapshot metrics = dcm.units->metrics();
  CHECK(dcm.units->figures().poisoned == dcm.kills.size());
  if (std::string(what) == "scribble") return;  // what its lanes said is lost with them
  CHECK(metrics.counters.at("processed") ==
        dcm.with(StepVerdict::accept).size());  // killed steps count nothing
  CHECK(metrics.counters.at("misdeeds") == 0);
}

}  // namespace

TEST_CASE("filter workers: slices return as a filter in the process decides") {
  SmallDcm dcm(Parameters{{"what", "none"}});
  REQUIRE(dcm.refusal.empty());
  CHECK(dcm.units->plugin().name == "unruly");
  dcm.run(20000);
  CHECK(dcm.with(StepVerdict::accept).size() == 20000);
  CHECK(dcm.units->metrics().counters.at("processed") == 20000);
  CHECK(dcm.units->figures().restarts == 0);
  dcm.units->end_run();
  dcm.units->wait_for_end();
  CHECK(dcm.units->stop(10 * kSecond));
}

TEST_CASE("filter workers: the end of a run does not wait for a worker that takes its time") {
  SmallDcm dcm(Parameters{{"what", "none"}});
  REQUIRE(dcm.refusal.empty());
  dcm.run(100);
  const std::vector<std::int64_t> pids = dcm.units->figures().pids;
  for (const std::int64_t pid : pids) ::kill(static_cast<pid_t>(pid), SIGSTOP);
  dcm.units->end_run();
  CHECK(!dcm.units->poll_end());
  for (const std::int64_t pid : pids) ::kill(static_cast<pid_t>(pid), SIGCONT);
  dcm.units->wait_for_end();
  CHECK(dcm.units->stop(10 * kSecond));
}

TEST_CASE("filter workers: a worker that ends while it ends the run is named") {
  SmallDcm dcm(Parameters{{"what", "none"}});
  REQUIRE(dcm.refusal.empty());
  dcm.run(100);
  const std::int64_t pid = dcm.units->figures().pids.front();
  ::kill(static_cast<pid_t>(pid), SIGSTOP);  // it has not answered when it is killed
  dcm.units->end_run();
  CHECK(dcm.units->end_error().empty());
  ::kill(static_cast<pid_t>(pid), SIGKILL);
  dcm.units->wait_for_end();
  CHECK_THAT(dcm.units->end_error(), Catch::Matchers::StartsWith("a filter worker ended in end_run(): ") &&
                                         Catch::ContainsSubstring("signal 9"));
  CHECK(dcm.units->stop(10 * kSecond));
}

TEST_CASE("filter workers: a segmentation fault costs the slice that caused it, with a backtrace") {
  check_kills("crash", "unruly.so");
}
TEST_CASE("filter workers: abort() costs its slice") { check_kills("abort", "Aborted"); }
TEST_CASE("filter workers: exit(0) costs its slice") { check_kills("exit", "exit status 0"); }
TEST_CASE("filter workers: a filter that sleeps forever costs its slice") {
  check_kills("hang", "took longer than 400 ms");
}
TEST_CASE("filter workers: a filter that computes forever costs its slice") {
  // ThreadSanitizer delivers no signal to code that makes no call: the backtrace is missing.
  check_kills("spin", kSanitizers == "thread" ? "took longer than 400 ms" : "unruly.so");
}
TEST_CASE("filter workers: a filter that takes all memory costs its slice") {
  if (!kSanitizers.empty()) return skip_test(kNoMemoryLimit);
  check_kills("memory", "out of memory", std::uint64_t{64} << 20);
}
// In filter_host_control_groups alone (tests/support/own_kernel).
TEST_CASE(
    "filter workers: the kernel ends a worker at the limit of its control group, and its slice is poison",
    "[.control-group]") {
  constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;
  const std::set<std::uint64_t> bad = multiples(500, 1500);
  {
    SmallDcm dcm(Parameters{{"what", "memory"}, {"every", "500"}}, "unruly", kMemory);
    REQUIRE(dcm.refusal.empty());
    CHECK(dcm.units->figures().memory_limit == "64 MiB by control group");
    dcm.run(1500);
    CHECK(dcm.with(StepVerdict::poison) == bad);
    CHECK(dcm.with(StepVerdict::accept).size() == 1500 - bad.size());
    CHECK(dcm.kills.size() == bad.size());
    for (const auto& [id, number] : dcm.kills) {
      INFO("slice " << id);
      CHECK(number == 2);
      CHECK_THAT(dcm.errors[id], Catch::ContainsSubstring("the kernel ended it at its limit"));
    }
    for (const auto& [reason, count] : dcm.units->figures().ends)
      CHECK(count == (reason == "memory" ? 2 * bad.size() : 0));
  }
  CHECK(groups_below_own() == 0);
}
TEST_CASE("filter workers: forked children of a filter leave no control group", "[.control-group]") {
  {
    SmallDcm dcm(Parameters{{"what", "fork"}, {"every", "100"}}, "unruly", std::uint64_t{64} << 20);
    REQUIRE(dcm.refusal.empty());
    dcm.run(1000);
    CHECK(dcm.with(StepVerdict::accept).size() == 1000);
  }
  CHECK(groups_below_own() == 0);
}
TEST_CASE("filter workers: a write into slice memory ends the worker and changes nothing") {
  check_kills("wild", "Segmentation");
}
TEST_CASE("filter workers: a worker that writes over its lane costs its slice") {
  check_kills("scribble", "impossible values");
}

TEST_CASE("filter workers: output beyond the limits and exceptions are errors, not kills") {
  for (const char* what : {"overflow", "throw"}) {
    SmallDcm dcm(Parameters{{"what", what}, {"every", "100"}});
    dcm.run(1000);
    CHECK(dcm.with(StepVerdict::error) == multiples(100, 1000));
    CHECK(dcm.with(StepVerdict::accept).size() == 1000 - multiples(100, 1000).size());
    CHECK(dcm.kills.empty());
    CHECK(dcm.histograms.view(0).entries() == 1000 - static_cast<double>(multiples(100, 1000).size()));
    CHECK(dcm.units->metrics().counters.at("misdeeds") == multiples(100, 1000).size());
  }
}

TEST_CASE("filter workers: the end of a worker ends no worker of another pool in the process") {
  SmallDcm quiet(Parameters{{"what", "none"}});
  SmallDcm crashes(Parameters{{"what", "crash"}, {"every", "10"}});
  REQUIRE(quiet.refusal.empty());
  REQUIRE(crashes.refusal.empty());
  crashes.run(100);
  CHECK(crashes.units->figures().restarts > 3);
  quiet.run(100);
  CHECK(quiet.units->figures().restarts == 0);
  CHECK(quiet.with(StepVerdict::accept).size() == 100);
}

TEST_CASE("filter workers: a leak costs restarts and no slice") {
  if (!kSanitizers.empty()) return skip_test(kNoMemoryLimit);
  SmallDcm dcm(Parameters{{"what", "leak"}}, "unruly", std::uint64_t{128} << 20);
  dcm.run(1000);
  CHECK(dcm.with(StepVerdict::accept).size() == 1000);
  CHECK(dcm.kills.empty());
  CHECK(dcm.units->figures().restarts > 3);
}

TEST_CASE("filter workers: a filter that forks costs nothing, and its children end with their worker") {
  for (const char* what : {"fork", "twice"}) {
    SmallDcm dcm(Parameters{{"what", what}, {"every", "200"}});
    dcm.run(2000);
    CHECK(dcm.with(StepVerdict::accept).size() == 2000);
    CHECK(dcm.kills.empty());
    CHECK(dcm.units->figures().restarts == 0);
    CHECK(dcm.changed_bytes == 0);
    const std::vector<pid_t> groups = pids_of(dcm.units->figures().note);
    REQUIRE(groups.size() == 3);
    CHECK(dcm.units->stop(10 * kSecond));
    for (const pid_t group : groups) CHECK(group_ends(group));
  }
}

TEST_CASE("filter workers: whatever a filter does to a descriptor costs at most that slice") {
  const char* what = GENERATE("truncate", "grow", "punch", "seal", "close", "replace", "shut", "block",
                              "unblock", "seek", "scribble", "fill", "drain");
  INFO(what);
  constexpr std::uint64_t kCount = 1800;
  SmallDcm dcm(Parameters{{"what", what}}, "meddler");
  REQUIRE(dcm.refusal.empty());
  dcm.run(kCount);
  CHECK(dcm.verdicts.size() == kCount);
  CHECK(dcm.changed_bytes == 0);
  CHECK(dcm.with(StepVerdict::error).empty());
  for (const std::uint64_t id : dcm.with(StepVerdict::poison)) CHECK(id % 100 == 0);
  dcm.units->end_run();
  dcm.units->wait_for_end();
  CHECK(dcm.units->stop(10 * kSecond));
}

TEST_CASE("filter workers: a child with a session of its own ends with its worker") {
  const ScratchFolder folder;
  const std::string pids = folder.path() / "pids";
  SmallDcm dcm(Parameters{{"what", "daemon"}, {"file", pids}}, "meddler");
  dcm.run(500);
  CHECK(dcm.with(StepVerdict::accept).size() == 500);
  CHECK(dcm.units->stop(10 * kSecond));
  const std::vector<std::string> daemons = lines_of(pids);
  CHECK(daemons.size() == 4);
  for (const std::string& daemon : daemons) CHECK(::kill(std::stoi(daemon), 0) != 0);
}

TEST_CASE("filter workers: a filter is destroyed when its worker ends, which has a limit") {
  const ScratchFolder folder;
  const std::string file = folder.path() / "ends";
  SmallDcm dcm(Parameters{{"what", GENERATE("destroy", "linger")}, {"file", file}}, "meddler");
  REQUIRE(dcm.refusal.empty());
  dcm.run(100);
  dcm.units->end_run();
  dcm.units->wait_for_end();
  CHECK(dcm.units->stop(20 * kSecond));
  CHECK(lines_of(file) == std::vector<std::string>(3, "destroyed"));
}

TEST_CASE("filter workers: output of a filter arrives in whole lines, a last one without its end as well") {
  const ScratchFolder folder;
  const std::string file = folder.path() / "printed";
  const int saved = ::dup(STDERR_FILENO);
  const int log = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(log, STDERR_FILENO);
  {
    SmallDcm dcm(Parameters{{"what", "print"}}, "meddler");
    dcm.run(300);
    dcm.units->end_run();
    dcm.units->wait_for_end();
    CHECK(dcm.units->stop(10 * kSecond));
  }
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(log);
  std::map<std::string, int> times;
  for (const std::string& line : lines_of(file)) ++times[line];
  CHECK(times == std::map<std::string, int>{{"a line", 300}, {"end", 3}});
}

TEST_CASE("filter workers: a plugin that refuses its parameters is refused with its own message") {
  const SmallDcm dcm(Parameters{{"what", "none"}, {"evry", "3"}});
  CHECK_THAT(dcm.refusal, Catch::ContainsSubstring("evry"));
  const SmallDcm other(Parameters{}, "nonexistent");
  CHECK_THAT(other.refusal, Catch::ContainsSubstring("nonexistent"));
}

TEST_CASE("filter workers: a plugin that is edited, replaced or removed in a run costs nothing") {
  const std::string how = GENERATE("edited", "replaced", "removed", "hidden");
  INFO(how);
  constexpr std::uint64_t kCount = 3000;
  const ScratchFolder folder;
  const std::string plugin = folder.path() / "later/unruly.so";
  std::filesystem::create_directories(folder.path() / "first");
  std::filesystem::create_directories(folder.path() / "later");
  std::filesystem::copy_file(std::string(WEIR_TEST_PLUGIN_DIR) + "/unruly.so", plugin);
  SmallDcm dcm(Parameters{{"what", "abort"}, {"every", "500"}}, how == "hidden" ? "unruly" : plugin, 0, 512,
               {folder.path() / "first", folder.path() / "later"});
  REQUIRE(dcm.refusal.empty());
  const std::uint32_t before = dcm.units->plugin().file_crc32c;
  if (how == "edited") std::ofstream(plugin) << "an editor writes it anew";
  if (how == "removed") std::filesystem::remove(plugin);
  if (how == "hidden") std::ofstream(folder.path() / "first/unruly.so") << "found before the other one";
  if (how == "replaced") {
    std::ofstream(plugin + ".new") << "another version";
    std::filesystem::rename(plugin + ".new", plugin);
  }
  dcm.run(kCount);
  CHECK(dcm.with(StepVerdict::poison) == multiples(500, kCount));
  CHECK(dcm.with(StepVerdict::accept).size() == kCount - multiples(500, kCount).size());
  CHECK(dcm.units->figures().replaced.empty());
  CHECK(dcm.units->figures().restarts > 3);
  CHECK(dcm.units->plugin().file_crc32c == before);
  CHECK(dcm.units->plugin().path == plugin);
  // Backtraces name the original.
  CHECK_THAT(dcm.errors[500], Catch::ContainsSubstring(plugin));
}

TEST_CASE("filter workers: a library that a plugin finds by $ORIGIN is that beside the original") {
  SmallDcm dcm(Parameters{}, "needs-sibling");
  REQUIRE(dcm.refusal.empty());
  dcm.run(100);
  CHECK(dcm.with(StepVerdict::accept).size() == 100);
}

TEST_CASE("filter workers: a program that is not there is named") {
  const MemoryRegion region("weir-test", 4096);
  SpawnedWorkers host({"/nowhere/weir-filter-worker"}, region.descriptor());
  const LaneLayout layout(4, 4, FilterLimits{});
  auto started = host.start(layout);
  REQUIRE_FALSE(started);
  CHECK_THAT(started.error(), Catch::ContainsSubstring("/nowhere/weir-filter-worker"));
}
