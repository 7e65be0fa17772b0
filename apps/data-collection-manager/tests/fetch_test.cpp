// Built slices that move: one DCM keeps and sends them, another fetches them, in memory.
#include "../src/decisions.hpp"
#include "../src/fetch_credits.hpp"
#include "../src/settings.hpp"
#include "../src/shipment_stage.hpp"
#include "../src/slice_admission.hpp"
#include "../src/slice_fetcher.hpp"
#include "../src/slice_server.hpp"
#include "building.hpp"
#include "memory_network.hpp"
#include "peer_identity.hpp"
#include <weir/filter_job/job.hpp>
#include <weir/slice_codec/decide.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::SliceDecision;
using test::process;

constexpr std::uint32_t kBytes = 3000;

node::Setup setup_of(std::uint16_t index) {
  node::Setup setup;
  setup.identity = process(Role::dcm, index);
  setup.limits.frame_bytes_max = 1000;  // a fragment takes three frames
  setup.farm.mutable_dcm()->set_deadline_ms(1000);
  setup.farm.mutable_network()->set_reconnect_ms(10);
  setup.farm.mutable_dcm()->add_groups()->set_name("near");
  setup.farm.mutable_dcm()->mutable_groups(0)->add_forward("far");
  setup.farm.mutable_dcm()->add_groups()->set_name("far");
  setup.farm.mutable_dcm()->mutable_groups(1)->set_fetch(v1::DcmGroupSettings::FETCH_BUILDER);
  for (std::uint16_t i = 0; i < 2; ++i) {
    config::NodePlan& dcm = setup.plan.nodes.emplace_back();
    dcm.name = process(Role::dcm, i).name;
    dcm.role = Role::dcm;
    dcm.index = NodeIndex(i);
    dcm.group = static_cast<std::uint8_t>(i);
  }
  setup.self = setup.plan.nodes[index];
  setup.listen = {"memory", 0};
  return setup;
}

// DCM 0, which forwards slices and keeps them.
struct Keeping : Building {
  explicit Keeping(test::MemoryNetwork& network) {
    decisions.keep_for({false, true}, 4);
    identity.listen = server.open(network);
    tap::SamplerSettings settings;
    settings.bytes_per_s = settings.sample_bytes_max = 1U << 20;
    settings.taps_max = 4;
    SliceSamplesSettings sampling = samples_settings(setup);
    sampling.sampler = settings;
    samples.emplace(sampling);
    shipments.emplace(shipment_settings(setup), counters, builder, nullptr, *samples, histograms, notes,
                      clock.now);
    result.forward_group = 1;
  }
  // Returns the report of a forward of this slice.
  v1::Decide forward(std::uint64_t id, std::uint32_t bytes = kBytes) {
    BuiltSlice& slice = complete(id, bytes);
    for (std::size_t i = 0; i < slice.table.size(); ++i)
      std::memset(slice.progress[i].target, static_cast<int>(id + i), bytes);
    return report_forward(slice);
  }
  v1::Decide report_forward(BuiltSlice& slice) {
    slice.result = &result;
    decisions.decide(slice, SliceDecision::forward(), now());
    std::vector<slice_rows::AttemptDecision> rows;
    decisions.report(rows);
    v1::Decide batch;
    slice_codec::encode(rows, batch);
    return batch;
  }
  void confirm(std::uint64_t id, slice_rows::Answer answer) {
    const slice_rows::Confirmation row{SliceId(id), Attempt(0), StoreEpoch(0), NodeIndex(0), answer};
    shipments->confirm({&row, 1});
  }
  void keep(std::uint64_t id) {
    REQUIRE(forward(id).forwards(0).kept());
    confirm(id, slice_rows::Answer::keep);
    REQUIRE(find(id)->state() == BuildState::kept);
  }

  node::Setup setup = setup_of(0);
  sessions::PeerInfo identity = setup.identity;
  sessions::PeerCounters counters;
  filter_job::FilterResult result;
  Decisions decisions{builder};
  std::optional<SliceSamples> samples;
  HistogramStage histograms;
  std::optional<ShipmentStage> shipments;
  SliceServer server{server_settings(setup), identity, counters, builder, clock.now};
};

