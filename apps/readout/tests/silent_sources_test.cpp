// Sources that stop, beside sources that are slow.
#include "../src/silent_sources.hpp"

#include "weir_catch.hpp"

#include <memory>
#include <vector>

namespace weir::readout {
namespace {

class Arriving final : public source::FragmentSource {
 public:
  explicit Arriving(std::uint32_t id) : id_(id) {}
  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] source::SourceFragment produce(const source::Trigger&) override { return {}; }
  [[nodiscard]] Timing timing() const override { return Timing::later; }

 private:
  SourceId id_;
};

struct NoAnswers final : source::AnswerSink {
  void answer(const source::RequestedFragment&, const source::SourceFragment&) override {}
};

// Sources 1 to 6, with a slice each 100 ms and a wait of 500 ms.
struct Bench {
  Bench() {
    std::vector<std::unique_ptr<source::FragmentSource>> sources;
    for (std::uint32_t id = 1; id <= 6; ++id) sources.push_back(std::make_unique<Arriving>(id));
    buffer = std::make_unique<source::FragmentBuffer>(std::move(sources), source::BufferLimits{});
    buffer->begin_run(RunNumber(1));
    buffer->tick(now, sink);
  }
  void deliver(std::uint32_t source, std::uint64_t of) {
    (void)buffer->deliver(SourceId(source), SliceId(of), {}, sink);
  }
  // Announces slices for so long; `answering` deliver the fragments of a slice `lag` slices later.
  void go_on(DurationNs duration, const std::vector<std::uint32_t>& answering, std::uint64_t lag = 0) {
    for (const TimeNs until = now + duration; now < until;) {
      now += 100 * kMillisecond;
      buffer->tick(now, sink);
      const source::Trigger trigger{SliceId(++slice), {}, {}, {}};
      REQUIRE(buffer->announce({&trigger, 1}, sink) == 1);
      buffer->make_some(1, sink);
      for (const std::uint32_t source : answering) {
        if (slice > lag) deliver(source, slice - lag);
      }
    }
    buffer->tick(now, sink);
  }
  std::vector<std::string> update() { return watch.update(*buffer, now); }

  std::unique_ptr<source::FragmentBuffer> buffer;
  NoAnswers sink;
  SilentSources watch;
  TimeNs now = kSecond;
  std::uint64_t slice = 0;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a source that stops is named once, and once more when it delivers again") {
  Bench bench;
  bench.go_on(2 * kSecond, {1, 2, 3, 4, 5, 6});
  CHECK(bench.update().empty());
  bench.go_on(900 * kMillisecond, {1, 2, 4, 5, 6});
  CHECK(bench.update().empty());
  bench.go_on(300 * kMillisecond, {1, 2, 4, 5, 6});
  CHECK(bench.update() == Lines{"source silent source=3 slices=7"});
  CHECK(bench.watch.text() == "source 3");
  bench.go_on(kSecond, {1, 2, 4, 5, 6});
  CHECK(bench.update().empty());
  CHECK(bench.watch.text() == "source 3");
  bench.deliver(3, bench.slice);
  CHECK(bench.update() == Lines{"source delivers again source=3"});
  CHECK(bench.watch.text().empty());
}

TEST_CASE("late fragments are a sign of their source") {
  Bench bench;
  bench.go_on(5 * kSecond, {1, 2, 3, 4, 5, 6}, 8);
  CHECK(bench.buffer->counters().not_arrived > 100);
  CHECK(bench.update().empty());
}

TEST_CASE("a farm without triggers has no silent source") {
  Bench bench;
  bench.go_on(kSecond, {1, 2, 3, 4, 5, 6});
  bench.now += 3600 * kSecond;
  bench.buffer->tick(bench.now, bench.sink);
  CHECK(bench.update().empty());
}

TEST_CASE("of many silent sources the first four are named") {
  Bench bench;
  bench.go_on(3 * kSecond, {});
  CHECK(bench.update().size() == 6);
  CHECK(bench.watch.text() == "source 1, source 2, source 3, source 4 and 2 more");
}

}  // namespace weir::readout
