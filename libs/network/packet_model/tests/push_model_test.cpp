#include "weir_catch.hpp"
#include <weir/packet_model/push_model.hpp>

#include <algorithm>

namespace weir::packet_model {
namespace {

PushNetwork sector() {
  PushNetwork network;
  network.readouts = 5;
  network.dcms = 2;
  return network;
}
PushNetwork strings() {
  PushNetwork network;
  network.readouts = 60;
  network.dcms = 20;
  return network;
}
PushTraffic traffic(double seconds, std::uint32_t group = 0) {
  PushTraffic traffic;
  traffic.group = group;
  traffic.length_ns = static_cast<DurationNs>(seconds * kSecond);
  traffic.relaxation_ns = 2 * kSecond;
  return traffic;
}
DurationNs longest(const PushResult& result) {
  return *std::max_element(result.delays.begin(), result.delays.end());
}

// Every packet that was sent is somewhere.
void check_sum(const PushResult& result) {
  const PushPackets& packets = result.packets;
  CHECK(packets.sent == packets.delivered + packets.drops_readout + packets.drops_uplink +
                            packets.drops_port + packets.bit_errors + packets.on_the_way);
}

}  // namespace

TEST_CASE("a fragment takes the time of its bytes on the slowest link, once its connection has started") {
  const PushResult result = PushModel(sector(), traffic(1)).run();
  CHECK(result.produced == 500);
  CHECK(result.delivered == 500);
  CHECK(result.retransmitted == 0);
  // 30,840 bytes with headers at 50 Mb/s, the last packet on two more links, and 400 us of cables.
  const double expected_ms = 30'840 * 8 / 50e3 + 840 * 8 * (1 / 1e6 + 1 / 500e3) + 0.4;
  std::vector<DurationNs> delays = result.delays;
  std::sort(delays.begin(), delays.end());
  CHECK(static_cast<double>(delays[delays.size() / 2]) / 1e6 == Approx(expected_ms).epsilon(0.02));
  check_sum(result);
}

TEST_CASE("direct transmission of two strings overflows the queues, delayed transmission does not") {
  const PushResult direct = PushModel(strings(), traffic(1)).run();
  const PushResult delayed = PushModel(strings(), traffic(1, 8)).run();
  CHECK(direct.packets.drops_port > 1000);
  CHECK(direct.retransmitted > 1000);
  CHECK(longest(direct) > 300 * kMillisecond);
  CHECK(delayed.retransmitted == 0);
  CHECK(longest(delayed) < 8 * kMillisecond);
  CHECK(delayed.delivered == delayed.produced);
  check_sum(direct);
  check_sum(delayed);
}

TEST_CASE("datagrams are lost with any of their packets") {
  PushTraffic udp = traffic(1);
  udp.transport = PushTransport::udp;
  const PushResult direct = PushModel(strings(), udp).run();
  CHECK(direct.delivered + direct.damaged == direct.produced);
  CHECK(direct.damaged > direct.produced * 9 / 10);
  udp.group = 8;
  const PushResult delayed = PushModel(strings(), udp).run();
  CHECK(delayed.damaged == 0);
  CHECK(delayed.delivered == delayed.produced);
  check_sum(direct);
}

TEST_CASE("a datagram beyond the queue of its own link never arrives") {
  PushTraffic udp = traffic(0.1);
  udp.transport = PushTransport::udp;
  udp.fragment_bytes = 150'000;  // 103 packets
  const PushResult result = PushModel(sector(), udp).run();
  CHECK(result.packets.drops_readout > 0);
  CHECK(result.delivered == 0);
}

TEST_CASE(
    "Weir's barrel delays fragments as the thesis' transmission does, and the next waits for the last") {
  PushTraffic barrel = traffic(1, 8);
  barrel.sending = PushSending::barrel;
  const PushResult like = PushModel(strings(), barrel).run();
  CHECK(like.delivered == like.produced);
  CHECK(like.retransmitted == 0);
  CHECK(longest(like) == longest(PushModel(strings(), traffic(1, 8)).run()));
  // More than a slot takes: each fragment begins later than the one before, and none is lost.
  barrel.fragment_bytes = 65'000;
  const PushResult behind = PushModel(strings(), barrel).run();
  CHECK(behind.retransmitted == 0);
  CHECK(behind.delivered == behind.produced);
  CHECK(longest(behind) > 50 * kMillisecond);
}

TEST_CASE("bursts take their share of the time, and of each the middle is cut off") {
  PushTraffic bursts = traffic(4, 8);
  bursts.fragment_bytes = 25'000;
  bursts.bursts.share = 0.05;
  bursts.bursts.longest_ns = kSecond / 2;
  const PushResult all = PushModel(strings(), bursts).run();
  double sum = 0;
  double slices = 0;
  for (const auto& [count, number] : all.in_burst) {
    sum += static_cast<double>(count * number);
    slices += static_cast<double>(number);
  }
  CHECK(slices == 400);
  CHECK(sum / slices == Approx(3).epsilon(0.35));
  CHECK(all.cut_off == 0);
  bursts.bursts.cut_off_slices = 4;
  for (const PushSending sending : {PushSending::at_slot, PushSending::barrel}) {
    bursts.sending = sending;
    const PushResult cut = PushModel(strings(), bursts).run();
    CHECK(cut.in_burst == all.in_burst);
    CHECK(static_cast<double>(cut.cut_off) > 0.6 * sum);
    CHECK(cut.delivered + cut.cut_off == cut.produced);
    CHECK(longest(cut) < longest(all));
  }
}

TEST_CASE("bit errors damage one packet of full length in 8,300") {
  PushNetwork network = strings();
  network.bit_error_rate = 1e-8;
  const PushResult result = PushModel(network, traffic(2, 8)).run();
  const double full = 20.55 / 21 * static_cast<double>(result.packets.sent) * 1.2e-4;
  CHECK(static_cast<double>(result.packets.bit_errors) == Approx(full).epsilon(0.4));
  CHECK(result.delivered == result.produced);
  check_sum(result);
}

TEST_CASE("the same seed gives the same run, another one another") {
  PushNetwork network = strings();
  network.bit_error_rate = 1e-7;
  PushTraffic bursts = traffic(1, 8);
  bursts.bursts.share = 0.05;
  const PushResult first = PushModel(network, bursts).run();
  const PushResult again = PushModel(network, bursts).run();
  CHECK(first.delays == again.delays);
  CHECK(first.events == again.events);
  CHECK(first.packets.bit_errors == again.packets.bit_errors);
  bursts.seed = 2;
  CHECK(PushModel(network, bursts).run().delays != first.delays);
}

}  // namespace weir::packet_model
