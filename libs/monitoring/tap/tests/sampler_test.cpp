#include "weir_catch.hpp"
#include <weir/tap/sampler.hpp>
#include <weir/weir_filter.h>

#include <algorithm>

using namespace weir;
using namespace weir::tap;

namespace {

constexpr DurationNs kLease = 5 * kSecond;

SampleRequest request(const char* stream, std::uint32_t every, const char* tag = "t") {
  return {find_stream(stream), tag, every, {}};
}

Sampler sampler(std::uint64_t bytes_per_s = 1'000'000'000) { return Sampler({bytes_per_s, 1000, 4}, 1); }

std::size_t raw(Sampler& of) {
  std::vector<Tap*> due;
  of.due_raw(due);
  return due.size();
}

std::size_t accepted(Sampler& of, std::uint64_t streams) {
  std::vector<Tap*> due;
  of.due_accepted(streams, due);
  return due.size();
}

// Offers one slice of this many bytes. Returns whether it was sampled.
bool sample(Sampler& of, std::uint64_t bytes, TimeNs now) {
  std::vector<Tap*> due;
  of.due_raw(due);
  REQUIRE(due.size() == 1);
  if (!of.may_make(*due[0], now) || !of.may_send(*due[0], bytes)) return false;
  of.sent(*due[0], bytes, true);
  return true;
}

}  // namespace

TEST_CASE("one in so many slices is sampled, the first one among them") {
  Sampler one = sampler();
  REQUIRE(one.renew(request("raw", 3), kLease, 0));
  std::vector<std::size_t> due;
  for (int i = 0; i < 7; ++i) due.push_back(raw(one));
  CHECK(due == std::vector<std::size_t>{1, 0, 0, 1, 0, 0, 1});
}

TEST_CASE("a repeated request continues counting, and may change the share") {
  Sampler one = sampler();
  REQUIRE(one.renew(request("raw", 2), kLease, 0));
  CHECK(raw(one) == 1);
  REQUIRE(one.renew(request("raw", 2), kLease, kSecond));
  CHECK(raw(one) == 0);
  REQUIRE(one.renew(request("raw", 0), kLease, kSecond));  // 0 means every slice
  CHECK(raw(one) == 1);
  CHECK(raw(one) == 1);
}

TEST_CASE("a stream's tap sees the slices of that stream alone") {
  Sampler one = sampler();
  REQUIRE(one.renew(request("raw", 1, "r"), kLease, 0));
  REQUIRE(one.renew(request("accepted", 1, "a"), kLease, 0));
  REQUIRE(one.renew(request("debug", 1, "d"), kLease, 0));
  CHECK(raw(one) == 1);
  CHECK(accepted(one, WEIR_STREAM_DEFAULT) == 1);
  CHECK(accepted(one, WEIR_STREAM_DEBUG) == 2);
  CHECK(accepted(one, WEIR_STREAM_DEFAULT | WEIR_STREAM_DEBUG) == 2);
  CHECK(accepted(one, 0) == 0);
}

TEST_CASE("a tap ends when its request is not renewed in time") {
  Sampler one = sampler();
  REQUIRE(one.renew(request("raw", 1), kLease, 0));
  one.expire(kLease - 1);
  CHECK(raw(one) == 1);
  REQUIRE(one.renew(request("raw", 1), kLease, kSecond));
  one.expire(kLease);
  CHECK(raw(one) == 1);
  one.expire(kLease + kSecond);
  CHECK(one.is_empty());
  CHECK(raw(one) == 0);
}

TEST_CASE("a client's message ends its own tap alone") {
  Sampler one = sampler();
  REQUIRE(one.renew(request("raw", 1, "a"), kLease, 0));
  REQUIRE(one.renew(request("raw", 1, "b"), kLease, 0));
  one.end("a");
  CHECK(raw(one) == 1);
  one.end("a");
  one.end("b");
  CHECK(one.is_empty());
}

TEST_CASE("a tap beyond the limit is refused and counted, and the present ones continue") {
  Sampler one = sampler();
  for (const char* tag : {"a", "b", "c", "d"}) REQUIRE(one.renew(request("raw", 1, tag), kLease, 0));
  CHECK_FALSE(one.renew(request("raw", 1, "e"), kLease, 0));
  CHECK(one.counts().refused == 1);
  CHECK(one.renew(request("raw", 1, "a"), kLease, 0));
  CHECK(raw(one) == 4);
  CHECK(one.renew(request("raw", 1, "e"), kLease, kLease));  // the leases of the others are over
}

TEST_CASE("without a rate no taps are possible") {
  Sampler none({0, 1000, 4}, 1);
  CHECK_FALSE(none.renew(request("raw", 1), kLease, 0));
  CHECK(none.is_empty());
}

TEST_CASE("samples beyond the rate are dropped and counted, and the rate holds over time") {
  Sampler one = sampler(10'000);
  REQUIRE(one.renew(request("raw", 1), 3600 * kSecond, 0));
  std::uint64_t taken = 0;
  constexpr int kSlices = 10'000;  // 100 bytes each, one a millisecond: ten times the rate
  for (int i = 0; i < kSlices; ++i) taken += sample(one, 100, i * kMillisecond) ? 1 : 0;
  CHECK(taken >= 10 * 100);
  CHECK(taken <= 11 * 100 + 1);  // plus the initial reserve of one second
  CHECK(one.counts().samples == taken);
  CHECK(one.counts().bytes == taken * 100);
  CHECK(one.counts().dropped_rate == kSlices - taken);
}

TEST_CASE("a sample larger than a second's rate is sent, and paid for before the next one") {
  Sampler one = sampler(100);
  REQUIRE(one.renew(request("raw", 1), 3600 * kSecond, 0));
  CHECK(sample(one, 1000, 0));
  CHECK_FALSE(sample(one, 1, 8 * kSecond));
  for (int second = 9; second < 17; ++second) (void)sample(one, 1000, second * kSecond);
  CHECK(one.counts().samples <= 2);
}

TEST_CASE("after a long wait the reserve is at most one second's rate") {
  Sampler one = sampler(1000);
  REQUIRE(one.renew(request("raw", 1), 3600 * kSecond, 0));
  (void)sample(one, 1, 0);
  std::uint64_t taken = 0;
  for (int i = 0; i < 100; ++i) taken += sample(one, 100, 1000 * kSecond) ? 1 : 0;
  CHECK(taken == 10);
}

TEST_CASE("samples that are too large, or that the bus refuses, are counted and get no number") {
  Sampler one = sampler();
  REQUIRE(one.renew(request("raw", 1), kLease, 0));
  std::vector<Tap*> due;
  one.due_raw(due);
  CHECK_FALSE(one.may_send(*due[0], 1001));
  one.sent(*due[0], 1000, false);
  CHECK(one.counts().dropped_too_large == 1);
  CHECK(one.counts().dropped_bus == 1);
  CHECK(due[0]->head.sequence == 0);
  CHECK(due[0]->head.dropped == 2);
  one.sent(*due[0], 1000, true);
  CHECK(due[0]->head.sequence == 1);
  CHECK(due[0]->head.seen == 1);
}

TEST_CASE("a returning tap has another numbering") {
  Sampler one = sampler();
  std::vector<Tap*> due;
  REQUIRE(one.renew(request("raw", 1), kLease, 0));
  one.due_raw(due);
  const std::uint64_t numbering = due[0]->head.numbering;
  REQUIRE(one.renew(request("raw", 1), kLease, kLease));
  due.clear();
  one.due_raw(due);
  CHECK(due[0]->head.numbering != numbering);
}
