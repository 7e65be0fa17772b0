#include "test_slice.hpp"
#include <weir/filter_host/instance.hpp>
#include <weir/histograms/contents.hpp>

#include <string>
#include <vector>

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::filter_host;
using namespace weir::filter_host::test;

namespace {

// One instance of a test plugin, its results and its log.
class Host {
 public:
  explicit Host(const Parameters& parameters, const std::string& plugin = "scripted",
                FilterLimits limits = {}) {
    FilterConfig config = config_of(parameters, StreamTable({"muons"}));
    config.limits = limits;
    config.forward_groups = {{"second", 4}};
    config.log = [this](int level, std::string_view line) {
      lines.push_back(std::to_string(level) + " " + std::string(line));
    };
    auto made = FilterInstance::create(load(plugin, WEIR_TEST_PLUGIN_DIR), config, metrics);
    if (made) {
      instance = std::move(*made);
    } else {
      error = made.error().text;
    }
  }
  const FilterResult& process(TestSlice& slice) {
    result.token = 99;
    instance->process(slice.view(), result);
    return result;
  }
  const FilterResult& process() {
    TestSlice slice;
    return process(slice);
  }
  std::uint64_t count(const std::string& name) const {
    const auto counters = metrics.snapshot().counters;
    const auto found = counters.find(name);
    return found == counters.end() ? 0 : found->second;
  }

  FilterMetrics metrics;
  std::vector<std::string> lines;
  std::unique_ptr<FilterInstance> instance;
  FilterResult result;
  std::string error;
};

}  // namespace

TEST_CASE("an accept without more goes to the default stream with all raw data") {
  Host host(Parameters{});
  const FilterResult& result = host.process();
  CHECK(result.verdict == StepVerdict::accept);
  CHECK(result.token == 99);
  CHECK(result.streams == WEIR_STREAM_DEFAULT);
  CHECK(result.keep == Keep::all);
  CHECK(result.prescale == 1);
  CHECK(result.events.empty());
  CHECK(host.count("processed") == 1);
}

TEST_CASE("a plugin of only the required functions runs") {
  Host host(Parameters{}, "minimal");
  REQUIRE(host.instance->begin_run({}));
  CHECK(host.process().verdict == StepVerdict::accept);
  CHECK_FALSE(host.instance->first_sources());
  host.instance->end_run();
}

TEST_CASE("a stream, a prescale and the sources to keep come out as the filter named them") {
  Host host(Parameters{{"do", "muons"}});
  TestSlice slice(1000);
  slice.add(10, WEIR_FRAGMENT_OK, {});  // source 30 is masked
  const FilterResult& result = host.process(slice);
  CHECK(result.verdict == StepVerdict::accept);
  CHECK(result.streams == 2);
  CHECK(result.keep == Keep::listed);
  CHECK(result.keep_sources == std::vector<std::uint32_t>{10, 30});
  CHECK(result.prescale == 5);
  CHECK(result.prescale_counter == 2);
}

TEST_CASE(
    "raw data only of sources that the slice does not have are an error, not a slice without raw data") {
  Host host(Parameters{{"do", "muons"}});
  TestSlice slice(1000);
  slice.add(11, WEIR_FRAGMENT_OK, {});
  const FilterResult& result = host.process(slice);
  CHECK(result.verdict == StepVerdict::error);
  CHECK_THAT(result.error, Catch::ContainsSubstring("sources that the slice does not have, such as 10"));
}

TEST_CASE("output events keep their ids and bytes, and a result contains nothing of the previous one") {
  Host host(Parameters{{"do", "events"}, {"number", "3"}});
  TestSlice slice(1000);
  const FilterResult& result = host.process(slice);
  REQUIRE(result.events.size() == 3);
  CHECK(result.keep == Keep::none);
  CHECK(result.events[2].id == 1002);
  CHECK(result.events[2].offset == 8);
  CHECK(result.events[2].size == 4);
  CHECK(load_le<std::uint32_t>(result.event_bytes.data() + 8) == 2);
  CHECK(host.process(slice).events.size() == 3);
}

TEST_CASE("a filter's exception is a filter_error with its text") {
  Host host(Parameters{{"do", "throw"}});
  CHECK(host.process().verdict == StepVerdict::error);
  CHECK(host.result.error == "filter 'scripted': hit 7 has no time");
  CHECK(host.count("filter_error") == 1);
  Host other(Parameters{{"do", "throw_int"}});
  CHECK(other.process().verdict == StepVerdict::error);
}