// DCM 1, of the group that fetches.
struct Fetching : Building {
  explicit Fetching(node::Setup with = setup_of(1)) : setup(std::move(with)) { admission.fetch_kept(); }
  void assign(std::uint64_t id, std::uint16_t attempt, std::uint16_t keeper = 0) {
    assembly::AssignedSlice made = assignment(id, attempt);
    made.is_kept = true;
    made.kept_by = NodeIndex(keeper);
    std::vector<assembly::AssignedSlice> assigned;
    assigned.push_back(std::move(made));
    admission.assign(std::move(assigned));
    admission.open_assigned(now());
  }
  // The slice if it is complete.
  BuiltSlice* built() {
    std::vector<BuiltSlice*> done;
    builder.assembler.take_completed(done);
    if (done.empty()) return nullptr;
    fetcher.complete(*done.front());
    return done.front();
  }
  std::size_t reported() {
    std::size_t slices = 0;
    fetcher.tell([&](const v1::Control& message) {
      slices += static_cast<std::size_t>(message.fetched().slice_size());
    });
    return slices;
  }
  bool asks_readouts() { return !collector().to_send().empty(); }

  node::Setup setup;
  sessions::PeerCounters counters;
  RunPhases course;
  SliceAdmission admission{{}, builder, nullptr, notes};
  SliceFetcher fetcher{fetcher_settings(setup), make_fetch_shaper(setup), counters, builder, course};
};

struct Pair {
  explicit Pair(node::Setup with = setup_of(1)) : fetching(std::move(with)) {
    fetching.fetcher.set_keeper(NodeIndex(0), keeping.identity.listen, true);
  }
  std::uint64_t sent() {
    v1::Report report;
    keeping.server.add_to(report);
    return report.counters().at("fetch.slices_sent");
  }
  void turn(DurationNs step = kMillisecond) {
    keeping.now() += step;
    fetching.now() += step;
    fetching.fetcher.tick(network, fetching.now());
    fetching.collector().pass(fetching.now());
    fetching.fetcher.request_wanted();
    network.run(700);
    keeping.server.tick();
    network.run(700);
    keeping.shipments->release_unreferenced();
  }
  void turns(int number, DurationNs step = kMillisecond) {
    for (; number > 0; --number) turn(step);
  }

  test::MemoryNetwork network;
  Keeping keeping{network};
  Fetching fetching;
};

