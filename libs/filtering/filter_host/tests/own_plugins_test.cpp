// The plugins of plugins/, loaded as built; `coincidence` has tests of its own beside it.
#include "test_slice.hpp"
#include <weir/emulation/dummy_content.hpp>
#include <weir/filter_host/instance.hpp>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::filter_host;
using namespace weir::filter_host::test;

namespace {

class Own {
 public:
  Own(const std::string& plugin, Parameters parameters) {
    FilterConfig config = config_of(std::move(parameters));
    config.log = [this](int, std::string_view line) { lines.emplace_back(line); };
    auto made = FilterInstance::create(load(plugin, WEIR_PLUGIN_DIR), config, metrics);
    if (!made) FAIL(made.error().text);
    instance = std::move(*made);
  }
  const FilterResult& process(TestSlice& slice) {
    instance->process(slice.view(), result);
    return result;
  }
  std::uint64_t count(const std::string& name) { return metrics.snapshot().counters[name]; }

  FilterMetrics metrics;
  std::vector<std::string> lines;
  std::unique_ptr<FilterInstance> instance;
  FilterResult result;
};

std::uint64_t accepted_of(Own& own, std::uint64_t slices) {
  std::uint64_t accepted = 0;
  for (std::uint64_t id = 1; id <= slices; ++id) {
    TestSlice slice(id);
    accepted += own.process(slice).verdict == StepVerdict::accept ? 1 : 0;
  }
  return accepted;
}

}  // namespace

TEST_CASE("accept-all accepts, with raw data unless configured otherwise") {
  TestSlice slice;
  Own all("accept-all", Parameters{});
  CHECK(all.process(slice).verdict == StepVerdict::accept);
  CHECK(all.result.keep == Keep::all);
  Own none("accept-all", Parameters{{"keep", "none"}});
  CHECK(none.process(slice).keep == Keep::none);
}

TEST_CASE("prescale accepts one of n and records it") {
  Own every("prescale", Parameters{{"n", "4"}});
  CHECK(accepted_of(every, 100) == 25);
  CHECK(every.result.prescale == 4);
  CHECK(every.result.prescale_counter == 25);
  Own random("prescale", Parameters{{"n", "4"}, {"how", "random"}});
  const std::uint64_t accepted = accepted_of(random, 1000);
  CHECK(accepted > 190);
  CHECK(accepted < 310);
}

TEST_CASE("busy works for its time and rejects its share, the same slices in every instance") {
  Own busy("busy", Parameters{{"microseconds", "0"}, {"reject", "0.5"}});
  Own again("busy", Parameters{{"microseconds", "0"}, {"reject", "0.5"}});
  const std::uint64_t accepted = accepted_of(busy, 1000);
  CHECK(accepted > 430);
  CHECK(accepted < 570);
  CHECK(accepted_of(again, 1000) == accepted);
  Own working("busy", Parameters{{"microseconds", "2000"}});
  const std::clock_t before = std::clock();
  CHECK(accepted_of(working, 5) == 5);
  CHECK(std::clock() - before >= CLOCKS_PER_SEC / 100);
}

TEST_CASE("two-step requests all sources if the first ones hold enough") {
  const std::vector<std::byte> bytes(100);
  Own own("two-step", Parameters{{"first", "1-2"}, {"minimum_bytes", "150"}, {"keep", "first"}});
  REQUIRE(own.instance->begin_run({.run = RunNumber(1), .start_time = 0, .sources = {1, 2, 3}}));
  CHECK(own.instance->first_sources() == std::vector<std::uint32_t>{1, 2});
  TestSlice poor;
  poor.add(1, WEIR_FRAGMENT_OK, bytes);
  poor.add(2, WEIR_FRAGMENT_MISSING);
  poor.add(3, WEIR_FRAGMENT_NOT_REQUESTED);
  CHECK(own.process(poor).verdict == StepVerdict::reject);

  TestSlice unasked;
  for (const std::uint32_t source : {1U, 2U, 3U}) unasked.add(source, WEIR_FRAGMENT_NOT_REQUESTED);
  CHECK(own.process(unasked).need_sources == std::vector<std::uint32_t>{1, 2});

  TestSlice all_there;
  for (const std::uint32_t source : {1U, 2U, 3U}) all_there.add(source, WEIR_FRAGMENT_OK, bytes);
  CHECK(own.process(all_there).verdict == StepVerdict::accept);
}

