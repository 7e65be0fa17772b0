// Unreachable readouts of a DCM, and the fate of slices that need them.
#include "../src/collector.hpp"
#include "../src/liveness_probe.hpp"
#include "weir_catch.hpp"
#include <weir/shaping/shaper.hpp>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;

constexpr DurationNs kSilence = 300 * kMillisecond;
constexpr DurationNs kLook = 10 * kMillisecond;

// Checks for this long; returns the number of probes.
int look_on(LivenessProbe& probe, TimeNs& now, DurationNs for_ns, std::uint64_t bytes,
            DurationNs every = kLook) {
  int asked = 0;
  for (const TimeNs end = now + for_ns; now < end;) {
    now += every;
    asked += probe.look(true, bytes, now) ? 1 : 0;
  }
  return asked;
}

// Two readouts with one source each; both are up.
struct Two {
  explicit Two(bool remote = false)
      : memory(1U << 20), pool(memory), assembler({}, {{SourceId(1), 0}, {SourceId(2), 1}}, pool, slices) {
    CollectorSettings settings;
    settings.readouts = 2;
    if (remote) settings.silence_ns = kSilence;
    settings.memory_bytes = pool.bytes_total();
    shaping::ShaperSettings shaping;
    shaping.readouts = 2;
    collector.emplace(settings, assembler, slices, pool, shaping::make_shaper("none", shaping).value());
    for (const std::uint32_t readout : {0U, 1U}) collector->readout_up(readout);
  }
  BuiltSlice& open(std::uint64_t id) {
    assembly::AssignedSlice assignment;
    assignment.slice = SliceId(id);
    BuiltSlice& slice = slices.assign(std::move(assignment));
    REQUIRE(assembler.open(slice, now).has_value());
    collector->collect(slice, collector->everything());
    return slice;
  }
  void pass(DurationNs after = kMillisecond) {
    now += after;
    for (const std::uint32_t readout : {0U, 1U}) {
      if (!silent[readout]) collector->set_heard(readout, now);
    }
    collector->pass(now);
  }
  // Both of a slice's fragments are requested; the fragment of readout 0 has arrived.
  void answer_first(const BuiltSlice& slice) {
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = slice.id();
    header.source = SourceId(1);
    const assembly::Reception reception = assembler.begin(header, 0);
    collector->arrived(0, reception.slice, wire::kHeaderBytes, now);
    collector->answered(0, reception, header);
    (void)assembler.finish(reception, header, now);
  }
  void pass_time(DurationNs time) {
    for (const TimeNs until = now + time; now < until;) pass(10 * kMillisecond);
  }
  void lose(std::uint32_t readout) {
    collector->readout_down(readout);
    collector->set_lost(readout, true);
    silent[readout] = true;
  }
  [[nodiscard]] std::uint64_t missing(MissingReason reason) const {
    return assembler.counters().missing[static_cast<std::size_t>(reason)];
  }

  TimeNs now = kSecond;
  std::array<bool, 2> silent{};
  std::vector<std::byte> memory;
  BufferPool pool;
  assembly::SliceTable slices;
  assembly::Assembler assembler;
  std::optional<Collector> collector;
};

}  // namespace

TEST_CASE("a silent peer is probed twice, and is lost if it does not answer") {
  LivenessProbe probe(kSilence);
  TimeNs now = kSecond;
  CHECK(look_on(probe, now, kSilence - 2 * kLook, 7) == 2);
  CHECK_FALSE(probe.is_lost());
  CHECK(look_on(probe, now, 5 * kLook, 7) == 0);
  CHECK(probe.is_lost());
  CHECK(look_on(probe, now, 10 * kSecond, 7) == 0);
  CHECK(look_on(probe, now, kLook, 8) == 0);
  CHECK_FALSE(probe.is_lost());
}

// Both connections have received a greeting of the same length.
TEST_CASE("a lost peer that connects again between two looks is not lost, whatever it has sent") {
  LivenessProbe probe(kSilence);
  TimeNs now = kSecond;
  look_on(probe, now, 2 * kSilence, 88);
  REQUIRE(probe.is_lost());
  probe.begin_anew();
  CHECK(look_on(probe, now, kLook, 88) == 0);
  CHECK_FALSE(probe.is_lost());
  CHECK(look_on(probe, now, kSilence - 2 * kLook, 88) == 2);
}

TEST_CASE("a peer that sends a byte now and then is slow, not lost") {
  LivenessProbe probe(kSilence);
  TimeNs now = kSecond;
  for (std::uint64_t bytes = 1; bytes < 100; ++bytes) {
    look_on(probe, now, kSilence - 2 * kLook, bytes);
    CHECK_FALSE(probe.is_lost());
  }
}

TEST_CASE("a process that was stopped does not take its own silence for its peer's") {
  LivenessProbe probe(kSilence);
  TimeNs now = kSecond;
  look_on(probe, now, kSilence / 2, 7);
  now += 60 * kSecond;
  (void)probe.look(true, 7, now);
  CHECK_FALSE(probe.is_lost());
}

