#include "weir_catch.hpp"
#include <weir/filter_host/instance.hpp>

#include <memory>
#include <string>
#include <vector>

using Catch::ContainsSubstring;
using namespace weir::filter_host;

namespace {

std::unique_ptr<FilterInstance> instance_of(const std::string& name, FilterMetrics& metrics) {
  const auto plugin = FilterPlugin::load(name, {WEIR_DOWNSTREAM_PLUGINS});
  if (!plugin) FAIL(plugin.error().text);
  auto instance = FilterInstance::create(*plugin, {}, metrics);
  if (!instance) FAIL(instance.error().text);
  return std::move(*instance);
}

FilterResult decide(FilterInstance& instance, std::uint64_t id, std::uint32_t bytes) {
  const std::vector<std::byte> data(bytes);
  weir_filter_fragment fragment{};
  fragment.data = data.data();
  fragment.length = fragment.total = bytes;
  KeptState state;
  weir_filter_slice slice = empty_slice();
  slice.slice = id;
  slice.fragments = &fragment;
  slice.fragment_count = 1;
  slice.state = state.raw();
  FilterResult result;
  instance.process(slice, result);
  return result;
}

}  // namespace

TEST_CASE("a plugin in C++ that was built outside, against the installed kit, decides") {
  FilterMetrics metrics;
  const auto big_slices = instance_of("big-slices", metrics);
  CHECK(decide(*big_slices, 1, 1000).verdict == StepVerdict::accept);
  CHECK(decide(*big_slices, 1, 999).verdict == StepVerdict::reject);
}

TEST_CASE("a plugin in plain C, from a project without C++, decides and writes an event") {
  FilterMetrics metrics;
  const auto even_slices = instance_of("even-slices", metrics);
  CHECK(decide(*even_slices, 7, 0).verdict == StepVerdict::reject);
  const FilterResult result = decide(*even_slices, 8, 0);
  CHECK(result.verdict == StepVerdict::accept);
  CHECK(result.keep == Keep::none);
  REQUIRE(result.events.size() == 1);
  CHECK(result.events[0].id == 8);
  CHECK(result.event_bytes.size() == sizeof "even");
}

TEST_CASE("a plugin of another ABI is refused by name, with the remedy") {
  const auto plugin = FilterPlugin::load("from-tomorrow", {WEIR_DOWNSTREAM_PLUGINS});
  REQUIRE_FALSE(plugin);
  CHECK(plugin.error().code == FilterErrorCode::wrong_abi);
  CHECK_THAT(plugin.error().text, ContainsSubstring("from-tomorrow.so") &&
                                      ContainsSubstring("filter ABI 2") &&
                                      ContainsSubstring("this Weir needs ABI 1"));
}