TEST_CASE("two-step carries its result to the second step, in any instance") {
  const std::vector<std::byte> bytes(100);
  const Parameters parameters{{"minimum_bytes", "50"}};
  Own own("two-step", parameters);
  Own other("two-step", parameters);
  const RunInfo run{.run = RunNumber(1), .start_time = 0, .sources = {4, 5}};
  REQUIRE(own.instance->begin_run(run));
  REQUIRE(other.instance->begin_run(run));
  TestSlice before;
  before.add(4, WEIR_FRAGMENT_OK, bytes);
  before.add(5, WEIR_FRAGMENT_NOT_REQUESTED);
  CHECK(own.process(before).verdict == StepVerdict::need_more);
  CHECK(own.result.need_all);
  TestSlice after;
  after.add(4, WEIR_FRAGMENT_OK, bytes);
  after.add(5, WEIR_FRAGMENT_OK, ConstBytes(bytes).first(30));
  after.state() = std::move(before.state());
  after.view().step = 1;
  CHECK(other.process(after).verdict == StepVerdict::accept);
  REQUIRE(other.result.filter_result.size() == 16);
  CHECK(load_le<std::uint64_t>(other.result.filter_result.data()) == 100);
  CHECK(load_le<std::uint64_t>(other.result.filter_result.data() + 8) == 130);
  CHECK(own.count("two_step_went_on") == 1);
}

TEST_CASE("verify passes what dummy sources made, and finds a single wrong byte") {
  const emulation::DummyContent content(RunNumber(3), 5000);
  Own own("verify", Parameters{{"keep", "none"}});
  const auto fragment = content.fragment(SourceId(8), SliceId(77), 5000);
  std::vector<std::byte> bytes(fragment.begin(), fragment.end());
  TestSlice slice(77, 3);
  slice.add(8, WEIR_FRAGMENT_OK, bytes);
  slice.add(9, WEIR_FRAGMENT_MISSING);
  slice.add(10, WEIR_FRAGMENT_NOT_REQUESTED);
  CHECK(own.process(slice).streams == WEIR_STREAM_DEFAULT);
  CHECK(own.result.keep == Keep::none);
  bytes[4321] ^= std::byte{1};
  CHECK(own.process(slice).streams == WEIR_STREAM_DEBUG);
  CHECK(own.result.verdict == StepVerdict::accept);
  CHECK(own.result.keep == Keep::all);
  CHECK(own.count("verify_mismatch") == 1);
  CHECK(own.count("verify_fragments") == 2);
  CHECK(own.count("verify_bytes") == 10000);
  CHECK(own.count("verify_absent") == 2);
  REQUIRE(own.lines.size() == 1);
  CHECK(own.lines[0] == "slice 77, source 8: wrong byte at 4321 of 5000");
}

TEST_CASE("verify checks lengths when it knows how the sources were set") {
  const emulation::DummyContent content(RunNumber(1), 2000);
  Own own("verify", Parameters{{"distribution", "fixed"}, {"size_bytes", "1000"}});
  TestSlice slice(5);
  slice.add(1, WEIR_FRAGMENT_OK, content.fragment(SourceId(1), SliceId(5), 1000));
  CHECK(own.process(slice).streams == WEIR_STREAM_DEFAULT);
  slice.add(2, WEIR_FRAGMENT_OK, content.fragment(SourceId(2), SliceId(5), 999));
  CHECK(own.process(slice).streams == WEIR_STREAM_DEBUG);
  CHECK(own.count("verify_wrong_length") == 1);
  CHECK(own.count("verify_mismatch") == 0);
}
