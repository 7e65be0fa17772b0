#include "weir_catch.hpp"
#include <weir/shaping/barrel.hpp>

#include <map>
#include <memory>

using namespace weir;
using namespace weir::shaping;

namespace {

constexpr DurationNs kSlot = 10 * kMillisecond;

BarrelSettings settings(std::uint32_t sources = 1, std::uint32_t dcms = 4) {
  BarrelSettings settings;
  settings.sources = sources;
  settings.dcms = dcms;
  settings.slot_ns = kSlot;
  settings.piece_bytes = 1000;
  settings.ahead_bytes = 4000;
  return settings;
}

// A readout with connections that take `bytes_per_ms` each.
struct Readout {
  explicit Readout(const BarrelSettings& settings) : barrel(settings), links(settings.dcms, {true, 0}) {}

  void add(std::uint64_t slice, std::vector<std::uint32_t> sizes) {
    barrel.add(SliceId(slice), static_cast<std::uint32_t>(slice % links.size()),
               static_cast<TimeNs>(slice) * kSlot, sizes);
  }
  // Runs until `until`, in steps of 0.1 ms.
  void run(TimeNs until) {
    for (; now <= until; now += 100 * kMicrosecond) {
      for (PushLink& link : links) link.unsent_bytes -= std::min(link.unsent_bytes, bytes_per_ms / 10);
      while (const auto piece = barrel.next(now, links)) {
        links[piece->dcm].unsent_bytes += piece->length;
        begun.try_emplace(piece->slice.value, now);
        sent[piece->slice.value] += piece->length;
        order.push_back(piece->slice.value);
      }
    }
  }
  [[nodiscard]] std::uint64_t not_pushed(NotPushed reason) const {
    return barrel.counters().not_pushed[static_cast<std::size_t>(reason)].bytes;
  }

  Barrel barrel;
  std::vector<PushLink> links;
  std::uint64_t bytes_per_ms = 1000;
  TimeNs now = 0;
  std::map<std::uint64_t, TimeNs> begun;
  std::map<std::uint64_t, std::uint64_t> sent;
  std::vector<std::uint64_t> order;  // DCMs of the pieces, in order
};

BarrelSettings with(Overrun overrun, std::uint32_t bytes = 0) {
  BarrelSettings changed = settings();
  changed.overrun = overrun;
  changed.overrun_bytes = bytes;
  return changed;
}

}  // namespace

TEST_CASE("readout i begins a slice i div k slots after its end") {
  for (std::uint32_t readout = 0; readout < 16; ++readout) {
    BarrelSettings own = settings();
    own.delay_slots = barrel_delay(readout, 3);
    Readout model(own);
    for (std::uint64_t slice = 0; slice < 4; ++slice) model.add(slice, {500});
    model.run(20 * kSlot);
    for (std::uint64_t slice = 0; slice < 4; ++slice)
      CHECK(model.begun[slice] == static_cast<TimeNs>(slice + readout / 3) * kSlot);
  }
}

TEST_CASE("of 16 readouts at most k send to one DCM at a time if each slice fits its slot") {
  const std::uint32_t group = GENERATE(1U, 2U, 4U);
  constexpr std::uint32_t kReadouts = 16;
  // A cycle covers all delays.
  const std::uint32_t dcms = kReadouts / group;
  std::vector<std::unique_ptr<Readout>> readouts;
  for (std::uint32_t i = 0; i < kReadouts; ++i) {
    BarrelSettings own = settings(1, dcms);
    own.delay_slots = barrel_delay(i, group);
    readouts.push_back(std::make_unique<Readout>(own));
    for (std::uint64_t slice = 0; slice < 40; ++slice) readouts.back()->add(slice, {9000});
  }
  std::uint32_t most = 0;
  for (TimeNs now = 0; now < 60 * kSlot; now += kMillisecond / 2) {
    std::vector<std::uint32_t> senders(dcms, 0);
    for (const auto& readout : readouts) {
      readout->run(now);
      for (std::uint32_t c = 0; c < dcms; ++c) senders[c] += readout->links[c].unsent_bytes > 0 ? 1 : 0;
    }
    for (const std::uint32_t count : senders) most = std::max(most, count);
  }
  CHECK(most == group);
  for (const auto& readout : readouts) CHECK(readout->barrel.counters().sent.fragments == 40);
}