TEST_CASE("a peer is lost immediately without a connection, and found again with a new one") {
  LivenessProbe probe(kSilence);
  CHECK_FALSE(probe.look(true, 7, kSecond));
  CHECK_FALSE(probe.look(false, 0, 2 * kSecond));
  CHECK(probe.is_lost());
  CHECK(probe.lost_since_ns() == 2 * kSecond);
  (void)probe.look(false, 0, 3 * kSecond);
  CHECK(probe.lost_since_ns() == 2 * kSecond);
  (void)probe.look(true, 7, 4 * kSecond);
  CHECK_FALSE(probe.is_lost());
}

TEST_CASE("without a verdict a slice waits for a lost readout, and for no longer than its deadline") {
  Two farm;
  farm.open(1);
  farm.pass();
  farm.lose(1);
  farm.pass(500 * kMillisecond);
  CHECK(farm.missing(MissingReason::source_down) == 0);
  CHECK(farm.collector->take_stranded().empty());
  farm.pass(kSecond);
  CHECK(farm.missing(MissingReason::deadline) == 2);
}

TEST_CASE(
    "a remote DCM ends no step in an outage and for as long after it, and then each has its time anew") {
  const bool lost = GENERATE(true, false);
  Two farm(true);
  farm.pass();
  farm.open(1);
  farm.pass();
  if (lost) farm.lose(1);
  farm.silent[1] = true;
  farm.pass_time(5 * kSecond);
  CHECK(farm.missing(MissingReason::deadline) == 0);
  if (lost) farm.collector->readout_up(1);
  farm.collector->set_lost(1, false);
  farm.silent[1] = false;
  farm.pass_time(5 * kSecond + kSecond / 2);
  CHECK(farm.missing(MissingReason::deadline) == 0);
  farm.pass_time(kSecond);
  CHECK(farm.missing(MissingReason::deadline) == 2);
}

TEST_CASE("a deadline of a remote DCM ends when the readouts were heard after it") {
  Two farm(true);
  farm.pass();
  farm.open(1);
  farm.pass_time(kSecond - 100 * kMillisecond);
  farm.silent[0] = farm.silent[1] = true;
  farm.pass_time(kSilence / 2);
  CHECK(farm.missing(MissingReason::deadline) == 0);
  farm.silent[0] = farm.silent[1] = false;
  farm.pass();
  CHECK(farm.missing(MissingReason::deadline) == 2);
}

TEST_CASE("a slice of a remote DCM does not wait for a readout that the farm has given up") {
  Two farm(true);
  farm.open(1);
  farm.pass();
  farm.lose(1);
  farm.collector->set_verdict({false, true}, false);
  farm.pass();
  CHECK(farm.missing(MissingReason::source_down) == 1);
  farm.pass_time(2 * kSecond);
  CHECK(farm.missing(MissingReason::deadline) == 1);
}

TEST_CASE("the fragments of a lost readout are missing when the farm says so, until it reconnects") {
  Two farm;
  BuiltSlice& first = farm.open(1);
  farm.pass();
  farm.lose(1);
  farm.collector->set_verdict({false, true}, false);
  farm.pass();
  CHECK(farm.missing(MissingReason::source_down) == 1);
  farm.answer_first(first);
  BuiltSlice& second = farm.open(2);
  farm.pass();
  CHECK(farm.missing(MissingReason::source_down) == 2);
  farm.answer_first(second);
  farm.collector->readout_up(1);
  farm.collector->set_lost(1, false);
  BuiltSlice& third = farm.open(3);
  farm.pass();
  CHECK(farm.missing(MissingReason::source_down) == 2);
  CHECK(third.outstanding == 2);
}

TEST_CASE("a readout missing for the farm is not missing for a DCM that reaches it") {
  Two farm;
  BuiltSlice& slice = farm.open(1);
  farm.collector->set_verdict({true, true}, false);
  farm.pass();
  CHECK(slice.outstanding == 2);
  CHECK(farm.missing(MissingReason::source_down) == 0);
}

TEST_CASE(
    "a DCM that is cut off returns slices that wait for the lost readout, begun or not, and no others") {
  Two farm;
  BuiltSlice& waits = farm.open(1);
  farm.pass();
  farm.answer_first(waits);
  farm.lose(1);
  BuiltSlice& fresh = farm.open(2);
  CHECK(farm.collector->take_stranded().empty());
  farm.collector->set_verdict({false, false}, true);
  const std::vector<BuiltSlice*> stranded = farm.collector->take_stranded();
  CHECK(stranded == std::vector<BuiltSlice*>{&waits, &fresh});
  for (BuiltSlice* slice : stranded) {
    farm.collector->forget(*slice);
    farm.assembler.withdraw(*slice);
    farm.assembler.release(*slice);
  }
  CHECK(farm.assembler.is_empty());
  CHECK(farm.assembler.collecting() == 0);
  CHECK(farm.assembler.leaving() == 0);
  CHECK(farm.pool.bytes_used() == 0);
  const assembly::FragmentCounters& counters = farm.assembler.counters();
  CHECK(counters.cancelled == 1);
  CHECK(counters.requested == counters.received + counters.cancelled);
  CHECK(farm.collector->take_stranded().empty());
}

}  // namespace weir::dcm