bool has_bytes_of(const BuiltSlice& slice, std::uint64_t id) {
  for (std::size_t i = 0; i < slice.table.size(); ++i) {
    const auto* bytes = static_cast<const std::byte*>(slice.table[i].data);
    if (slice.table[i].length != kBytes || bytes == nullptr) return false;
    for (std::uint32_t at = 0; at < kBytes; ++at) {
      if (bytes[at] != static_cast<std::byte>(id + i)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a kept slice arrives whole in pieces, is reported, and released when it is settled") {
  Pair dcms;
  dcms.keeping.keep(5);
  dcms.fetching.assign(5, 1);
  dcms.turns(5);
  BuiltSlice* const slice = dcms.fetching.built();
  REQUIRE(slice != nullptr);
  CHECK(has_bytes_of(*slice, 5));
  CHECK(dcms.fetching.reported() == 1);
  CHECK(dcms.fetching.reported() == 0);
  CHECK_FALSE(dcms.fetching.asks_readouts());
  CHECK(dcms.fetching.builder.assembler.counters().received == 2);
  CHECK(dcms.keeping.slices().accepted_bytes() > 0);
  dcms.keeping.confirm(5, slice_rows::Answer::settled);
  dcms.turn();
  CHECK(dcms.keeping.find(5) == nullptr);
  CHECK(dcms.keeping.builder.pool.bytes_used() == 0);
  CHECK(dcms.keeping.slices().broken_invariant() == "");
}

TEST_CASE("a request that overtakes the confirmation waits for it") {
  Pair dcms;
  REQUIRE(dcms.keeping.forward(5).forwards(0).kept());
  dcms.fetching.assign(5, 1);
  dcms.turns(5);
  CHECK(dcms.fetching.built() == nullptr);
  dcms.keeping.confirm(5, slice_rows::Answer::keep);
  dcms.turns(2);
  CHECK(dcms.fetching.built() != nullptr);
}

TEST_CASE("a slice that is no longer kept is built from the readouts") {
  Pair dcms;
  dcms.keeping.keep(5);
  dcms.keeping.confirm(5, slice_rows::Answer::settled);
  dcms.fetching.assign(5, 1);
  dcms.turns(5);
  CHECK(dcms.fetching.asks_readouts());
  CHECK(dcms.fetching.built() == nullptr);
}

TEST_CASE("the slices of a DCM that has left are built from the readouts, fragments that arrived included") {
  Pair dcms;
  dcms.keeping.keep(5);
  dcms.fetching.assign(5, 1);
  dcms.fetching.fetcher.set_keeper(NodeIndex(0), {}, false);
  dcms.fetching.fetcher.look();
  dcms.turn();
  CHECK(dcms.fetching.asks_readouts());
  CHECK(dcms.fetching.find(5, 1)->outstanding == 2);
}

TEST_CASE("after a broken connection the slice is requested again and arrives whole") {
  Pair dcms;
  dcms.keeping.keep(5);
  dcms.fetching.assign(5, 1);
  std::size_t frames = 0;
  dcms.network.on_the_way = [&](std::vector<std::byte>&) {
    if (++frames == 6) dcms.network.break_all();
  };
  dcms.turns(3);
  dcms.network.on_the_way = {};
  dcms.turns(10, 20 * kMillisecond);
  BuiltSlice* const slice = dcms.fetching.built();
  REQUIRE(slice != nullptr);
  CHECK(has_bytes_of(*slice, 5));
  CHECK_FALSE(dcms.fetching.asks_readouts());
}

TEST_CASE("a silent DCM is left for the readouts, but not while a readout is silent as well") {
  Pair dcms;
  dcms.keeping.keep(5);
  dcms.network.hold_connections = true;
  dcms.fetching.assign(5, 1);
  dcms.fetching.collector().set_lost(1, true);
  for (int i = 0; i < 30; ++i) {
    dcms.turn(100 * kMillisecond);
    dcms.fetching.fetcher.look();
  }
  CHECK_FALSE(dcms.fetching.asks_readouts());
  dcms.fetching.collector().set_lost(1, false);
  for (int i = 0; i < 15; ++i) {
    dcms.turn(100 * kMillisecond);
    dcms.fetching.fetcher.look();
  }
  CHECK(dcms.fetching.asks_readouts());
}

// Its machine is lost: the connection stays half open, wherever in a fragment it stopped.
TEST_CASE("a fragment that its DCM had begun to send is requested from the readouts like the others") {
  std::size_t in_a_fragment = 0;
  for (std::size_t bytes = 0; bytes < 2 * kBytes; bytes += 170) {
    CAPTURE(bytes);
    Pair dcms;
    dcms.keeping.keep(5);
    dcms.turns(3);
    dcms.fetching.assign(5, 1);
    bool sends = false;
    std::size_t left = bytes;
    dcms.network.on_the_way = [&](std::vector<std::byte>& sent) {
      sends = sends || sent.front() == static_cast<std::byte>(wire::FrameType::fragment);
      if (!sends) return;
      sent.resize(std::min(left, sent.size()));
      left -= sent.size();
    };
    dcms.turns(3);
    const BuiltSlice& slice = *dcms.fetching.find(5, 1);
    REQUIRE(slice.state() == BuildState::collecting);
    in_a_fragment += slice.receiving;
    dcms.fetching.fetcher.set_keeper(NodeIndex(0), {}, false);
    dcms.fetching.fetcher.look();
    CHECK(slice.receiving == 0);
    for (std::size_t i = 0; i < slice.progress.size(); ++i) {
      using State = assembly::FragmentProgress::State;
      const State state = slice.progress[i].state;
      CHECK((state == State::done || state == State::requested));
      if (state == State::requested) CHECK(slice.gathering.parts[i].wanted);
    }
    dcms.turn();
    CHECK(dcms.fetching.asks_readouts());
  }
  CHECK(in_a_fragment > 10);
}

TEST_CASE("a DCM keeps whole slices only, and none beyond half of its memory") {
  test::MemoryNetwork network;
  Keeping dcm(network);
  BuiltSlice& flawed = dcm.complete(1);
  flawed.flawed = 1;
  CHECK_FALSE(dcm.report_forward(flawed).forwards(0).kept());
  dcm.confirm(1, slice_rows::Answer::settled);
  constexpr std::uint32_t kLarge = Building::kMemory / 8;
  std::uint64_t kept = 0;
  for (std::uint64_t id = 2; id < 6; ++id) {
    const bool is_kept = dcm.forward(id, kLarge).forwards(0).kept();
    dcm.confirm(id, is_kept ? slice_rows::Answer::keep : slice_rows::Answer::settled);
    kept += is_kept ? 1 : 0;
  }
  CHECK(kept >= 1);
  CHECK(dcm.slices().accepted_bytes() <= Building::kMemory / 2);
  CHECK(dcm.slices().in(BuildState::kept).size() == kept);
}

TEST_CASE("accepts that need room make the DCM drop the slices that it keeps, oldest first") {
  test::MemoryNetwork network;
  Keeping dcm(network);
  constexpr std::uint32_t kLarge = Building::kMemory / 16;  // each slice has two
  dcm.notes.release(dcm.complete(100, kLarge));  // the first one takes more, as its size is not known
  REQUIRE(dcm.forward(1, kLarge).forwards(0).kept());
  dcm.confirm(1, slice_rows::Answer::keep);
  std::uint64_t id = 2;
  while (!dcm.decisions.needs_room()) {
    REQUIRE(id < 7);
    dcm.decisions.decide(dcm.complete(id++, kLarge), SliceDecision::accept(DecisionKind::poison), dcm.now());
    std::vector<slice_rows::AttemptDecision> batch;
    dcm.decisions.report(batch);
  }
  CHECK(dcm.shipments->drop_kept());
  CHECK(dcm.find(1) == nullptr);
  CHECK_FALSE(dcm.decisions.needs_room());
  CHECK_FALSE(dcm.shipments->drop_kept());
}

// As many fragments as one slice has.
TEST_CASE("a DCM requests built slices only as its shaper has credit") {
  node::Setup setup = setup_of(1);
  setup.farm.mutable_dcm()->set_shaper(v1::DcmSettings::SHAPER_FRAGMENT_CREDITS);
  setup.farm.mutable_dcm()->set_window_fragments(2);
  Pair dcms(setup);
  for (const std::uint64_t id : {4, 5, 6}) dcms.keeping.keep(id);
  dcms.fetching.assign(4, 1);
  dcms.turns(5);
  REQUIRE(dcms.fetching.built() != nullptr);  // its size is known from now on
  dcms.fetching.assign(5, 1);
  dcms.fetching.assign(6, 1);
  dcms.turn();
  CHECK(dcms.sent() == 2);
  dcms.turns(5);
  CHECK(dcms.sent() == 3);
  CHECK(dcms.fetching.find(6, 1)->outstanding == 0);
}

TEST_CASE("the credit of a fetched slice returns as it arrives, with its end, and with its connection") {
  shaping::ShaperSettings settings;
  settings.readouts = 2;
  settings.window_bytes = 1000;
  FetchCredits credits(shaping::make_shaper("byte-credits", settings).value());
  const auto take = [&](std::uint64_t id, std::uint32_t keeper) {
    return credits.try_take(SliceId(id), Attempt(1), {keeper, 2, 400}, 0);
  };
  REQUIRE(take(1, 0) == shaping::Credit::granted);
  CHECK(take(2, 0) == shaping::Credit::readout_full);
  REQUIRE(take(2, 1) == shaping::Credit::granted);
  CHECK(take(3, 1) == shaping::Credit::full);
  credits.arrived(SliceId(1), Attempt(1), 150, true, 0);
  CHECK(credits.outstanding() == 650);
  credits.arrived(SliceId(1), Attempt(1), 150, true, 0);  // smaller than expected
  CHECK(credits.outstanding() == 400);
  credits.arrived(SliceId(1), Attempt(1), 150, true, 0);
  credits.ended(SliceId(2), Attempt(1), 0);
  CHECK(credits.outstanding() == 0);
  REQUIRE(take(4, 0) == shaping::Credit::granted);
  REQUIRE(take(5, 1) == shaping::Credit::granted);
  credits.lost(1);
  CHECK(credits.outstanding() == 400);
  credits.end_if([](SliceId slice, Attempt) { return slice == SliceId(4); }, 0);
  CHECK(credits.outstanding() == 0);
}

TEST_CASE("a slice of more fragments than a strict window has is fetched alone") {
  shaping::ShaperSettings settings;
  settings.readouts = 1;
  settings.window_fragments = 3;
  settings.window_strict = true;
  FetchCredits credits(shaping::make_shaper("fragment-credits", settings).value());
  CHECK(credits.try_take(SliceId(1), Attempt(0), {0, 10, 0}, 0) == shaping::Credit::granted);
  CHECK(credits.try_take(SliceId(2), Attempt(0), {0, 10, 0}, 0) == shaping::Credit::full);
}

TEST_CASE("frames other than fragments end the connection, and the slice is requested again") {
  Pair dcms;
  dcms.keeping.keep(5);
  dcms.fetching.assign(5, 1);
  bool changed = false;
  dcms.network.on_the_way = [&](std::vector<std::byte>& bytes) {
    const auto type = static_cast<std::byte>(wire::FrameType::fragment);
    if (!std::exchange(changed, changed || bytes.front() == type) && changed)
      bytes.front() = static_cast<std::byte>(wire::FrameType::block);
  };
  dcms.turns(5, 20 * kMillisecond);
  REQUIRE(changed);
  CHECK(dcms.sent() == 2);
  BuiltSlice* const slice = dcms.fetching.built();
  REQUIRE(slice != nullptr);
  CHECK(has_bytes_of(*slice, 5));
  CHECK_FALSE(dcms.fetching.asks_readouts());
}

TEST_CASE("a DCM that is removed reports how many slices it still kept") {
  test::MemoryNetwork network;
  Keeping dcm(network);
  dcm.keep(5);
  dcm.shipments->end_run();
  v1::Report report;
  dcm.shipments->add_to(report, true);
  CHECK(report.counters().at("fetch.kept_at_end") == 1);
  CHECK(dcm.find(5) == nullptr);
}

TEST_CASE("only DCMs of a group that fetches may connect to a DCM that keeps slices") {
  Pair dcms;
  dcms.turns(3);
  REQUIRE(dcms.keeping.counters.accepted == 1);
  CHECK(dcms.keeping.counters.refused_hello == 0);
  Fetching other;
  other.setup.identity = process(Role::dcm, 0);  // of the first group
  SliceFetcher stranger(fetcher_settings(other.setup), make_fetch_shaper(other.setup), other.counters,
                        other.builder, other.course);
  stranger.set_keeper(NodeIndex(0), dcms.keeping.identity.listen, true);
  for (int i = 0; i < 3; ++i) {
    stranger.tick(dcms.network, other.now() += 20 * kMillisecond);
    dcms.network.run();
  }
  CHECK(dcms.keeping.counters.refused_hello >= 1);
}

TEST_CASE("a DCM connects to those DCMs only that forward slices to its group") {
  Pair dcms;
  dcms.fetching.fetcher.set_keeper(NodeIndex(1), dcms.keeping.identity.listen, true);  // of its own group
  dcms.fetching.assign(5, 1, 1);
  dcms.turns(100, 10 * kMillisecond);
  CHECK(dcms.network.connects == 1);
  CHECK(dcms.keeping.counters.refused_hello == 0);
  CHECK(dcms.fetching.asks_readouts());
}

}  // namespace weir::dcm
