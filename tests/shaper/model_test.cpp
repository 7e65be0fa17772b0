// Checks the model itself, before it is used to judge shapers.
#include "cases.hpp"
#include "judge.hpp"
#include "networks.hpp"
#include "weir_catch.hpp"

#include <algorithm>

namespace weir::packet_model {
namespace {

PullNetwork lan(std::uint32_t readouts, double bytes, double bits_per_s, double buffer,
                std::uint32_t credits) {
  PullNetwork network = case_named("lan-8to1");
  network.readouts.assign(readouts, network.readouts[0]);
  for (ReadoutSpec& readout : network.readouts) readout.bytes = bytes;
  network.ports[0].rates[0].bits_per_s = bits_per_s;
  network.ports[0].buffer_bytes = buffer;
  network.dcms[0].readouts = readouts;
  network.dcms[0].credits = credits;
  network.length_ns = 2 * kSecond;
  return network;
}

}  // namespace

TEST_CASE("a bulk flow fills its port") {
  const RunResult run = PullModel(lan(1, 1e6, 200e6, 256e3, 16), {"none", 0}).run();
  CHECK(run.goodput > 0.97);
  CHECK(run.goodput < 1.005);
}

TEST_CASE("a bulk flow fills a long line") {
  const RunResult run = PullModel(case_named("wan-40ms"), {"none", 0}).run();
  CHECK(run.goodput > 0.9);
  CHECK(run.goodput < 1.005);
}

TEST_CASE("many readouts that answer at once collapse at a small buffer") {
  const RunResult run = PullModel(lan(24, 65536, 1e9, 100e3, 1), {"none", 0}).run();
  CHECK(run.goodput < 0.8);
  CHECK(run.timeouts > 0);
  CHECK(run.p99 > 10);
}

TEST_CASE("a window of bytes set by hand fills the port and loses nothing") {
  const RunResult run = PullModel(case_named("lan-8to1"), {"byte-credits", 72'000}).run();
  CHECK(run.goodput > 0.99);
  CHECK(run.p99 < 1.2);
  CHECK(run.drops == 0);
  CHECK(run.retransmissions == 0);
}

TEST_CASE("goodput is the window divided by the round trip") {
  const RunResult run = PullModel(case_named("wan-40ms"), {"byte-credits", 100'000}).run();
  CHECK(run.goodput > 0.08);  // 100 kB in 40 ms and a little, of 200 Mb/s
  CHECK(run.goodput < 0.107);
}

TEST_CASE("each random loss is retransmitted about once") {
  PullNetwork network = lan(8, 65536, 200e6, 256e3, 16);
  network.ports[0].loss = 1e-3;
  const RunResult run = PullModel(network, {"byte-credits", 72'000}).run();
  CHECK(run.drops == 0);
  CHECK(run.random_losses > 10);
  CHECK(run.retransmissions >= run.random_losses - 2);
  CHECK(run.retransmissions <= run.random_losses * 5 / 4 + 2);
}

TEST_CASE("the same network and shaper give the same run") {
  const std::uint64_t seed = GENERATE(3U, 17U, 30U);
  const PullNetwork network = make_network(seed);
  const RunResult one = PullModel(network, {"adaptive", 0}).run();
  const RunResult other = PullModel(network, {"adaptive", 0}).run();
  CHECK(one.events == other.events);
  CHECK(one.goodput == other.goodput);
  CHECK(one.p99 == other.p99);
  CHECK(describe(network) == describe(make_network(seed)));
}

TEST_CASE("a queue sends at its rate, holds what its buffer holds, and follows a rate that changes") {
  LinkSpec spec;
  spec.rates = {{0, 8e9}, {kMillisecond, 4e9}};  // a byte per ns, then half of it
  spec.buffer_bytes = 10'000;
  ByteLink link(spec);
  CHECK(link.enter(1'000, 0) == 1'000);
  CHECK(link.enter(1'000, 500) == 2'000);
  CHECK(link.enter(1'000, 5'000) == 6'000);
  CHECK(link.enter(1'000, kMillisecond - 500) == kMillisecond + 1'000);
  for (int i = 0; i < 20; ++i) (void)link.enter(1'000, 2 * kMillisecond);
  CHECK(link.drops() == 10);
}

TEST_CASE("a port that lets a little go at once after a pause") {
  LinkSpec spec;
  spec.rates = {{0, 8e9}};
  spec.burst_bytes = 3'000;
  ByteLink link(spec);
  for (int i = 0; i < 3; ++i) CHECK(link.enter(1'000, 10'000) == 10'000);
  CHECK(link.enter(1'000, 10'000) == 11'000);
}

TEST_CASE("the fullest link limits the total rate") {
  PullNetwork network = lan(4, 1'000, 100e6, 1e5, 4);
  const double port = 100e6 / 8 * kStreamBound;
  CHECK(best_bytes_per_s(network, 0) == Approx(port));
  network.readouts[2].uplink_bits_per_s = 5e6;  // a quarter of each slice
  CHECK(best_bytes_per_s(network, 0) == Approx(4 * 5e6 / 8 * kStreamBound));
  network.readouts[2].uplink_bits_per_s = 1e9;
  network.foreign = {{0, 40e6, kSecond, 0}};
  CHECK(best_bytes_per_s(network, 0, 2 * kSecond) == Approx(0.8 * port));
  const PullNetwork all = case_named("all-to-all-6x2");  // a sixth of each slice stays on its host
  CHECK(best_bytes_per_s(all, 0) == Approx(6 * 50e6 / 8 * kStreamBound * 6 / 5));
}

TEST_CASE("a feature of a network can be taken away once") {
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    PullNetwork network = make_network(seed);
    for (const std::string& feature : features()) {
      CAPTURE(seed, feature);
      if (!take_away(network, feature) || feature == "half-readouts") continue;
      CHECK_FALSE(take_away(network, feature));
    }
  }
}

TEST_CASE("the shaper of several is compared with the best of the others") {
  RunResult subject, full, slow;
  subject.goodput = 0.9;
  subject.p99 = 3;
  full.goodput = 1;
  full.p99 = 2;
  slow.goodput = 0.5;
  slow.p99 = 1;
  const Judgement judgement = judge({subject, full, slow});
  CHECK(judgement.goodput == Approx(0.9));
  CHECK(judgement.p99 == Approx(1.5));
}

}  // namespace weir::packet_model
