// Decisions of the filter, the end of slices, and samples on the way.
#include "../src/shipment_stage.hpp"

#include "../src/filter_stage.hpp"
#include "../src/settings.hpp"
#include "building.hpp"
#include "far_side.hpp"
#include <weir/tap/sample.hpp>
#include <weir/v1/bus.pb.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::SliceDecision;

struct Bus final : node::SampleSink {
  bool publish(std::string_view tag, ConstBytes sample) override {
    tags.emplace_back(tag);
    bytes = sample.size();
    return true;
  }
  std::vector<std::string> tags;
  std::size_t bytes = 0;
};

struct Leaving : Building {
  Leaving() {
    setup.identity = process(Role::dcm, 0);
    setup.self.name = "dcm-0";
    setup.samples = &bus;
    config::NodePlan& plan = setup.plan.nodes.emplace_back();
    plan.role = Role::writer;
    tap::SamplerSettings settings;
    settings.bytes_per_s = settings.sample_bytes_max = 1U << 20;
    settings.taps_max = 4;
    SliceSamplesSettings sampling = samples_settings(setup);
    sampling.sampler = settings;
    samples.emplace(sampling);
    shipments.emplace(shipment_settings(setup), counters, builder, nullptr, *samples, histograms, notes,
                      clock.now);
  }
  BuiltSlice& reported(std::uint64_t id, const SliceDecision& decision) {
    BuiltSlice& slice = complete(id);
    decisions.decide(slice, decision, now());
    std::vector<slice_rows::AttemptDecision> batch;
    decisions.report(batch);
    return slice;
  }
  BuiltSlice& accepted(std::uint64_t id) { return reported(id, SliceDecision::accept(DecisionKind::poison)); }
  void confirm(std::uint64_t id, slice_rows::Answer answer, std::uint16_t writer = 0) {
    const slice_rows::Confirmation row{SliceId(id), Attempt(0), StoreEpoch(1), NodeIndex(writer), answer};
    shipments->confirm({&row, 1});
  }
  v1::Report report(bool final = false) {
    v1::Report made;
    shipments->add_to(made, final);
    return made;
  }
  static std::uint64_t count(const v1::Report& report, const std::string& name) {
    const auto found = report.sums().find(name);
    return found == report.sums().end() ? 0 : found->second.count();
  }

  node::Setup setup;
  Bus bus;
  sessions::PeerCounters counters;
  Decisions decisions{builder};
  std::optional<SliceSamples> samples;
  HistogramStage histograms;
  std::optional<ShipmentStage> shipments;
};

struct Filtering : Building {
  explicit Filtering(const std::string& does,
                     v1::FilterSettings::OnError on_error = v1::FilterSettings::ON_ERROR_REJECT) {
    node::Setup setup;
    setup.identity = process(Role::dcm, 0);
    setup.farm.mutable_dcm()->set_processing_units(0);
    setup.farm.mutable_dcm()->set_slices_max(16);
    setup.farm.mutable_supervisor()->set_lease_ms(4000);
    v1::FilterSettings& filter = *setup.farm.mutable_filter();
    filter.set_plugin("scripted");
    (*filter.mutable_parameters())["do"] = does;
    filter.set_on_error(on_error);
    stage.emplace(filter_settings(setup), FilterSurroundings{{WEIR_TEST_PLUGIN_DIR}, nullptr}, clock, builder,
                  decisions, histograms, notes, clock.now);
    REQUIRE(stage->begin_run(RunNumber(7), 0).has_value());
  }
  BuiltSlice& run(std::uint64_t id, bool suspect = false) {
    BuiltSlice& slice = complete(id);
    slice.assignment.suspect = suspect;
    stage->take(slice);
    turn();
    return slice;
  }
  void turn() {
    stage->submit();
    stage->take_results();
  }

  Decisions decisions{builder};
  HistogramStage histograms;
  std::optional<FilterStage> stage;
};

}  // namespace

