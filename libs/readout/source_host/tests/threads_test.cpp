// A plugin that uses the host's services from threads of its own. The preset tsan runs this as well.
#include "weir_catch.hpp"
#include <weir/source_host/instance.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace weir;
using namespace weir::source_host;

namespace {

constexpr std::uint32_t kSources = 4;
constexpr std::uint64_t kSlices = 500;
constexpr std::uint32_t kLines = 100;  // per run

struct Taken final : Arrivals {
  source::Delivery on_fragment(SourceId source, SliceId slice, source::SourceFragment fragment,
                               const Stamp& /*stamp*/) override {
    wrong += fragment.bytes.size() == source.value ? 0 : 1;
    const bool fresh = seen.emplace(source.value, slice.value).second;
    return fresh ? source::Delivery::taken : source::Delivery::duplicate;
  }
  void on_watermark(SourceId, SliceId, MissingReason) override {}
  void on_losses(std::optional<SourceId>, std::uint64_t, std::uint64_t, std::string_view) override {}
  void on_fault(std::string_view) override {}
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  std::uint64_t wrong = 0;
};

// The readout's loop: sleeps until a thread of the plugin wakes it.
class Loop {
 public:
  void wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    condition_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return woken_; });
    woken_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;
};

}  // namespace

TEST_CASE("a source logs, counts and wakes from its own threads, in two runs and while it is detached") {
  const auto plugin = SourcePlugin::load("threads", {WEIR_TEST_PLUGIN_DIR});
  if (!plugin) FAIL(plugin.error().text);
  Loop loop;
  Taken taken;
  std::uint64_t lines = 0;  // guarded by the instance
  InstanceConfig config;
  for (std::uint32_t i = 1; i <= kSources; ++i) config.sources.emplace_back(i);
  config.readout_name = "readout-0";
  config.wake = [&loop] { loop.wake(); };
  config.log = [&lines](std::int32_t, std::string_view) { ++lines; };
  config.log_lines_max = kLines;
  auto made = SourceInstance::create(*plugin, std::move(config), taken);
  if (!made) FAIL(made.error().text);
  std::shared_ptr<SourceInstance> instance = std::move(*made);
  for (std::uint32_t run = 1; run <= 2; ++run) {
    REQUIRE(instance->begin_run(RunNumber(run), SliceId(0)).has_value());
    taken.seen.clear();
    for (std::uint64_t slice = 0; slice < kSlices; ++slice) {
      const source::Trigger trigger{SliceId(slice), 0, 0, TriggerType()};
      instance->announced(std::span(&trigger, 1));
      if (slice % 10 == 0) (void)instance->counters();
    }
    while (taken.seen.size() < kSources * kSlices) {
      loop.wait();
      instance->poll(0);
    }
    instance->end_run();
  }
  const auto counters = instance->counters();
  CHECK(taken.wrong == 0);
  CHECK(counters.at("made") == 2 * kSources * kSlices);
  CHECK(counters.at("turns") >= counters.at("made"));
  CHECK(counters.at("announced") == 2 * kSlices);
  CHECK(counters.at("run_2") == 1);
  // Lines between the runs count for the first one.
  CHECK(counters.at("log_dropped") == 2 * (1 + kSources * kSlices) - 2 * kLines);
  // Its threads still have slices when the readout lets go of it.
  REQUIRE(instance->begin_run(RunNumber(3), SliceId(0)).has_value());
  for (std::uint64_t slice = 0; slice < kSlices; ++slice) {
    const source::Trigger trigger{SliceId(slice), 0, 0, TriggerType()};
    instance->announced(std::span(&trigger, 1));
  }
  instance->detach();
  instance.reset();
  CHECK(lines > 2 * kLines);
  CHECK(lines <= 3 * kLines);
}
