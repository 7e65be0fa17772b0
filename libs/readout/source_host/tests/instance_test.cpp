#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/source_host/instance.hpp>

#include <memory>
#include <string>
#include <vector>

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::source_host;

namespace {

struct Received final : Arrivals {
  source::Delivery on_fragment(SourceId source, SliceId slice, source::SourceFragment fragment,
                               const Stamp& stamp) override {
    fragments.push_back({source, slice, std::move(fragment), stamp});
    return source::Delivery::taken;
  }
  void on_watermark(SourceId source, SliceId slice, MissingReason reason) override {
    watermarks.push_back({source, slice, {}, {}});
    watermarks.back().fragment.reason = reason;
  }
  void on_losses(std::optional<SourceId> source, std::uint64_t reached, std::uint64_t lost,
                 std::string_view reason) override {
    losses.push_back((source ? std::to_string(source->value) : "all") + ": " + std::to_string(lost) + "/" +
                     std::to_string(reached) + " " + std::string(reason));
  }
  void on_fault(std::string_view text) override { faults.emplace_back(text); }
  struct One {
    SourceId source;
    SliceId slice;
    source::SourceFragment fragment;
    Stamp stamp;
  };
  std::vector<std::string> losses;
  std::vector<std::string> faults;
  std::vector<One> fragments;
  std::vector<One> watermarks;
};

struct Bench {
  explicit Bench(const std::string& name, std::vector<std::pair<std::string, std::string>> parameters = {}) {
    auto plugin = SourcePlugin::load(name, {WEIR_TEST_PLUGIN_DIR});
    if (!plugin) FAIL(plugin.error().text);
    InstanceConfig config;
    config.parameters = std::move(parameters);
    config.sources = {SourceId(3), SourceId(4)};
    config.readout_name = "readout-1";
    config.wake = [this] { ++wakes; };
    config.log = [this](std::int32_t, std::string_view text) { log.emplace_back(text); };
    config.log_lines_max = 4;
    auto made = SourceInstance::create(*plugin, std::move(config), received);
    if (made) {
      instance = *made;
    } else {
      error = made.error().text;
    }
  }
  void announce(std::uint64_t slice) {
    const source::Trigger trigger{SliceId(slice), 0, 0, TriggerType()};
    instance->announced(std::span(&trigger, 1));
  }
  std::uint64_t count(const std::string& name) {
    const auto counters = instance->counters();
    const auto found = counters.find(name);
    return found == counters.end() ? 0 : found->second;
  }

  Received received;
  std::vector<std::string> log;
  int wakes = 0;
  std::string error;
  std::shared_ptr<SourceInstance> instance;
};

}  // namespace

TEST_CASE("any text of a source becomes one clean line") {
  const std::string clean = "one\\nlevel=error \\x1b[2J \\xff";
  Bench bench("nasty");
  REQUIRE(bench.instance);
  CHECK(bench.log == std::vector<std::string>{clean});
  CHECK(bench.count(clean) == 1);
}

TEST_CASE("delivered fragments come with their bytes and a checksum that the host computed") {
  Bench bench("scripted");
  REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
  CHECK_FALSE(bench.instance->makes());
  bench.announce(1);
  REQUIRE(bench.received.fragments.size() == 2);
  const auto& one = bench.received.fragments[1];
  CHECK(one.source == SourceId(4));
  CHECK(one.slice == SliceId(1));
  REQUIRE(one.fragment.bytes.size() == 4);
  CHECK(one.fragment.bytes[3] == std::byte{1});
  CHECK(one.fragment.crc32c == crc32c(one.fragment.bytes));
  CHECK(bench.count("answer_0") == 2);
}

TEST_CASE("a front-end's counter and time arrive with the fragment, where the plugin knows the fields") {
  Bench bench("scripted");
  REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
  bench.announce(1);
  CHECK_FALSE(bench.received.fragments.back().stamp.any());
  bench.announce(30);
  CHECK(bench.received.fragments.back().stamp == Stamp{true, true, 255, -7, 1000});
  bench.announce(31);  // with the flags, but built before the fields
  CHECK_FALSE(bench.received.fragments.back().stamp.any());
  Bench made("made");
  REQUIRE(made.instance->begin_run(RunNumber(1), SliceId(0)));
  const std::vector<SourceId> ids{SourceId(3)};
  const auto sources = make_sources(made.instance, ids);
  const source::Trigger trigger{SliceId(9), 5000, 0, TriggerType()};
  (void)sources[0]->produce(trigger);
  CHECK(sources[0]->stamp(trigger) == Stamp{true, true, 9, 5000, 0});
}