TEST_CASE("a confirmed forward counts as forwarded, and the slice is released") {
  Leaving dcm;
  filter_job::FilterResult result;
  BuiltSlice& slice = dcm.complete(5);
  slice.result = &result;
  dcm.decisions.decide(slice, SliceDecision::forward(), dcm.now());
  std::vector<slice_rows::AttemptDecision> batch;
  dcm.decisions.report(batch);
  dcm.confirm(5, slice_rows::Answer::settled);
  const v1::Report report = dcm.report(true);
  CHECK(Leaving::count(report, "forwarded") == 1);
  CHECK(Leaving::count(report, "rejected") == 0);
  CHECK(Leaving::count(report, "discarded") == 0);
  CHECK(dcm.find(5) == nullptr);
}

TEST_CASE("histogram entries count once their slice is rejected, stored or forwarded, and in no other case") {
  Leaving dcm;
  histograms::Layout layout;
  REQUIRE(layout.book({"ids", histograms::Kind::one_dimension, {10, 0, 10}}));
  dcm.histograms.book([&] { return layout; });
  const auto decided = [&](std::uint64_t id, const SliceDecision& decision) -> BuiltSlice& {
    BuiltSlice& slice = dcm.reported(id, decision);
    filter_job::FilterResult result;
    result.fills = {{histograms::kEntries, 0, 1}, {histograms::kHeadCells + 1, 0, 1}};
    dcm.histograms.take(slice, result);
    CHECK(result.fills.empty());
    return slice;
  };
  const auto entries = [&] { return dcm.histograms.contents().view(0).entries(); };
  decided(1, SliceDecision::reject());
  CHECK(entries() == 0);
  dcm.confirm(1, slice_rows::Answer::settled);
  CHECK(entries() == 1);
  decided(2, SliceDecision::accept(DecisionKind::filter));
  dcm.confirm(2, slice_rows::Answer::store);
  CHECK(entries() == 1);  // no writer has it on disk
  decided(3, SliceDecision::reject());
  dcm.shipments->give_up(*dcm.find(3));
  decided(4, SliceDecision::fail("too_large"));
  dcm.confirm(4, slice_rows::Answer::settled);
  CHECK(entries() == 1);
  decided(5, SliceDecision::accept(DecisionKind::filter));  // a farm without writers
  dcm.confirm(5, slice_rows::Answer::settled);
  CHECK(entries() == 2);
  dcm.shipments->give_up_all(true);
  dcm.shipments->release_unreferenced();
  CHECK(entries() == 2);
  CHECK(dcm.histograms.held() == 0);
}

TEST_CASE("histogram entries beyond the limit are dropped with their slice's, and counted") {
  Leaving dcm;
  histograms::Layout layout;
  REQUIRE(layout.book({"ids", histograms::Kind::one_dimension, {10, 0, 10}}));
  dcm.histograms.book([&] { return layout; });
  dcm.histograms.limit(3);
  for (const std::uint64_t id : {1U, 2U}) {
    BuiltSlice& slice = dcm.reported(id, SliceDecision::reject());
    filter_job::FilterResult result;
    result.fills = {{histograms::kEntries, 0, 1}, {histograms::kHeadCells + 1, 0, 1}};
    dcm.histograms.take(slice, result);
    if (id == 1) continue;
    result.fills = {{histograms::kEntries, 0, 1}};  // of a later step: it would have room
    dcm.histograms.take(slice, result);
  }
  for (const std::uint64_t id : {1U, 2U}) dcm.confirm(id, slice_rows::Answer::settled);
  CHECK(dcm.histograms.contents().view(0).entries() == 1);
  CHECK(dcm.histograms.held() == 0);
  v1::Report report;
  dcm.histograms.add_to(report, false);
  CHECK(report.counters().at("dcm.fills_dropped") == 1);
  CHECK(report.filter_histograms_size() == 1);
}

