#include "weir_catch.hpp"
#include <weir/numbering/number_order.hpp>

#include <vector>

using namespace weir;
using numbering::NumberOrder;

namespace {

constexpr DurationNs kSkew = 20 * kMillisecond;

class Order {
 public:
  explicit Order(std::size_t readouts, std::uint64_t next = 0) : order(readouts, kSkew) {
    order.begin(SliceId(next), now);
  }
  void see(std::size_t readout, std::uint64_t number) { order.seen(readout, SliceId(number), 7, now); }
  std::vector<std::uint64_t> due() {
    std::vector<std::uint64_t> numbers;
    while (const auto one = order.next(now)) numbers.push_back(one->number.value);
    return numbers;
  }

  NumberOrder order;
  TimeNs now = kSecond;
};

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("consecutive numbers are due at once, each once") {
  Order farm(2);
  farm.see(0, 0);
  farm.see(1, 0);
  farm.see(0, 1);
  CHECK(farm.due() == Numbers{0, 1});
  farm.see(1, 1);
  farm.see(1, 2);
  CHECK(farm.due() == Numbers{2});
  CHECK(farm.order.counts() == numbering::OrderCounts());
}

TEST_CASE("a number that one front-end left out comes from another, in order") {
  Order farm(2);
  farm.see(0, 0);
  farm.see(0, 2);
  CHECK(farm.due() == Numbers{0});
  farm.see(1, 1);
  CHECK(farm.due() == Numbers{1, 2});
  CHECK(farm.order.counts().closed == 0);
}

TEST_CASE("a gap is closed when most readouts are past it, after the skew") {
  Order farm(3);
  farm.see(0, 0);
  farm.see(0, 5);
  farm.see(1, 5);
  CHECK(farm.due() == Numbers{0});
  farm.now += kSkew;
  CHECK(farm.due() == Numbers{5});
  CHECK(farm.order.counts().closed == 1);
  CHECK(farm.order.counts().left_out == 4);
  farm.see(2, 3);
  CHECK(farm.due().empty());
  CHECK(farm.order.counts().late == 1);
}

TEST_CASE("one counter that jumps does not move the farm") {
  Order farm(3);
  for (std::size_t readout = 0; readout < 3; ++readout) farm.see(readout, 0);
  CHECK(farm.due() == Numbers{0});
  Numbers all;
  for (std::uint64_t number = 1; number < 20000; ++number) {
    farm.now += kMillisecond;
    farm.see(0, number);
    farm.see(1, number);
    farm.see(2, number + (1U << 20U));
    for (const std::uint64_t due : farm.due()) all.push_back(due);
  }
  REQUIRE(all.size() == 19999);
  CHECK(all.back() == 19999);
  CHECK(farm.order.counts().left_out == 0);
  CHECK(farm.order.counts().unconfirmed > 0);
  CHECK(farm.order.waiting() < 12000);
}

TEST_CASE("a readout that is ahead of all others does not draw the farm along when it gets there") {
  Order farm(3);
  for (std::uint64_t number = 0; number < 400; ++number) {
    CAPTURE(number);
    farm.now += kMillisecond;
    farm.see(0, number);
    farm.see(2, number + (number >= 100 ? 128 : 0));
    farm.see(1, number);
    REQUIRE(farm.due() == Numbers{number});
  }
  CHECK(farm.order.counts() == numbering::OrderCounts());
}

TEST_CASE("numbers of a farm with one readout are believed after the skew") {
  Order farm(1);
  farm.see(0, 100);
  CHECK(farm.due().empty());
  farm.now += kSkew;
  CHECK(farm.due() == Numbers{100});
}

TEST_CASE("readouts that no longer deliver have no vote") {
  Order farm(2);
  farm.see(0, 0);
  farm.see(1, 0);
  CHECK(farm.due() == Numbers{0});
  farm.see(0, 3);
  farm.now += kSkew;
  CHECK(farm.due().empty());
  farm.now += NumberOrder::kDeliveredLately;
  farm.see(0, 4);
  CHECK(farm.due().empty());
  farm.now += kSkew;
  CHECK(farm.due() == Numbers{3, 4});
}

TEST_CASE("a resumed run goes on with the next number") {
  Order farm(1, 500);
  farm.see(0, 499);
  farm.see(0, 500);
  CHECK(farm.due() == Numbers{500});
  CHECK(farm.order.counts().late == 0);
}

TEST_CASE("another process continues with the counts, and passes no number over that was offered") {
  Order first(1);
  for (const std::uint64_t number : {0U, 1U, 4U}) first.see(0, number);
  first.now += kSkew;
  CHECK(first.due() == Numbers{0, 1});
  first.now += kSkew;
  CHECK(first.due() == Numbers{4});
  first.see(0, 3);
  CHECK(first.order.was_offered(SliceId(4)));
  CHECK_FALSE(first.order.was_offered(SliceId(3)));
  CHECK_FALSE(first.order.was_offered(SliceId(5)));
  const numbering::OrderState state = first.order.state();
  CHECK(state == numbering::OrderState{SliceId(5), {1, 2, 1, 0}});
  Order next(1);
  next.order.resume(state, next.now);
  for (const std::uint64_t number : {3U, 4U, 5U}) next.see(0, number);
  CHECK(next.due() == Numbers{5});
  CHECK(next.order.counts() == state.counts);
}

TEST_CASE("the store of waiting numbers is bounded, and keeps the lowest") {
  Order farm(2);
  farm.see(1, 0);
  CHECK(farm.due() == Numbers{0});
  for (std::uint64_t i = 0; i < NumberOrder::kHeldMax + 10; ++i) farm.see(0, 10 + i);
  CHECK(farm.order.waiting() == NumberOrder::kHeldMax);
  CHECK(farm.order.counts().unconfirmed == 10);
  for (std::uint64_t number = 1; number < 10; ++number) farm.see(1, number);
  CHECK(farm.due().size() == NumberOrder::kHeldMax);  // the nine pushed others out
}

TEST_CASE("where times are compared, a number is due once most readouts agree on its time") {
  NumberOrder order(3, kSkew, 10);
  order.begin(SliceId(0), kSecond);
  order.seen(2, SliceId(0), 500, kSecond);  // out of step
  CHECK_FALSE(order.next(kSecond));
  order.seen(0, SliceId(0), 100, kSecond);
  CHECK_FALSE(order.next(kSecond));
  order.seen(0, SliceId(0), 100, kSecond);  // repeated
  CHECK_FALSE(order.next(kSecond));
  order.seen(1, SliceId(0), 104, kSecond);
  const auto due = order.next(kSecond);
  REQUIRE(due);
  CHECK(due->time == 100);
}

TEST_CASE("without a majority for one time a number is due after the skew, with the first time") {
  NumberOrder order(3, kSkew, 10);
  order.begin(SliceId(0), kSecond);
  order.seen(2, SliceId(0), 500, kSecond);
  order.seen(0, SliceId(0), 100, kSecond + 1);
  CHECK_FALSE(order.next(kSecond + kSkew - 1));
  const auto due = order.next(kSecond + kSkew);
  REQUIRE(due);
  CHECK(due->time == 500);
}

TEST_CASE("numbers that are reported before the run begins are not lost") {
  NumberOrder order(2, kSkew);
  for (const std::uint64_t number : {99U, 100U, 101U}) order.seen(0, SliceId(number), 7, kSecond);
  order.begin(SliceId(100), kSecond + 1);
  REQUIRE(order.next(kSecond + 1)->number == SliceId(100));
  CHECK(order.next(kSecond + 1)->number == SliceId(101));
  CHECK_FALSE(order.next(kSecond + 1));
  CHECK(order.counts() == numbering::OrderCounts());
}

TEST_CASE("a readout that is ahead of the others for longer than the skew gives its time to no number") {
  constexpr DurationNs kPeriod = 3 * kMillisecond;
  const std::uint64_t ahead = GENERATE(1, 8, 20, 32);
  const bool loses = GENERATE(false, true);  // another readout has no fragment of each fourth number
  NumberOrder order(3, kSkew, 1000);
  order.begin(SliceId(0), 0);
  std::uint64_t made = 0;
  const auto take = [&](TimeNs now) {
    while (const auto due = order.next(now)) {
      CAPTURE(due->number.value, ahead, loses);
      CHECK(due->time == static_cast<UtcNs>(due->number.value) * kPeriod);
      ++made;
    }
  };
  for (std::uint64_t event = 0; event < 300; ++event) {
    const auto time = static_cast<TimeNs>(event) * kPeriod;
    order.seen(2, SliceId(event < 50 ? event : event + ahead), time, time);
    take(time);
    order.seen(0, SliceId(event), time, time + kMillisecond);
    take(time + kMillisecond);
    if (!loses || event % 4 != 3) order.seen(1, SliceId(event), time, time + 2 * kMillisecond);
    take(time + 2 * kMillisecond);
  }
  CHECK(made >= 300 - kSkew / kPeriod - 2);
}