TEST_CASE("an invalid fragment is refused, returned and counted") {
  Bench bench("scripted");
  REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
  bench.announce(2);  // not one of its sources
  bench.announce(3);  // an invalid status
  bench.announce(6);  // from another thread
  bench.announce(9);  // a length without data
  CHECK(bench.received.fragments.empty());
  CHECK(bench.count("answer_5") == 1);
  CHECK(bench.count("answer_6") == 1);
  CHECK(bench.count("answer_7") == 2);
  CHECK(bench.count("refused") == 4);
  CHECK(bench.wakes == 1);  // allowed from any thread
}

TEST_CASE("watermarks and lost fragments arrive with their reason") {
  Bench bench("scripted");
  REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
  bench.announce(4);
  REQUIRE(bench.received.watermarks.size() == 1);
  CHECK(bench.received.watermarks[0].fragment.reason == MissingReason::gap);
  bench.announce(5);
  REQUIRE(bench.received.fragments.size() == 1);
  CHECK(bench.received.fragments[0].fragment.status == FragmentStatus::missing);
  CHECK(bench.received.fragments[0].fragment.reason == MissingReason::gap);
}

TEST_CASE("losses and faults that a source reports arrive, for its own sources, from its thread, in a run") {
  Bench bench("scripted");
  bench.announce(20);
  CHECK(bench.received.faults.empty());
  REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
  bench.announce(20);
  CHECK(bench.received.losses ==
        std::vector<std::string>{"3: 0/100 ", "3: 7/0 stale", "all: 5/5 no\\x01name", "3: 1/1 "});
  CHECK(bench.received.faults == std::vector<std::string>{"crate 3 restarted"});
  CHECK(bench.count("refused") == 2);  // one for another's source, one from a thread
}

TEST_CASE("a source's exceptions are logged, and excess log lines are counted") {
  Bench bench("scripted");
  REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
  bench.announce(7);
  REQUIRE(bench.log.size() == 1);
  CHECK(bench.log[0] == "seven");
  bench.announce(8);
  CHECK(bench.log.size() == 4);
  CHECK(bench.count("log_dropped") == 7);
}

TEST_CASE("no fragment is delivered or polled outside of a run") {
  Bench bench("scripted");
  bench.announce(1);
  bench.instance->poll(1);
  CHECK(bench.count("polls") == 0);
  REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
  bench.instance->poll(1);
  CHECK(bench.count("polls") == 1);
  bench.instance->detach();
  bench.announce(1);
  CHECK(bench.received.fragments.empty());
}

TEST_CASE("a fragment keeps its plugin loaded until it has left") {
  source::SourceFragment last;
  {
    Bench bench("scripted");
    REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
    bench.announce(1);
    last = bench.received.fragments[0].fragment;
    bench.instance->detach();
  }
  CHECK(last.bytes[0] == std::byte{1});
  last = {};  // runs the library's code
}

TEST_CASE("a plugin that refuses its parameters or the run gives the reason") {
  CHECK_THAT(Bench("scripted", {{"refuse", "true"}}).error, ContainsSubstring("'scripted': no crate found"));
  CHECK_THAT(Bench("scripted", {{"colour", "red"}}).error,
             ContainsSubstring("unknown parameter 'colour': this source knows"));
  Bench bench("scripted", {{"refuse_run", "true"}});
  const auto begun = bench.instance->begin_run(RunNumber(7), SliceId(0));
  REQUIRE_FALSE(begun);
  CHECK_THAT(begun.error().text, ContainsSubstring("refuses the run: no run 7"));
}

TEST_CASE(
    "a plugin that makes its fragments is called for each, and a fragment that it cannot make is missing") {
  Bench bench("made", {{"fail_at", "5"}});
  REQUIRE(bench.instance->makes());
  REQUIRE(bench.instance->begin_run(RunNumber(1), SliceId(0)));
  const std::vector<SourceId> ids{SourceId(3), SourceId(4)};
  const auto sources = make_sources(bench.instance, ids);
  REQUIRE(sources.size() == 2);
  CHECK(sources[0]->timing() == source::FragmentSource::Timing::at_once);
  const auto fragment = sources[1]->produce({SliceId(9), 0, 0, TriggerType()});
  REQUIRE(fragment.bytes.size() == 4);
  CHECK(fragment.bytes[0] == std::byte{9});
  CHECK(fragment.crc32c == crc32c(fragment.bytes));
  const auto none = sources[0]->produce({SliceId(5), 0, 0, TriggerType()});
  CHECK(none.status == FragmentStatus::missing);
  CHECK(none.reason == MissingReason::not_produced);
  CHECK(bench.count("make_failed") == 1);
  REQUIRE(bench.log.size() == 1);
  CHECK_THAT(bench.log[0], ContainsSubstring("slice 5, source 3: nothing to be had"));
}