TEST_CASE("the steps of a slice add up, and a slice that begins again begins with no entries") {
  Leaving dcm;
  histograms::Layout layout;
  REQUIRE(layout.book({"ids", histograms::Kind::one_dimension, {10, 0, 10}}));
  dcm.histograms.book([&] { return layout; });
  BuiltSlice& slice = dcm.reported(1, SliceDecision::reject());
  const auto step = [&] {
    filter_job::FilterResult result;
    result.fills = {{histograms::kEntries, 0, 1}};
    dcm.histograms.take(slice, result);
  };
  step();
  dcm.histograms.drop(slice);
  step();
  step();
  dcm.confirm(1, slice_rows::Answer::settled);
  CHECK(dcm.histograms.contents().view(0).entries() == 2);
}

TEST_CASE("an accepted slice is shipped when that is confirmed, and its memory is free when it is on disk") {
  Leaving dcm;
  BuiltSlice& slice = dcm.accepted(5);
  dcm.confirm(5, slice_rows::Answer::store);
  CHECK(slice.state() == BuildState::storing);
  CHECK(slice.shipment.bytes > 128);
  CHECK(slice.shipment.epoch == StoreEpoch(1));
  CHECK(slice.is_in_line());
  CHECK(dcm.report(true).counters().at("dcm.unheard") == 1);
  Outlet::drop(slice);
  const auto queue = slice.memory.share();  // a connection's
  dcm.slices().change(slice, BuildState::stored);
  dcm.shipments->release_unreferenced();
  CHECK(dcm.find(5) == &slice);
}

TEST_CASE("memory that a connection refers to is released when the connection drops it, and not before") {
  Leaving dcm;
  BuiltSlice& slice = dcm.accepted(5);
  dcm.confirm(5, slice_rows::Answer::store);
  auto queue = slice.memory.share();
  dcm.shipments->give_up(slice);
  CHECK(slice.state() == BuildState::given_up);
  CHECK_FALSE(slice.is_in_line());
  dcm.shipments->release_unreferenced();
  CHECK(dcm.builder.pool.bytes_used() > 0);
  queue.reset();
  dcm.shipments->release_unreferenced();
  CHECK(dcm.find(5) == nullptr);
  CHECK(dcm.builder.pool.bytes_used() == 0);
}

TEST_CASE("settled slices are counted as rejected or discarded, and late decisions as refused") {
  Leaving dcm;
  dcm.reported(1, SliceDecision::reject());
  dcm.accepted(2);
  dcm.reported(3, SliceDecision::fail("lost"));
  dcm.accepted(4);
  for (const std::uint64_t id : {1U, 2U, 3U}) dcm.confirm(id, slice_rows::Answer::settled);
  dcm.confirm(4, slice_rows::Answer::refused);
  const v1::Report report = dcm.report();
  CHECK(Leaving::count(report, "rejected") == 1);
  CHECK(Leaving::count(report, "discarded") == 2);
  CHECK(report.counters().at("dcm.refused") == 1);
  CHECK(dcm.slices().open_count() == 0);
}

TEST_CASE("a confirmation to store an unknown slice, or at an unknown writer, is answered as lost") {
  Leaving dcm;
  dcm.accepted(5);
  dcm.confirm(5, slice_rows::Answer::store, 3);
  dcm.confirm(77, slice_rows::Answer::store);
  dcm.confirm(78, slice_rows::Answer::settled);  // an unknown slice needs no answer
  REQUIRE(dcm.notes.told.size() == 2);
  for (const v1::Control& told : dcm.notes.told) {
    REQUIRE(told.decide().slice_size() == 1);
    CHECK(told.decide().verdict()[0] == v1::VERDICT_FAILED);
    CHECK(told.decide().failures(0).reason() == "lost");
  }
  CHECK(dcm.notes.told[1].decide().slice(0) == 77);
  CHECK(dcm.find(5) == nullptr);
}

TEST_CASE("a confirmation of an unreported slice changes nothing") {
  Leaving dcm;
  BuiltSlice& slice = dcm.complete(5);
  dcm.confirm(5, slice_rows::Answer::store);
  dcm.confirm(5, slice_rows::Answer::settled);
  CHECK(slice.state() == BuildState::queued);
  CHECK(dcm.notes.told.empty());
}

