// Fragments that do not fit their slices, from their arrival to the buffer.
#include "../src/step_check.hpp"

#include "weir_catch.hpp"
#include <weir/emulation/slip.hpp>
#include <weir/v1/control.pb.h>

#include <memory>
#include <string>
#include <vector>

namespace weir::readout {
namespace {

const std::vector<std::byte> kBytes(16);

source::SourceFragment fragment() {
  source::SourceFragment fragment;
  fragment.bytes = kBytes;
  return fragment;
}

class Plain final : public source::FragmentSource {
 public:
  explicit Plain(std::uint32_t id, Timing timing) : id_(id), timing_(timing) {}
  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] source::SourceFragment produce(const source::Trigger&) override { return fragment(); }
  [[nodiscard]] Stamp stamp(const source::Trigger& trigger) const override {
    return emulation::stamp_in_step(trigger);
  }
  [[nodiscard]] Timing timing() const override { return timing_; }

 private:
  SourceId id_;
  Timing timing_;
};

struct Sink final : source::AnswerSink {
  void answer(const source::RequestedFragment&, const source::SourceFragment& fragment) override {
    last = fragment.status;
    reason = fragment.reason;
  }
  FragmentStatus last = FragmentStatus::ok;
  MissingReason reason = MissingReason::none;
};

source::Trigger trigger(std::uint64_t slice) {
  return {SliceId(slice), static_cast<UtcNs>(slice) * 1000, 0, {}};
}

v1::StepVerdict verdict(std::uint32_t source, std::int64_t slip, bool masked, bool realigned) {
  v1::StepVerdict verdict;
  v1::StepVerdict::Source& one = *verdict.add_sources();
  one.set_source(source);
  one.set_slip(slip);
  one.set_since_slice(20);
  one.set_masked(masked);
  one.set_realigned(realigned);
  return verdict;
}

// Sources 3 and 4 deliver by themselves.
struct Bench {
  Bench() {
    steps::WatchSettings settings;
    settings.counter_bits = 16;
    settings.time_tolerance_ns = 100;
    check = std::make_unique<StepCheck>(settings, ids);
    std::vector<std::unique_ptr<source::FragmentSource>> sources;
    for (const SourceId id : ids)
      sources.push_back(std::make_unique<Plain>(id.value, source::FragmentSource::Timing::later));
    buffer = std::make_unique<source::FragmentBuffer>(std::move(sources), source::BufferLimits{});
    buffer->begin_run(RunNumber(1));
    check->begin_run();
  }
  void announce(std::uint64_t slice) {
    const source::Trigger one = trigger(slice);
    check->announced({&one, 1}, *buffer);
    REQUIRE(buffer->announce({&one, 1}, sink) == 1);
    buffer->make_some(1, sink);
  }
  SliceId deliver(std::uint32_t source, std::uint64_t slice, const Stamp& stamp) {
    source::SourceFragment one = fragment();
    const SliceId place = check->check(SourceId(source), SliceId(slice), stamp, one);
    (void)buffer->deliver(SourceId(source), place, std::move(one), sink);
    return place;
  }
  FragmentStatus status(std::uint32_t source, std::uint64_t slice) {
    source::RequestedFragment request;
    request.slice = SliceId(slice);
    request.source = SourceId(source);
    request.length = UINT32_MAX;
    buffer->request(request, sink);
    return sink.last;
  }
  // Source 3 counts one too few from slice 20 on; source 4 is in step.
  void slip(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t slice = from; slice < to; ++slice) {
      announce(slice);
      deliver(3, slice, counted(slice < 20 ? slice : slice - 1));
      deliver(4, slice, counted(slice));
    }
  }
  static Stamp counted(std::uint64_t counter) { return {true, false, counter, 0, 0}; }
  static Stamp timed(UtcNs time) { return {false, true, 0, time, 0}; }
  v1::OutOfStep message(TimeNs now = 0) {
    const auto message = check->take_message(now);
    REQUIRE(message);
    return message->out_of_step();
  }

  std::vector<SourceId> ids{SourceId(3), SourceId(4)};
  std::unique_ptr<StepCheck> check;
  std::unique_ptr<source::FragmentBuffer> buffer;
  Sink sink;
};

}  // namespace

TEST_CASE("a fragment with a wrong counter is marked on its way into the buffer") {
  Bench bench;
  bench.slip(10, 21);
  CHECK(bench.status(3, 19) == FragmentStatus::ok);
  CHECK(bench.status(3, 20) == FragmentStatus::out_of_step);
  CHECK(bench.status(4, 20) == FragmentStatus::ok);
}