TEST_CASE("under direct all slices are sent at once and to all DCMs") {
  BarrelSettings own = settings();
  own.barrel = false;
  Readout model(own);
  for (std::uint64_t slice = 0; slice < 8; ++slice) model.add(slice, {1500});
  model.run(0);
  CHECK(model.barrel.counters().sent.fragments == 8);
}

TEST_CASE("a slice that overruns its slot makes the next one wait under fall-behind") {
  Readout model(with(Overrun::fall_behind));
  model.add(0, {25'000});
  model.add(1, {500});
  model.run(4 * kSlot);
  CHECK(model.sent[0] == 25'000);
  CHECK(model.begun[1] >= 25 * kMillisecond);
  CHECK(model.begun[1] < 27 * kMillisecond);
  CHECK(model.barrel.counters().behind == 1);
}

TEST_CASE("under requeue the rest of a slice is sent after the next slice for the same DCM") {
  Readout model(with(Overrun::requeue));
  model.add(0, {15'000});
  for (std::uint64_t slice = 1; slice < 6; ++slice) model.add(slice, {9'500});
  model.add(4 + 4, {100});
  model.run(kSlot * 4 - kMillisecond);
  CHECK(model.sent[0] < 15'000);
  CHECK(model.begun[1] <= kSlot + kMillisecond);
  model.run(kSlot * 12);
  CHECK(model.sent[0] == 15'000);
  CHECK(model.barrel.counters().requeued >= 1);
  // Sent after slice 4, in the slot of the same DCM.
  const auto last_of_0 = std::find(model.order.rbegin(), model.order.rend(), 0U);
  CHECK(std::find(last_of_0, model.order.rend(), 4U) != model.order.rend());
}

TEST_CASE("a fragment above the limit is cut under truncate and left out under drop") {
  Readout cut(with(Overrun::truncate, 3000));
  cut.add(0, {5000});
  cut.run(kSlot);
  CHECK(cut.sent[0] == 3000);
  CHECK(cut.barrel.verdict(SliceId(0), 0) == PushVerdict::truncated);
  CHECK(cut.barrel.counters().truncated == 1);
  CHECK(cut.barrel.counters().dropped.bytes == 2000);

  Readout dropped(with(Overrun::drop, 3000));
  dropped.add(0, {5000});
  dropped.add(1, {3000});
  dropped.run(2 * kSlot);
  CHECK(dropped.sent[0] == 0);
  CHECK(dropped.begun.contains(0));  // the notice that it was dropped
  CHECK(dropped.barrel.verdict(SliceId(0), 0) == PushVerdict::dropped);
  CHECK(dropped.sent[1] == 3000);
}

TEST_CASE("in the middle of a burst a fragment is suppressed, and reported as such") {
  BarrelSettings own = settings();
  own.cut_off_bytes = 100;
  own.cut_off_slices = 4;
  own.delay_slots = 4;
  Readout model(own);
  for (std::uint64_t slice = 0; slice < 20; ++slice) {
    model.add(slice, {slice >= 2 && slice < 14 ? 200U : 50U});
    model.run(static_cast<TimeNs>(slice) * kSlot);
  }
  model.run(40 * kSlot);
  for (std::uint64_t slice = 0; slice < 20; ++slice) {
    const bool middle = slice >= 6 && slice < 10;
    CAPTURE(slice);
    CHECK(model.begun.contains(slice));
    CHECK((model.barrel.verdict(SliceId(slice), 0) == PushVerdict::suppressed) == middle);
    if (middle) CHECK(model.sent[slice] == 0);
  }
  CHECK(model.barrel.counters().suppressed.bytes == 4 * 200);
}

TEST_CASE("sources with bursts together are cut off by the sum of their fragments, and no other source") {
  BarrelSettings own = settings(5);
  own.cut_off_bytes = 300;
  own.cut_off_slices = 1;
  own.cut_off_groups = {0, 0, 2, 2, 2};  // of six sources the third is masked
  own.delay_slots = 1;
  Readout model(own);
  for (std::uint64_t slice = 0; slice < 6; ++slice) {
    // The first group has 301 bytes in slices 1 to 4, the second one 300.
    const std::uint32_t more = slice >= 1 && slice < 5 ? 1 : 0;
    model.add(slice, {more, 300, 100, 100, 100});
    model.run(static_cast<TimeNs>(slice) * kSlot);
  }
  model.run(20 * kSlot);
  for (std::uint64_t slice = 0; slice < 6; ++slice) {
    CAPTURE(slice);
    const bool middle = slice == 2 || slice == 3;
    for (std::uint32_t source = 0; source < 5; ++source) {
      const bool suppressed = model.barrel.verdict(SliceId(slice), source) == PushVerdict::suppressed;
      CHECK(suppressed == (middle && source < 2));
    }
  }
  CHECK(model.barrel.counters().suppressed.fragments == 4);
  CHECK(model.barrel.counters().suppressed.bytes == 2 * 301);
}

TEST_CASE("a slice for a DCM without a connection is left to be requested, and delays no other") {
  Readout model(settings());
  model.links[0].up = false;
  model.add(0, {500});
  model.add(1, {500});
  model.run(2 * kSlot);
  CHECK(model.sent[0] == 0);
  CHECK(model.not_pushed(NotPushed::not_connected) == 500);
  CHECK(model.begun[1] == kSlot);
}

TEST_CASE(
    "a slice that waits for a connection delays no other, and goes before newer ones once it is there") {
  BarrelSettings own = settings();
  own.holds = true;
  own.barrel = GENERATE(true, false);
  Readout model(own);
  model.links[0].up = false;
  for (std::uint64_t slice = 0; slice < 14; ++slice) model.add(slice, {500});
  model.barrel.forget(SliceId(4));
  model.run(9 * kSlot);
  CHECK_FALSE(model.begun.contains(0));
  CHECK(model.sent[1] == 500);
  CHECK(model.barrel.counters().waiting.fragments >= 2);
  model.links[0].up = true;
  model.run(14 * kSlot);
  std::vector<std::uint64_t> to_first;
  for (const std::uint64_t slice : model.order) {
    if (slice % 4 == 0) to_first.push_back(slice);
  }
  CHECK(to_first == std::vector<std::uint64_t>{0, 8, 12});
  CHECK(model.not_pushed(NotPushed::not_connected) == 0);
  CHECK(model.not_pushed(NotPushed::cleared) == 500);
  CHECK(model.barrel.counters().waiting.fragments == 0);
}

TEST_CASE("slices that wait for a connection to a DCM that leaves are left to others, and newer ones wait") {
  BarrelSettings own = settings();
  own.holds = true;
  own.barrel = GENERATE(true, false);
  Readout model(own);
  model.links[0].up = false;
  for (std::uint64_t slice = 0; slice < 9; ++slice) model.add(slice, {500});
  model.run(9 * kSlot);
  model.barrel.dcm_left(0, SliceId(8));
  CHECK(model.not_pushed(NotPushed::not_connected) == 1000);
  model.links[0].up = true;
  model.run(10 * kSlot);
  CHECK_FALSE(model.begun.contains(0));
  CHECK_FALSE(model.begun.contains(4));
  CHECK(model.sent[8] == 500);
}

TEST_CASE("a slice that was begun before its connection was lost does not wait for another one") {
  BarrelSettings own = settings();
  own.holds = true;
  own.barrel = GENERATE(true, false);
  Readout model(own);
  model.add(0, {9000});
  model.run(2 * kMillisecond);
  CHECK(model.sent[0] > 0);
  model.links[0] = {};
  model.run(kSlot);
  CHECK(model.not_pushed(NotPushed::not_connected) == 9000 - model.sent[0]);
}

TEST_CASE("a blocked connection is skipped, and gets its rest when it accepts data again") {
  Readout model(settings());
  model.add(0, {9000});
  model.add(1, {500});
  model.bytes_per_ms = 0;
  model.run(2 * kSlot);
  CHECK_FALSE(model.begun.contains(1));
  model.run(kSlot + 105 * kMillisecond);
  CHECK(model.begun.contains(1));
  CHECK(model.barrel.counters().stalled == 1);
  model.bytes_per_ms = 1000;
  model.run(20 * kSlot);
  CHECK(model.sent[0] == 9000);
}

TEST_CASE("slices go in order though the clock that gave their times has jumped") {
  const std::uint32_t slots_late = GENERATE(1U, 4U, 40U);
  Readout model(settings());
  const std::vector<std::uint32_t> sizes{500};
  model.barrel.add(SliceId(0), 0, slots_late * kSlot, sizes);
  for (std::uint64_t slice = 1; slice < 9; ++slice) model.add(slice, sizes);
  model.run(50 * kSlot);
  CHECK(model.order == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(model.begun[0] == slots_late * kSlot);
}

TEST_CASE("a slice that waits for a connection that stalls goes before newer ones, and delays no other DCM") {
  BarrelSettings own = settings();
  own.holds = true;
  own.overrun = GENERATE(Overrun::fall_behind, Overrun::requeue);
  Readout model(own);
  model.add(0, {3900});
  model.run(kMillisecond / 2);
  REQUIRE(model.sent[0] > 0);
  for (std::uint64_t slice = 1; slice < 13; ++slice) model.add(slice, {1500});
  model.bytes_per_ms = 0;
  model.links[0].unsent_bytes = own.ahead_bytes;
  for (TimeNs until = kSlot; until <= 40 * kSlot; until += kSlot / 10) {
    for (std::uint32_t dcm = 1; dcm < 4; ++dcm) model.links[dcm].unsent_bytes = 0;
    model.run(until);
  }
  CHECK_FALSE(model.begun.contains(4));
  CHECK(model.sent[11] == 1500);
  model.bytes_per_ms = 1000;
  model.run(60 * kSlot);
  std::vector<std::uint64_t> to_first;
  for (const std::uint64_t slice : model.order) {
    if (slice % 4 == 0 && (to_first.empty() || to_first.back() != slice)) to_first.push_back(slice);
  }
  CHECK(to_first == std::vector<std::uint64_t>{0, 4, 8, 12});
  CHECK(model.barrel.counters().waiting.fragments == 0);
}

TEST_CASE("fragments that a DCM requests itself, and settled slices, are not pushed") {
  Readout model(settings(2));
  model.add(0, {500, 600});
  model.add(1, {500, 600});
  model.barrel.asked_for(SliceId(0), 1);
  model.barrel.forget(SliceId(1));
  model.run(3 * kSlot);
  CHECK(model.sent[0] == 500);
  CHECK_FALSE(model.begun.contains(1));
  CHECK(model.not_pushed(NotPushed::asked_for) == 600);
  CHECK(model.not_pushed(NotPushed::cleared) == 1100);
}

TEST_CASE("it wakes at the next slot") {
  Readout model(settings());
  model.add(3, {10});
  model.run(kSlot);
  CHECK(model.barrel.wake_at_ns() == 3 * kSlot);
  model.run(4 * kSlot);
  CHECK(model.barrel.wake_at_ns() == kNever);
}