TEST_CASE("at a run's end slices that wait for a writer stay, and without a supervisor none do") {
  Leaving dcm;
  BuiltSlice& storing = dcm.accepted(1);
  dcm.confirm(1, slice_rows::Answer::store);
  dcm.accepted(2);
  dcm.slices().assign(Building::assignment(3));
  BuiltSlice& filtering = dcm.complete(4);
  dcm.slices().change(filtering, BuildState::filtering);
  dcm.shipments->give_up_all(false);
  CHECK(storing.state() == BuildState::storing);
  CHECK(filtering.state() == BuildState::abandoned);
  CHECK(dcm.find(2) == nullptr);
  CHECK(dcm.slices().in(BuildState::assigned).empty());
  dcm.shipments->give_up_all(true);
  CHECK(storing.state() == BuildState::given_up);
  CHECK(filtering.state() == BuildState::abandoned);
}

TEST_CASE("an abandoned slice awaits nothing ahead, though its filter goes on") {
  Leaving dcm;
  dcm.collector().prefetch_after_steps({{SourceId(2)}});
  BuiltSlice& slice = dcm.open(4);
  const std::array first_step{SourceId(1)};
  dcm.collector().collect(slice, dcm.collector().select(first_step));
  dcm.collector().pass(dcm.now());
  dcm.answer(4, 0);
  std::vector<BuiltSlice*> done;
  dcm.builder.assembler.take_completed(done);
  REQUIRE(done == std::vector<BuiltSlice*>{&slice});
  dcm.collector().fetch_ahead(slice);
  dcm.collector().issue_ahead(dcm.now());
  REQUIRE(slice.ahead == 1);
  dcm.slices().change(slice, BuildState::filtering);
  dcm.shipments->give_up_all(true);
  CHECK(slice.state() == BuildState::abandoned);
  CHECK(slice.ahead == 0);
  const assembly::FragmentCounters& counters = dcm.builder.assembler.counters();
  CHECK(counters.prefetched == 1);
  CHECK(counters.prefetch_unused == 1);
}

TEST_CASE("only clients that asked for samples get the slices that pass") {
  Leaving dcm;
  BuiltSlice& first = dcm.complete(5);
  dcm.samples->complete(first, dcm.now());
  CHECK(dcm.bus.tags.empty());
  v1::TapWish wish;
  wish.set_id("0123456789abcdef");
  wish.add_streams("raw");
  wish.add_streams("debug");
  wish.set_lease_ms(1000);
  dcm.samples->wish(wish, dcm.now());
  dcm.samples->complete(first, dcm.now());
  CHECK(dcm.bus.tags == std::vector<std::string>{"tap.raw.0123456789abcdef.dcm-0"});
  CHECK(dcm.bus.bytes > tap::kSampleHeadLength + 128);
  dcm.accepted(6);
  dcm.confirm(6, slice_rows::Answer::store);  // no filter has seen it: to the debug stream
  REQUIRE(dcm.bus.tags.size() == 2);
  CHECK(dcm.bus.tags.back() == "tap.debug.0123456789abcdef.dcm-0");
  dcm.samples->expire(dcm.now() + 2 * kSecond);
  dcm.samples->complete(first, dcm.now());
  CHECK(dcm.bus.tags.size() == 2);
  v1::Report report;
  dcm.samples->add_to(report);
  CHECK(report.counters().at("tap.samples") == 2);
}

TEST_CASE("a slice that its filter accepts is decided, with the result until it leaves") {
  Filtering dcm("accept");
  BuiltSlice& slice = dcm.run(5);
  CHECK(slice.state() == BuildState::decided);
  CHECK(slice.decision.accepted);
  REQUIRE(slice.result != nullptr);
  CHECK(slice.view.slice == 5);
  CHECK(slice.view.fragment_count == 2);
  dcm.stage->give_back(*std::exchange(slice.result, nullptr));
}