TEST_CASE("a plugin that throws through the C border is caught there") {
  Host host(Parameters{}, "rude");
  CHECK(host.process().verdict == StepVerdict::error);
  CHECK(host.result.error == "filter 'rude': rude");
  RunInfo run;
  run.run = RunNumber(13);
  CHECK_FALSE(host.instance->begin_run(run));
  host.instance->end_run();
  host.instance.reset();
  CHECK(host.lines.back() == "3 rude to the end");
  CHECK_THAT(Host(Parameters{{"any", "thing"}}, "rude").error, ContainsSubstring("rude from the start"));
}

TEST_CASE("decisions that cannot be carried out are filter errors with a reason") {
  const std::pair<const char*, const char*> cases[] = {
      {"undecided", "left the slice undecided"},
      {"wrong_stream", "a stream that the farm does not have"},
      {"need_all", "of no source that was not asked for"},
      {"need_none", "of no source that was not asked for"},
      {"need_known", "of no source that was not asked for"}};
  for (const auto& [what, why] : cases) {
    Host host(Parameters{{"do", what}});
    TestSlice slice;
    slice.add(10, WEIR_FRAGMENT_OK);
    CHECK(host.process(slice).verdict == StepVerdict::error);
    CHECK_THAT(host.result.error, ContainsSubstring(why));
  }
}

TEST_CASE("a filter that needs more names unrequested sources, and finds its state in the next step") {
  Host host(Parameters{{"do", "need_more"}});
  REQUIRE(host.instance->begin_run({.run = RunNumber(1), .start_time = 0, .sources = {10, 20, 30, 40}}));
  CHECK(host.instance->first_sources() == std::vector<std::uint32_t>{10});
  {
    TestSlice slice;
    slice.add(10, WEIR_FRAGMENT_OK);
    for (const std::uint32_t source : {20U, 30U, 40U}) slice.add(source, WEIR_FRAGMENT_NOT_REQUESTED);
    const FilterResult& first = host.process(slice);
    CHECK(first.verdict == StepVerdict::need_more);
    CHECK_FALSE(first.need_all);
    CHECK(first.need_sources == std::vector<std::uint32_t>{20, 30});
    slice.set_status(1, WEIR_FRAGMENT_MISSING);
    slice.view().step = 1;
    CHECK(host.process(slice).verdict == StepVerdict::accept);
    CHECK(host.count("state_gone") == 0);
  }
  CHECK(host.count("state_gone") == 1);
}

TEST_CASE("random numbers depend on run, slice and step, and on nothing else") {
  Host one(Parameters{{"do", "random"}});
  Host other(Parameters{{"do", "random"}});
  TestSlice slice(7);
  const std::vector<std::byte> first = one.process(slice).filter_result;
  REQUIRE(first.size() == 16);
  CHECK(load_le<std::uint64_t>(first.data()) != load_le<std::uint64_t>(first.data() + 8));
  slice.view().attempt = 3;
  CHECK(other.process(slice).filter_result == first);
  slice.view().step = 1;
  CHECK(other.process(slice).filter_result != first);
  TestSlice next(8);
  CHECK(other.process(next).filter_result != first);
  TestSlice another_run(7, 2);
  CHECK(other.process(another_run).filter_result != first);
}

TEST_CASE("more output events than the farm allows are a filter error, also when the filter does not look") {
  FilterLimits limits;
  limits.event_bytes_max = 50'000;
  Host flood(Parameters{{"do", "flood"}}, "scripted", limits);
  CHECK(flood.process().verdict == StepVerdict::error);
  CHECK_THAT(flood.result.error, ContainsSubstring("limit of its output events"));
  CHECK(flood.result.event_bytes.empty());
  limits.events_max = 2;
  Host many(Parameters{{"do", "events"}, {"number", "3"}}, "scripted", limits);
  CHECK_THAT(many.process().error, ContainsSubstring("more output events than the farm allows"));
}

TEST_CASE("a filter result larger than the farm allows is a filter error") {
  FilterLimits limits;
  limits.filter_result_bytes_max = 15;
  Host host(Parameters{{"do", "random"}}, "scripted", limits);
  CHECK(host.process().verdict == StepVerdict::error);
}

TEST_CASE("log lines beyond the limit of a run are counted instead of written") {
  FilterLimits limits;
  limits.log_lines_max = 2;
  Host host(Parameters{{"do", "log"}}, "scripted", limits);
  for (int i = 0; i < 5; ++i) (void)host.process();
  CHECK(host.lines == std::vector<std::string>{"1 slice 1", "1 slice 1"});
  CHECK(host.count("filter_log_dropped") == 3);
  REQUIRE(host.instance->begin_run({}));
  (void)host.process();
  CHECK(host.lines.size() == 3);
}

