#include <weir/base/assert.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/lane.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

// The input is what a plugin does to its host inside process(), as tests/plugins/puppet.cpp reads it.
// In every case the result fulfils job.hpp's contract and all limits.
namespace {

using namespace weir;
using namespace weir::filter_host;

constexpr std::uint32_t kSources = 6;

FilterConfig config() {
  FilterConfig config;
  config.streams = StreamTable({"muons"});
  config.limits = {4096, 16, 1024, 20};
  config.log = [](int, std::string_view) {};
  return config;
}

bool ascends(const std::vector<std::uint32_t>& sources) {
  return std::adjacent_find(sources.begin(), sources.end(), std::greater_equal<>()) == sources.end();
}

void check_accept(const FilterResult& result, const FilterConfig& config) {
  WEIR_ASSERT(result.streams != 0 && (result.streams & ~config.streams.mask()) == 0);
  WEIR_ASSERT(result.prescale >= 1 && result.keep <= Keep::none);
  WEIR_ASSERT(ascends(result.keep_sources) && result.need_sources.empty());
  WEIR_ASSERT(result.keep == Keep::listed || result.keep_sources.empty());
  WEIR_ASSERT(result.events.size() <= config.limits.events_max);
  WEIR_ASSERT(result.event_bytes.size() <= config.limits.event_bytes_max);
  WEIR_ASSERT(result.filter_result.size() <= config.limits.filter_result_bytes_max);
  std::size_t used = 0;
  for (const EventSpan& event : result.events) {
    WEIR_ASSERT(event.offset == used);
    used += event.size;
  }
  WEIR_ASSERT(used == result.event_bytes.size());
}

void check(const FilterResult& result, const FilterConfig& config) {
  switch (result.verdict) {
    case StepVerdict::accept:
      return check_accept(result, config);
    case StepVerdict::reject:
      WEIR_ASSERT(result.events.empty() && result.event_bytes.empty());
      return;
    case StepVerdict::need_more:
      WEIR_ASSERT(result.need_all || !result.need_sources.empty());
      WEIR_ASSERT(ascends(result.need_sources));
      for (const std::uint32_t source : result.need_sources)
        WEIR_ASSERT(source % 2 == 1 && source < kSources);
      return;
    case StepVerdict::forward:
      WEIR_ASSERT(result.filter_result.size() <= WEIR_FORWARD_BYTES_MAX);
      return;
    case StepVerdict::poison:
    case StepVerdict::restart:
      WEIR_ASSERT(false);  // an instance decides neither
      return;
    case StepVerdict::error:
      WEIR_ASSERT(!result.error.empty() && result.error.size() <= LaneLayout::kErrorMax);
      return;
  }
  WEIR_ASSERT(false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto plugin = FilterPlugin::load("puppet", {WEIR_TEST_PLUGIN_DIR}).value();
  const FilterConfig settings = config();
  FilterMetrics metrics;
  auto instance = std::move(FilterInstance::create(plugin, settings, metrics).value());
  WEIR_ASSERT(instance->begin_run({}).has_value());
  const auto wish = instance->first_sources();
  WEIR_ASSERT(wish.has_value() && ascends(*wish));

  // Every second source was requested.
  std::vector<weir_filter_fragment> table(kSources);
  for (std::uint32_t i = 0; i < kSources; ++i) {
    table[i].source = i;
    table[i].status = i % 2 == 0 ? WEIR_FRAGMENT_OK : WEIR_FRAGMENT_NOT_REQUESTED;
  }
  weir_filter_state state{};
  weir_filter_slice slice = empty_slice();
  slice.fragments = table.data();
  slice.fragment_count = kSources;
  slice.state = &state;
  slice.trigger_payload = data;
  slice.trigger_payload_size = static_cast<std::uint32_t>(size);
  FilterResult result;
  for (int again = 0; again < 2; ++again) {
    instance->process(slice, result);
    check(result, settings);
  }
  instance->end_run();
  static_cast<void>(metrics.snapshot());
  return 0;
}
