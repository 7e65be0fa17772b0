// A farm that changes while it runs.
#include "one_process.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <map>

namespace {

using namespace weir;
using namespace weir::integration_test;
using system_test::check_dummy_data;
using system_test::DummyCheck;
using system_test::StoredRun;

constexpr DurationNs kFlushed = 100 * kMillisecond;  // a node's last messages have been read by then

// Everyone on one loop. Nodes that have ended are gone a little later, and can be started once more.
class LiveFarm {
 public:
  LiveFarm(const Farm& farm, const std::vector<std::string>& absent)
      : farm_(farm),
        loop_(node::socket_policy(farm.farm)),
        supervisor_(farm, "supervisor", {"127.0.0.1", 0}, loop_, absent),
        watcher_(farm, supervisor_.listens_at()) {
    for (const std::string& name : names_but_supervisor(farm)) {
      if (std::find(absent.begin(), absent.end(), name) == absent.end()) start(name);
    }
  }
  Watcher& watcher() { return watcher_; }
  void start(const std::string& name) {
    others_[name] = {std::make_unique<Hosted>(farm_, name, supervisor_.listens_at(), loop_), 0};
  }
  // The node's state as the supervisor reports it.
  [[nodiscard]] std::string state_of(const std::string& name) {
    for (const v1::Report& report : watcher_.status().nodes()) {
      if (report.name() == name) return report.state();
    }
    return "unknown";
  }
  [[nodiscard]] bool is_there(const std::string& name) const { return others_.contains(name); }
  // Runs until the condition holds; returns false after the time limit.
  template <class Condition>
  bool run_until(Condition condition) {
    const TimeNs end = loop_.now_ns() + kPatience;
    while (!condition() && loop_.now_ns() < end) run_once();
    return condition();
  }
  void run_for(DurationNs ns) {
    const TimeNs end = loop_.now_ns() + ns;
    while (loop_.now_ns() < end) run_once();
  }
  bool run_to_end() {
    return run_until(
        [this] { return watcher_.account() && supervisor_.node().finished() && others_.empty(); });
  }

 private:
  struct Other {
    std::unique_ptr<Hosted> hosted;
    TimeNs gone_ns = 0;
  };
  void run_once() {
    loop_.run_once(
        [this](TimeNs now_ns) {
          if (!supervisor_.node().finished()) supervisor_.node().pass(now_ns);
          for (auto& [name, other] : others_) {
            if (!other.hosted->node().finished()) other.hosted->node().pass(now_ns);
          }
          watcher_.pass(loop_, now_ns);
        },
        kWait);
    for (auto& [name, other] : others_) {
      if (other.gone_ns != 0 || !other.hosted->node().finished()) continue;
      CHECK(other.hosted->node().failure() == "");
      other.gone_ns = loop_.now_ns() + kFlushed;
    }
    std::erase_if(others_, [this](const auto& entry) {
      return entry.second.gone_ns != 0 && loop_.now_ns() >= entry.second.gone_ns;
    });
  }

  const Farm& farm_;
  transport::Loop loop_;
  Hosted supervisor_;
  Watcher watcher_;
  std::map<std::string, Other> others_;
};

Farm small_farm(const TemporaryFolder& folder, const std::string& mode, int slices) {
  return make_farm(folder,
                   "trigger: {mode: rate, rate_hz: 500}\n"
                   "source: {kind: dummy, distribution: exponential, size_bytes: 800}\n"
                   "readout: {count: 3, sources_per_readout: 2, slot_ms: 5}\n"
                   "supervisor: {status_interval_ms: 50}\n"
                   "dcm: {count: 2, deadline_ms: 20000, grace_ms: 500}\n"
                   "writer: {count: 2, sync_interval_ms: 20}\n"
                   "network: {reconnect_ms: 20}\n"
                   "filter: {plugin: accept-all}\n",
                   mode, slices);
}

struct Parts {
  std::uint64_t removed = 0;
  std::uint64_t otherwise_missing = 0;
  std::uint64_t last_removed = 0;  // the highest slice without one
  std::uint64_t highest = 0;
  std::string wrong;
};

// Checks that only sources of `readout` are missing, and only because it was removed.
Parts parts_of(const StoredRun& run, std::uint32_t first_source, std::uint32_t last_source) {
  Parts parts;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    const std::uint64_t id = slice.head().slice.value;
    parts.highest = std::max(parts.highest, id);
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentRecord& record = slice.fragment(i).record;
      if (record.status != FragmentStatus::missing) continue;
      const std::uint32_t source = record.source.value;
      if (record.reason != MissingReason::removed) {
        ++parts.otherwise_missing;
        parts.wrong = "slice " + std::to_string(id) + " source " + std::to_string(source) + " " +
                      std::string(name(record.reason));
        continue;
      }
      ++parts.removed;
      parts.last_removed = std::max(parts.last_removed, id);
      if (source < first_source || source > last_source)
        parts.wrong = "source " + std::to_string(source) + " was not removed";
    }
  });
  return parts;
}