TEST_CASE("a fragment that came before its trigger is marked by the announcement") {
  Bench bench;
  bench.deliver(3, 10, Bench::timed(10'101));
  bench.deliver(4, 10, Bench::timed(10'100));
  bench.announce(10);
  CHECK(bench.status(3, 10) == FragmentStatus::out_of_step);
  CHECK(bench.status(4, 10) == FragmentStatus::ok);
}

TEST_CASE("a slip is reported on changes and to a new connection, with the sources in step") {
  Bench bench;
  CHECK_FALSE(bench.check->take_message(0));
  bench.announce(9);
  bench.deliver(4, 9, Bench::counted(9));
  CHECK(bench.message().sources_size() == 1);
  bench.slip(10, 22);
  CHECK_FALSE(bench.check->take_message(1));  // another one in step can wait
  CHECK(bench.message(kSecond).sources_size() == 2);
  bench.slip(22, 25);
  const v1::OutOfStep list = bench.message(kSecond);
  REQUIRE(list.sources_size() == 2);
  CHECK(list.sources(0).source() == 4);
  CHECK(list.sources(0).slip() == 0);
  CHECK(list.sources(1).source() == 3);
  CHECK(list.sources(1).slip() == -1);
  CHECK(list.sources(1).since_slice() == 20);
  CHECK_FALSE(bench.check->take_message(kSecond));
  bench.check->forget();
  CHECK(bench.message(kSecond).sources(1).slip() == -1);
}

TEST_CASE("a jump of a source's numbers is reported beside the sources in step") {
  Bench bench;
  bench.check->set_jumped({SourceId(3), SourceId(4)}, {{SourceId(4), -1024, SliceId(7), false}});
  const v1::OutOfStep list = bench.message();
  REQUIRE(list.sources_size() == 2);
  CHECK(list.sources(0).source() == 3);
  CHECK(list.sources(1).slip() == -1024);
  CHECK(list.sources(1).since_slice() == 7);
  bench.check->set_jumped({SourceId(3), SourceId(4)}, {});
  CHECK(bench.message(kSecond).sources(1).slip() == 0);
}

TEST_CASE("the verdict names the sources of this readout, and masks them") {
  Bench bench;
  bench.slip(10, 30);
  CHECK(bench.check->text().empty());
  v1::StepVerdict both = verdict(3, -1, true, false);
  *both.add_sources() = verdict(99, 1, true, false).sources(0);
  bench.check->take_verdict(both);
  CHECK(bench.check->text() == "source 3 out of step by -1 since slice 20");
  bench.slip(30, 31);
  CHECK(bench.status(3, 30) == FragmentStatus::missing);
  CHECK(bench.sink.reason == MissingReason::masked);
  CHECK(bench.status(4, 30) == FragmentStatus::ok);
  bench.check->take_verdict({});
  CHECK(bench.check->text().empty());
  bench.slip(31, 32);
  CHECK(bench.status(3, 31) == FragmentStatus::out_of_step);
}

TEST_CASE("realigned fragments and their marks go to their own slices") {
  Bench bench;
  bench.slip(10, 30);
  bench.check->take_verdict(verdict(3, -1, false, true));
  bench.announce(30);
  bench.announce(31);
  CHECK(bench.deliver(3, 31, Bench::counted(30)) == SliceId(30));
  CHECK(bench.status(3, 30) == FragmentStatus::ok);
  CHECK(bench.check->place(SourceId(3), SliceId(32)) == SliceId(31));
  CHECK(bench.check->place(SourceId(4), SliceId(32)) == SliceId(32));
  v1::Report report;
  bench.check->add_to(report);
  CHECK(report.counters().at("readout.realigned") == 1);
  CHECK(report.counters().at("readout.out_of_step") == 10);
}

TEST_CASE("a source that is asked for each slice is marked, and not realigned") {
  Bench bench;
  auto slipping = std::make_unique<emulation::SlippingSource>(
      std::make_unique<Plain>(3, source::FragmentSource::Timing::at_once),
      emulation::Slip{emulation::SlipKind::lag, SliceId(20), 0});
  const auto source = bench.check->wrap(std::move(slipping));
  source->begin_run(RunNumber(1));
  const auto status = [&](std::uint64_t slice) {
    const source::Trigger one = trigger(slice);
    bench.check->announced({&one, 1}, *bench.buffer);
    return source->produce(one).status;
  };
  for (std::uint64_t slice = 10; slice < 20; ++slice) CHECK(status(slice) == FragmentStatus::ok);
  for (std::uint64_t slice = 20; slice < 30; ++slice) CHECK(status(slice) == FragmentStatus::out_of_step);
  bench.check->take_verdict(verdict(3, -1, false, true));
  CHECK(status(30) == FragmentStatus::out_of_step);
  CHECK(bench.check->place(SourceId(3), SliceId(31)) == SliceId(31));
  const v1::OutOfStep list = bench.message(kSecond);
  REQUIRE(list.sources_size() == 1);
  CHECK(list.sources(0).slip() == -1);
}

TEST_CASE("a restarted readout takes the slip of its sources from the verdict") {
  Bench bench;
  bench.check->take_verdict(verdict(3, -1, false, false));
  bench.check->begin_run();
  bench.slip(100, 120);
  CHECK(bench.status(3, 110) == FragmentStatus::out_of_step);
  const v1::OutOfStep list = bench.message(kSecond);
  REQUIRE(list.sources_size() == 2);
  CHECK(list.sources(1).slip() == -1);
  CHECK(list.sources(1).since_slice() == 20);
}

}  // namespace weir::readout
