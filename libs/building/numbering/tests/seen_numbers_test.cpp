#include "weir_catch.hpp"
#include <weir/numbering/seen_numbers.hpp>

#include <algorithm>
#include <vector>

using namespace weir;
using numbering::SeenNumber;
using numbering::SeenNumbers;

namespace {

std::vector<std::uint64_t> taken(SeenNumbers& seen, TimeNs now, std::size_t most = 1000) {
  std::vector<SeenNumber> out;
  seen.take(most, now, out);
  std::vector<std::uint64_t> numbers;
  for (const SeenNumber& one : out) numbers.push_back(one.number.value);
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;

// All numbers that are reported; event n happens at 1000 n.
class Reported {
 public:
  explicit Reported(SeenNumbers& seen) : seen_(seen) {}
  void take(TimeNs now) {
    seen_.take(1000, now, out_);
    all_.insert(all_.end(), out_.begin(), out_.end());
  }
  [[nodiscard]] std::size_t count() const { return all_.size(); }
  void check_times() const {
    for (const SeenNumber& one : all_) {
      CAPTURE(one.number.value);
      CHECK(one.time == static_cast<UtcNs>(1000 * one.number.value));
    }
  }

 private:
  SeenNumbers& seen_;
  std::vector<SeenNumber> all_;
  std::vector<SeenNumber> out_;
};

}  // namespace

TEST_CASE("each number is reported once, with the time of its first fragment") {
  SeenNumbers seen(2);
  seen.begin();
  seen.note(0, SliceId(0), 10, 1);
  seen.note(1, SliceId(0), 11, 2);
  seen.note(0, SliceId(1), 20, 3);
  std::vector<SeenNumber> out;
  seen.take(10, 4, out);
  CHECK(out == std::vector<SeenNumber>{{SliceId(0), 10}, {SliceId(1), 20}});
  CHECK(taken(seen, 5).empty());
}

TEST_CASE("announced numbers are not reported any more") {
  SeenNumbers seen(2);
  seen.begin();
  seen.note(0, SliceId(3), 0, 1);
  seen.announced(SliceId(4));
  seen.note(1, SliceId(4), 0, 2);
  seen.note(1, SliceId(5), 0, 3);
  CHECK(taken(seen, 4) == Numbers{3, 5});
  seen.repeat();
  CHECK(taken(seen, 5) == Numbers{5});
}

TEST_CASE("after a new connection, numbers that were not announced are reported again in order") {
  SeenNumbers seen(1);
  seen.begin();
  for (const std::uint64_t number : {0U, 1U, 2U, 3U}) seen.note(0, SliceId(number), 0, 1);
  CHECK(taken(seen, 2) == Numbers{0, 1, 2, 3});
  seen.announced(SliceId(1));
  seen.repeat();
  CHECK(taken(seen, 3) == Numbers{2, 3});
}

TEST_CASE("at most as many as asked for are taken, the rest later") {
  SeenNumbers seen(1);
  seen.begin();
  for (const std::uint64_t number : {0U, 1U, 2U}) seen.note(0, SliceId(number), 0, 1);
  CHECK(taken(seen, 2, 2) == Numbers{0, 1});
  CHECK(taken(seen, 2, 2) == Numbers{2});
}

TEST_CASE("a source that jumps ahead of the others is not believed until most have reached it") {
  SeenNumbers seen(3);
  seen.begin();
  for (std::size_t source = 0; source < 3; ++source) seen.note(source, SliceId(0), 0, 1);
  CHECK(taken(seen, 1) == Numbers{0});
  seen.note(2, SliceId(65), 0, 2);
  CHECK(taken(seen, 2).empty());
  CHECK(seen.waiting() == 1);
  seen.note(0, SliceId(1), 0, 3);
  CHECK(taken(seen, 3) == Numbers{1});
  SECTION("the others go there, too") {
    seen.note(0, SliceId(65), 0, 4);
    CHECK(taken(seen, 4) == Numbers{65});
  }
  SECTION("the others deliver no more") {
    const TimeNs later = 2 * SeenNumbers::kDeliveredLately;
    seen.note(2, SliceId(66), 0, later);
    Numbers both = taken(seen, later);
    std::sort(both.begin(), both.end());
    CHECK(both == Numbers{65, 66});
  }
}

TEST_CASE("a source that is ahead of all others does not draw them along when they get there") {
  SeenNumbers seen(3);
  seen.begin();
  for (std::uint64_t number = 0; number < 400; ++number) {
    CAPTURE(number);
    const auto now = static_cast<TimeNs>(number);
    for (const std::size_t source : {0U, 1U, 2U}) {
      const bool ahead = source == 2 && number >= 100;
      seen.note(source, SliceId(number + (ahead ? 128 : 0)), 0, now);
    }
    REQUIRE(taken(seen, now) == Numbers{number});
  }
}

TEST_CASE("without a supervisor the store of numbers is bounded, and keeps the highest") {
  SeenNumbers seen(1);
  seen.begin();
  constexpr std::uint64_t kAll = 3 * SeenNumbers::kKnownMax;
  for (std::uint64_t number = 0; number < kAll; ++number) seen.note(0, SliceId(number), 0, 1);
  CHECK(seen.forgotten() == kAll - SeenNumbers::kKnownMax);
  const Numbers numbers = taken(seen, 2, kAll);
  REQUIRE(numbers.size() == SeenNumbers::kKnownMax);
  CHECK(numbers.front() == kAll - SeenNumbers::kKnownMax);
  CHECK(numbers.back() == kAll - 1);
}

TEST_CASE("the store of numbers that are not believed is bounded") {
  SeenNumbers seen(3);
  seen.begin();
  for (std::size_t source = 0; source < 3; ++source) seen.note(source, SliceId(0), 0, 1);
  for (std::uint64_t i = 0; i < SeenNumbers::kWaitingMax + 5; ++i) seen.note(0, SliceId(100 + i), 0, 2);
  CHECK(seen.waiting() == SeenNumbers::kWaitingMax);
  CHECK(seen.forgotten() == 5);
}

TEST_CASE("where times are compared, the time that most sources give counts, whichever comes first") {
  SeenNumbers seen(3, {10, 1000});
  seen.begin();
  for (std::size_t source = 0; source < 3; ++source) seen.note(source, SliceId(0), 100, 1);
  seen.note(2, SliceId(1), 100, 2);  // out of step: the time of number 0
  std::vector<SeenNumber> out;
  seen.take(10, 3, out);
  CHECK(out == std::vector<SeenNumber>{{SliceId(0), 100}});
  seen.note(0, SliceId(1), 203, 4);
  seen.take(10, 5, out);
  CHECK(out.empty());  // two times with a vote each
  seen.note(1, SliceId(1), 200, 6);
  seen.take(10, 7, out);
  CHECK(out == std::vector<SeenNumber>{{SliceId(1), 203}});
}

TEST_CASE("a number that most sources do not send is reported after a wait") {
  SeenNumbers seen(3, {10, 1000});
  seen.begin();
  for (std::size_t source = 0; source < 3; ++source) seen.note(source, SliceId(0), 100, 1);
  CHECK(taken(seen, 2) == Numbers{0});
  seen.note(1, SliceId(1), 200, 3);
  CHECK(taken(seen, 1002).empty());
  CHECK(taken(seen, 1003) == Numbers{1});
}

TEST_CASE("the time of a source that is known to be out of step counts only without others") {
  SeenNumbers seen(2, {10, 1000});
  seen.begin();
  seen.note(0, SliceId(0), 100, 1, false);
  std::vector<SeenNumber> out;
  seen.take(10, 2, out);
  CHECK(out.empty());
  seen.note(1, SliceId(0), 200, 3);
  seen.take(10, 4, out);
  CHECK(out == std::vector<SeenNumber>{{SliceId(0), 200}});
  seen.note(0, SliceId(1), 300, 5, false);
  seen.take(10, 1005, out);
  CHECK(out == std::vector<SeenNumber>{{SliceId(1), 300}});
}

TEST_CASE("a number's time is that of most sources, also if one far ahead has waited with it for long") {
  SeenNumbers seen(3, {10, 100});
  seen.begin();
  Reported reported(seen);
  for (std::uint64_t event = 0; event < 200; ++event) {
    const auto now = static_cast<TimeNs>(50 * event);
    const auto time = static_cast<UtcNs>(1000 * event);
    seen.note(0, SliceId(event < 10 ? event : event + 128), time, now, event < 20);
    reported.take(now + 1);
    for (const std::size_t source : {1U, 2U}) {
      seen.note(source, SliceId(event), time, now + 10 * static_cast<TimeNs>(source));
      reported.take(now + 10 * static_cast<TimeNs>(source) + 1);
    }
  }
  reported.take(20'000);
  REQUIRE(reported.count() == 200);
  reported.check_times();
}

TEST_CASE("one of two sources that jumps ahead gives its time to no number") {
  const std::uint64_t ahead = GENERATE(1, 20, 32, 1000);
  SeenNumbers seen(2, {10, 100});
  seen.begin();
  Reported reported(seen);
  for (std::uint64_t event = 0; event < 200; ++event) {
    const auto now = static_cast<TimeNs>(50 * event);
    const auto time = static_cast<UtcNs>(1000 * event);
    seen.note(1, SliceId(event < 10 ? event : event + ahead), time, now);
    reported.take(now + 1);
    seen.note(0, SliceId(event), time, now + 10);
    reported.take(now + 11);
  }
  CAPTURE(ahead);
  REQUIRE(reported.count() >= 195);
  reported.check_times();
}

TEST_CASE("a source that sends few fragments does not hold the numbers of another one back") {
  SeenNumbers seen(2, {10, 100});
  seen.begin();
  seen.note(1, SliceId(0), 0, 0);
  std::size_t reported = 0;
  for (std::uint64_t event = 0; event < 50; ++event) {
    seen.note(0, SliceId(event), static_cast<UtcNs>(1000 * event), static_cast<TimeNs>(50 * event));
    reported += taken(seen, static_cast<TimeNs>(50 * event)).size();
  }
  CHECK(reported >= 47);
}
