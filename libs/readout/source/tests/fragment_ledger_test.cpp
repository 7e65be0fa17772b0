#include "buffer_support.hpp"
#include "weir_catch.hpp"
#include <weir/source/fragment_buffer.hpp>

#include <map>
#include <random>
#include <set>

using namespace weir;
using namespace weir::source;
using namespace weir::source::test;

namespace {

constexpr std::uint32_t kSources = 4;

// Random announcements, arrivals, requests, clears and cancels; every answer is checked against its request.
class Exercise {
 public:
  explicit Exercise(std::uint32_t seed) : random_(seed) {
    limits_.bytes_max = 2000;
    limits_.slices_max = 12;
    limits_.announced_max = 10;
    limits_.parked_max = 30;
    limits_.notes_max = 8;
    limits_.ids_ascend = seed % 3 != 0;
    limits_.early_bytes_max = 600;
    limits_.early_slices_max = 6;
    limits_.wait_ns = seed % 5 == 0 ? 0 : 20;
    arriving_ = seed % 2 == 0 ? 0 : below(kSources + 1);
    std::vector<std::unique_ptr<FragmentSource>> sources;
    for (std::uint32_t id = 1; id <= kSources; ++id) {
      if (id <= arriving_) {
        sources.push_back(std::make_unique<ArrivingSource>(5 * id));
        continue;
      }
      auto source = std::make_unique<CountingSource>(5 * id, below(120));
      source->owned = id % 2 == 0;
      source->absent_digit = below(20);
      sources.push_back(std::move(source));
    }
    buffer_ = std::make_unique<FragmentBuffer>(std::move(sources), limits_);
    buffer_->begin_run(RunNumber(1));
  }

  void step() {
    if (below(2) == 0) arrive();
    switch (below(8)) {
      case 0:
        announce();
        break;
      case 1:
        buffer_->make_some(below(5), sink_);
        break;
      case 2:
      case 3:
      case 4:
        request();
        break;
      case 5:
        clear();
        break;
      case 6:
        disturb();
        break;
      default:
        if (below(200) == 0) {
          buffer_->end_run(sink_);
          check();
          CHECK(waiting_.empty());
          CHECK(buffer_->counters().held == 0);
          buffer_->begin_run(RunNumber(2));
        }
    }
    check();
  }

  void finish() {
    buffer_->end_run(sink_);
    check();
    CHECK(waiting_.empty());
    CHECK(buffer_->counters().bytes_held == 0);
    CHECK(buffer_->counters().bytes_early == 0);
    CHECK(buffer_->counters().held == 0);
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  void announce() {
    std::vector<Trigger> list;
    for (std::uint32_t n = below(6); n > 0; --n) {
      next_ += 1 + (below(4) == 0 ? below(3) : 0);
      const std::uint64_t id = limits_.ids_ascend || below(3) > 0 ? next_ : near();
      list.push_back({SliceId(id), 0, 0, TriggerType()});
    }
    (void)buffer_->announce(list, sink_);
    if (below(10) == 0) buffer_->advance_watermark(SliceId(next_ > 20 ? next_ - 20 : 0), sink_);
  }
  void arrive() {
    const SourceId source(5 * (1 + below(kSources + 1)));
    const std::uint64_t slice = near() + below(6);
    switch (below(12)) {
      case 0:
        return buffer_->source_passed(source, SliceId(slice > 8 ? slice - 8 : 0), MissingReason::gap, sink_);
      case 1:
        now_ += below(10);
        return buffer_->tick(now_, sink_);
      case 2: {
        SourceFragment nothing;
        nothing.status = FragmentStatus::missing;
        nothing.reason = MissingReason::gap;
        (void)buffer_->deliver(source, SliceId(slice), nothing, sink_);
        return;
      }
      default:
        (void)buffer_->deliver(source, SliceId(slice), test::arriving(slice, below(200)), sink_);
    }
  }
  void request() {
    RequestedFragment request = ask(near(), 5 * (1 + below(kSources + 1)), below(3), 0);
    request.offset = ++serial_;
    waiting_.emplace(serial_, request);
    buffer_->request(request, sink_);
  }
  void clear() {
    std::vector<SliceId> list;
    for (std::uint32_t n = below(8); n > 0; --n) list.emplace_back(near());
    buffer_->clear(list, sink_);
  }
  void disturb() {
    const std::uint32_t connection = below(3);
    const std::uint64_t slice = near();
    const bool all = below(4) == 0;
    check();
    if (!all) return buffer_->cancel(connection, SliceId(slice), Attempt(0), sink_);
    buffer_->forget(connection);
    std::erase_if(waiting_, [&](const auto& entry) { return entry.second.connection == connection; });
  }
  std::uint64_t near() { return (next_ > 15 ? next_ - 15 : 0) + below(22); }

  void check() {
    for (const Answer& answer : sink_.take()) {
      REQUIRE(waiting_.erase(answer.request.offset) == 1);
      if (answer.status != FragmentStatus::missing) CHECK(answer.crc32c == answer.request.slice.value);
    }
    const BufferCounters& counters = buffer_->counters();
    REQUIRE(balanced(counters));
    REQUIRE(counters.bytes_held <= limits_.bytes_max);
    REQUIRE(counters.slices_held <= limits_.slices_max);
    REQUIRE(counters.bytes_early <= limits_.early_bytes_max);
    REQUIRE(counters.slices_early <= limits_.early_slices_max);
    REQUIRE(counters.waiting <= limits_.announced_max);
    REQUIRE(counters.parked == waiting_.size());
    REQUIRE(counters.parked <= limits_.parked_max);
  }

  std::mt19937 random_;
  BufferLimits limits_;
  std::unique_ptr<FragmentBuffer> buffer_;
  AnswerList sink_;
  std::uint32_t arriving_ = 0;  // number of sources whose fragments arrive later
  TimeNs now_ = 0;
  std::uint64_t next_ = 0;
  std::uint32_t serial_ = 0;
  std::map<std::uint32_t, RequestedFragment> waiting_;  // by serial number, which is sent as the offset
};

}  // namespace

TEST_CASE("the ledger balances after every random step, and each request gets one answer", "[buffer]") {
  const std::uint32_t seed = GENERATE(range(1U, 41U));
  INFO("seed " << seed);
  Exercise exercise(seed);
  for (int step = 0; step < 1500; ++step) exercise.step();
  exercise.finish();
}