std::uint32_t first_source_of(const Farm& farm, const std::string& name) {
  for (const config::NodePlan& node : farm.plan.nodes) {
    if (node.name == name) return node.sources.front().value;
  }
  return 0;
}

void check_account(const v1::RunSummary& account, std::uint64_t slices) {
  INFO(account.ledger_text());
  CHECK(account.balanced());
  CHECK_FALSE(account.faults());
  CHECK(account.counters().at("triggered") == slices);
  CHECK(account.counters().at("stored") == slices);
  CHECK(account.counters().at("stored_incomplete") == 0);
}

}  // namespace

TEST_CASE("a DCM, a readout and a writer leave a run and rejoin it, without losing a slice or the balance") {
  const std::string mode = GENERATE("pull", "push");
  CAPTURE(mode);
  constexpr std::uint64_t kSlices = 1200;
  const std::vector<std::string> changed = {"dcm-1", "readout-2", "writer-0"};
  const TemporaryFolder folder;
  const Farm farm = small_farm(folder, mode, kSlices);
  LiveFarm live(farm, {});
  REQUIRE(live.run_until([&] { return live.watcher().status().state() == "running"; }));
  live.run_for(300 * kMillisecond);
  live.watcher().command(v1::Command::DRAIN, changed);
  REQUIRE(live.run_until([&] {
    return std::none_of(changed.begin(), changed.end(),
                        [&](const std::string& name) { return live.is_there(name); });
  }));
  REQUIRE(live.run_until([&] { return live.state_of("writer-0") == "removed"; }));
  for (const std::string& name : changed) live.start(name);
  REQUIRE(live.run_until([&] { return live.state_of("dcm-1") == "removed, idle"; }));
  live.watcher().command(v1::Command::ADD, changed);
  REQUIRE(live.run_to_end());

  check_account(*live.watcher().account(), kSlices);
  const StoredRun run(folder / "out");
  CHECK(run.problems() == "");
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.slices == kSlices);
  const std::uint32_t first = first_source_of(farm, "readout-2");
  const Parts parts = parts_of(run, first, first + 1);
  CHECK(parts.wrong == "");
  CHECK(parts.otherwise_missing == 0);
  CHECK(parts.removed > 0);
  CHECK(parts.last_removed < parts.highest);
  CHECK(check.fragments + parts.removed == kSlices * 6);
}

TEST_CASE("nodes that are absent when the run begins take part from when they join") {
  constexpr std::uint64_t kSlices = 600;
  const std::vector<std::string> absent = {"dcm-0", "readout-1", "writer-1"};
  const TemporaryFolder folder;
  const Farm farm = small_farm(folder, "pull", kSlices);
  LiveFarm live(farm, absent);
  REQUIRE(live.run_until([&] { return live.watcher().status().state() == "running"; }));
  live.run_for(300 * kMillisecond);
  for (const std::string& name : absent) live.start(name);
  REQUIRE(live.run_to_end());

  const v1::RunSummary& account = *live.watcher().account();
  check_account(account, kSlices);
  for (const v1::Report& report : account.nodes()) {
    if (report.name() == "dcm-0") CHECK(report.counters().at("dcm.assigned") > 0);
    if (report.name() == "writer-1") CHECK(report.sums().at("live").count() > 0);
  }
  const StoredRun run(folder / "out");
  CHECK(run.problems() == "");
  const std::uint32_t first = first_source_of(farm, "readout-1");
  const Parts parts = parts_of(run, first, first + 1);
  CHECK(parts.wrong == "");
  CHECK(parts.removed > 0);
  CHECK(parts.last_removed < parts.highest);
  CHECK(check_dummy_data(run).fragments + parts.removed == kSlices * 6);
}

TEST_CASE("a paused run continues, and reports the missed triggers and the time") {
  constexpr std::uint64_t kSlices = 300;
  const TemporaryFolder folder;
  const Farm farm = small_farm(folder, "pull", kSlices);
  LiveFarm live(farm, {});
  REQUIRE(live.run_until([&] { return live.watcher().status().state() == "running"; }));
  live.watcher().command(v1::Command::PAUSE);
  REQUIRE(live.run_until([&] { return live.watcher().status().state() == "paused"; }));
  live.run_for(300 * kMillisecond);
  live.watcher().command(v1::Command::CONTINUE);
  REQUIRE(live.run_to_end());
  const v1::RunSummary& account = *live.watcher().account();
  check_account(account, kSlices);
  CHECK(account.counters().at("paused_ms") >= 300);
  CHECK(account.counters().at("vetoed.paused") >= 100);
  CHECK(account.counters().at("offered") == kSlices + account.counters().at("vetoed.paused"));
}