TEST_CASE("a slice with a failed filter is rejected or accepted unfiltered, as the farm file sets") {
  Filtering rejects("throw");
  CHECK_FALSE(rejects.run(5).decision.accepted);
  Filtering accepts("throw", v1::FilterSettings::ON_ERROR_ACCEPT);
  const BuiltSlice& slice = accepts.run(6);
  CHECK(slice.decision.accepted);
  CHECK(slice.decision.by == DecisionKind::no_filter);
  for (const Filtering* dcm : {&rejects, &accepts}) {
    v1::Report report;
    dcm->stage->add_to(report);
    CHECK(report.counters().at("dcm.filter_errors") == 1);
  }
}

TEST_CASE("the histogram entries of a slice wait with it, and those of a failed slice do not") {
  Filtering dcm("book_throw_odd");
  dcm.run(4);
  CHECK(dcm.histograms.held() > 0);
  CHECK(dcm.histograms.contents().view(0).entries() == 0);
  const std::size_t held = dcm.histograms.held();
  dcm.run(5);
  CHECK(dcm.histograms.held() == held);
}

TEST_CASE("a slice that is held for poison is accepted, and its filter never sees it") {
  Filtering dcm("throw");
  BuiltSlice& slice = dcm.complete(5);
  slice.assignment.unfiltered = true;
  dcm.stage->take(slice);
  CHECK(slice.state() == BuildState::decided);
  CHECK(slice.decision.by == DecisionKind::poison);
  dcm.turn();
  v1::Report report;
  dcm.stage->add_to(report);
  CHECK(report.counters().at("dcm.steps") == 0);
}

TEST_CASE("an abandoned slice is released when its filter returns it") {
  Filtering dcm("reject");
  BuiltSlice& slice = dcm.complete(5);
  dcm.stage->take(slice);
  dcm.stage->submit();
  REQUIRE(slice.state() == BuildState::filtering);
  dcm.slices().change(slice, BuildState::abandoned);
  CHECK(dcm.notes.released.empty());
  dcm.stage->take_results();
  CHECK(dcm.notes.released == std::vector<std::uint64_t>{5});
}

TEST_CASE("a suspect waits until the supervisor has been notified that it is alone in the filter") {
  Filtering dcm("reject");
  BuiltSlice& suspect = dcm.run(5, true);
  CHECK(suspect.state() == BuildState::suspect);
  REQUIRE(dcm.notes.told.size() == 1);
  const v1::Filtering told = dcm.notes.told.front().filtering();
  CHECK(told.suspect() == 5);
  const BuiltSlice& other = dcm.run(6);
  CHECK(other.state() == BuildState::queued);
  dcm.stage->answered(told.serial());
  dcm.turn();
  CHECK(suspect.state() == BuildState::decided);
  CHECK(other.state() == BuildState::queued);
  dcm.turn();
  REQUIRE(dcm.notes.told.size() == 2);
  CHECK_FALSE(dcm.notes.told.back().filtering().has_suspect());
  dcm.stage->answered(dcm.notes.told.back().filtering().serial());
  dcm.turn();
  CHECK(other.state() == BuildState::decided);
}

TEST_CASE("a suspect with a kill goes before older suspects, and the newest first") {
  Filtering dcm("reject");
  const auto waits = [&dcm](std::uint64_t id, std::uint8_t kills) {
    BuiltSlice& slice = dcm.complete(id);
    slice.assignment.suspect = true;
    slice.assignment.kills = kills;
    dcm.stage->take(slice);
  };
  waits(5, 0);
  waits(6, 1);
  waits(7, 1);
  waits(8, 0);
  for (const std::uint64_t id : {7U, 6U, 5U, 8U}) {
    dcm.turn();
    const v1::Filtering told = dcm.notes.told.back().filtering();
    CHECK(told.suspect() == id);
    CHECK(told.beside_size() == 0);
    dcm.stage->answered(told.serial());
    dcm.turn();
    dcm.turn();
    dcm.stage->answered(dcm.notes.told.back().filtering().serial());
  }
}

}  // namespace weir::dcm