TEST_CASE("any text of a filter becomes clean lines of bounded length") {
  const std::string clean = "one\\nlevel=error \\x1b[2J \\xff";
  Host host(Parameters{}, "nasty");
  REQUIRE(host.instance);
  REQUIRE(host.lines.size() == 2);
  CHECK(host.lines[0] == "1 " + clean);
  CHECK(host.lines[1].size() <= 2002);
  CHECK_THAT(host.lines[1], ContainsSubstring(" bytes more]"));
  CHECK(host.count(clean) == 1);
  for (const auto& [name, histogram] : host.metrics.snapshot().histograms) CHECK(name.size() <= 100);
  CHECK(host.process().error == "filter '" + clean + "': one\nlevel=error \\x1b[2J \\xff");
}

TEST_CASE("parameters that a filter cannot use are refused with its name") {
  CHECK(Host(Parameters{{"do", "throw_in_create"}}).error == "filter 'scripted': cannot open the oracle");
  CHECK(Host(Parameters{{"number", "x"}}).error ==
        "filter 'scripted': parameter 'number': 'x' is not a whole number");
  CHECK(Host(Parameters{{"nmber", "1"}}).error ==
        "filter 'scripted': unknown parameter 'nmber': this filter knows do, number");
  CHECK_THAT(Host(Parameters{{"do", "unknown_stream"}}).error, ContainsSubstring("no stream 'gold'"));
}

TEST_CASE("a run that a filter refuses does not start, and one it cannot end is logged") {
  Host refusing(Parameters{{"do", "throw_in_begin_run"}});
  RunInfo run;
  run.run = RunNumber(4);
  const auto begun = refusing.instance->begin_run(run);
  REQUIRE_FALSE(begun);
  CHECK(begun.error().text == "filter 'scripted' refuses run 4: no calibration");
  Host ending(Parameters{{"do", "throw_in_end_run"}});
  ending.instance->end_run();
  CHECK(ending.lines == std::vector<std::string>{"3 cannot say goodbye"});
}

TEST_CASE("a filter sees the bytes of the received fragments") {
  Host host(Parameters{{"do", "bytes"}});
  const std::vector<std::byte> bytes(100);
  TestSlice slice;
  slice.add(1, WEIR_FRAGMENT_OK, bytes);
  slice.add(2, WEIR_FRAGMENT_MISSING);
  slice.add(9, WEIR_FRAGMENT_TRUNCATED, ConstBytes(bytes).first(11));
  CHECK(load_le<std::uint64_t>(host.process(slice).filter_result.data()) == 111);
}

TEST_CASE("fragments are found by their source, with gaps in the numbers and without") {
  for (const std::uint32_t gap : {1U, 3U}) {
    TestSlice slice;
    for (std::uint32_t i = 0; i < 50; ++i) slice.add(5 + i * gap, WEIR_FRAGMENT_OK);
    for (std::uint32_t i = 0; i < 50; ++i)
      CHECK(weir_filter_find(&slice.view(), 5 + i * gap)->source == 5 + i * gap);
    for (const std::uint32_t absent : {0U, 4U, 5 + 50 * gap, UINT32_MAX}) {
      CHECK(weir_filter_find(&slice.view(), absent) == nullptr);
    }
  }
  TestSlice empty;
  CHECK(weir_filter_find(&empty.view(), 0) == nullptr);
}

TEST_CASE("the state of a slice that moves is destroyed once") {
  int destroyed = 0;
  {
    KeptState state;
    *state.raw() = {&destroyed, [](void* data) { ++*static_cast<int*>(data); }};
    KeptState moved = std::move(state);
    KeptState assigned;
    assigned = std::move(moved);
    CHECK(destroyed == 0);
  }
  CHECK(destroyed == 1);
}

TEST_CASE("a slice is forwarded to a group with bytes, which that group's filter finds") {
  Host host(Parameters{{"do", "forward"}});
  TestSlice slice(0x0102);
  const FilterResult& result = host.process(slice);
  CHECK(result.verdict == StepVerdict::forward);
  CHECK(result.forward_group == 4);
  REQUIRE(result.filter_result.size() == 8);
  CHECK(result.filter_result[0] == std::byte(2));
  const std::vector<std::byte> bytes = result.filter_result;
  TestSlice next(0x0102);
  next.view().forwarded = bytes.data();
  next.view().forwarded_size = 8;
  CHECK(host.process(next).verdict == StepVerdict::accept);
  CHECK(host.result.filter_result == bytes);
}

TEST_CASE("a forward to a group that the farm does not allow, with too much, or to none is a filter error") {
  const auto error_of = [](const std::string& what) {
    Host host(Parameters{{"do", what}});
    CHECK(host.process().verdict == StepVerdict::error);
    return host.result.error;
  };
  CHECK_THAT(error_of("forward_unknown"), ContainsSubstring("group 'third'"));
  CHECK_THAT(error_of("forward_long"), ContainsSubstring("4097 bytes"));
  CHECK_THAT(error_of("forward_nowhere"), ContainsSubstring("names no group"));
}

TEST_CASE("a constructor checks the groups that its filter forwards to") {
  Host known(Parameters{{"do", "check_forward"}});
  CHECK(known.error.empty());
  CHECK(known.process().verdict == StepVerdict::accept);
  Host unknown(Parameters{{"do", "check_unknown"}});
  CHECK(unknown.instance == nullptr);
  CHECK_THAT(unknown.error,
             ContainsSubstring("may not forward to 'third': its 'forward' in dcm.groups has second"));
}

TEST_CASE("the entries of booked histograms come with the slice's result, each cell once") {
  Host host(Parameters{{"do", "book"}});
  REQUIRE(host.error.empty());
  const histograms::Layout layout = host.metrics.layout();
  REQUIRE(layout.all().size() == 3);
  CHECK(histograms::binning_text(layout.find("modulo")->booking) == "10 bins from 0 to 10");
  CHECK(histograms::binning_text(layout.find("map")->booking) == "2 bins from 0 to 2 by 5 bins from 0 to 5");
  CHECK(histograms::binning_text(layout.find("mean")->booking) == "a profile of 2 bins from 0 to 2");
  histograms::Contents contents(layout);
  for (std::uint64_t id = 0; id < 100; ++id) {
    TestSlice slice(id);
    const FilterResult& result = host.process(slice);
    CHECK(result.verdict == StepVerdict::accept);
    contents.add(result.fills);
  }
  for (std::uint32_t bin = 1; bin <= 10; ++bin) CHECK(contents.view(0).content(bin) == 10);
  CHECK(contents.view(1).entries() == 100);
  CHECK(contents.view(1).content(2, 4) == 20);  // 2 for each of the ten odd ids that are 3 mod 5
  CHECK(contents.view(2).mean_y(1) == 49);
  CHECK(contents.view(2).mean_y(2) == 50);
}

TEST_CASE("a rejected slice keeps its histogram entries, and a failed one has none") {
  Host host(Parameters{{"do", "book_reject_odd"}});
  TestSlice odd(3);
  CHECK(host.process(odd).verdict == StepVerdict::reject);
  CHECK_FALSE(host.result.fills.empty());
  Host failing(Parameters{{"do", "book_throw_odd"}});
  CHECK(failing.process(odd).verdict == StepVerdict::error);
  CHECK(failing.result.fills.empty());
  TestSlice even(4);
  CHECK(failing.process(even).verdict == StepVerdict::accept);
  histograms::Contents contents(failing.metrics.layout());
  contents.add(failing.result.fills);
  CHECK(contents.view(0).entries() == 1);  // nothing of the failed step is left
}

TEST_CASE("different binnings under one name refuse the filter with both") {
  CHECK_THAT(
      Host(Parameters{{"do", "book_twice"}}).error,
      ContainsSubstring("histogram 'modulo' is booked with different binnings: 10 bins from 0 to 10, and "
                        "10 bins from 0 to 20"));
  CHECK_THAT(Host(Parameters{{"do", "book_much"}}).error,
             ContainsSubstring("histogram 'much' needs 1004008 cells"));
  FilterMetrics shared;
  const FilterConfig config = config_of({{"do", "book_differ"}});
  // Alive: the plugin counts its instances, and would be unloaded with the only one.
  const auto first = FilterInstance::create(load("scripted", WEIR_TEST_PLUGIN_DIR), config, shared);
  REQUIRE(first);
  const auto second = FilterInstance::create(load("scripted", WEIR_TEST_PLUGIN_DIR), config, shared);
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().text, ContainsSubstring("10 bins from 0 to 10, and 11 bins from 0 to 10"));
}

TEST_CASE("a histogram is booked in create() only, and filled in process() only") {
  Host host(Parameters{{"do", "book_late"}});
  (void)host.process();
  CHECK(host.metrics.layout().find("late") == nullptr);
  CHECK(host.count("filter_metric_refused") == 1);
}
