#include "../src/control_link.hpp"

#include "weir_catch.hpp"

#include <random>
#include <string>

using namespace weir;
using namespace weir::switch_node;
using Catch::ContainsSubstring;

namespace {

constexpr const char* kPorts = "name: daq\nports: [{interface: eth1}, {interface: eth2}]\n";

std::string table_of(const std::string& rate) {
  return kPorts + ("rings:\n  - {name: dcm-0, address: 10.0.0.1, via: eth1, rate: " + rate + "}\n");
}

v1::SwitchTable message_of(const std::string& digest, const std::string& text) {
  v1::SwitchTable message;
  message.set_digest(digest);
  message.set_file("daq.yaml");
  message.set_text(text);
  return message;
}

// Uses the table "a", at 1 Gb/s.
TableChoice choice_in_use() {
  TableChoice choice;
  auto table = choice.take(message_of("a", table_of("1gbit")));
  REQUIRE(table.has_value());
  choice.use(std::move(*table));
  return choice;
}

}  // namespace

TEST_CASE("a switch takes a table once, and the next one with other rates, rings and addresses") {
  TableChoice choice = choice_in_use();
  CHECK(choice.table()->digest == "a");
  CHECK_FALSE(choice.take(message_of("a", table_of("1gbit"))).has_value());
  CHECK_FALSE(choice.take(message_of("a", "")).has_value());
  const auto next = choice.take(message_of("b", table_of("2gbit")));
  REQUIRE(next.has_value());
  CHECK(next->file.settings.rings(0).rate() == "2gbit");
  CHECK(choice
            .take(message_of("c",
                             "name: daq\nports: [{interface: eth1, addresses: [10.0.0.7]}, {interface: "
                             "eth2}]\n"))
            .has_value());
}

TEST_CASE("a wrong table is refused with its line, and the switch keeps the former one") {
  TableChoice choice = choice_in_use();
  const auto refusal_of = [&](const std::string& digest, const std::string& text) {
    CHECK_FALSE(choice.take(message_of(digest, text)).has_value());
    CHECK(choice.table()->digest == "a");
    return choice.refused();
  };
  CHECK_THAT(refusal_of("b", table_of("fast")), ContainsSubstring("daq.yaml:4: rings[0].rate: 'fast'"));
  CHECK_THAT(refusal_of("c", kPorts + std::string("rings: [{name: a, address: 10.0.0.1, via: eth9}]\n")),
             ContainsSubstring("daq.yaml:3: rings[0].via: `ports` has no interface 'eth9'"));
  CHECK_THAT(
      refusal_of("d", "name: daq\nports: [{interface: eth1}]\n"),
      ContainsSubstring("daq.yaml:2: ports: only rings and addresses can change while the switch runs"));
  CHECK_THAT(refusal_of("e", "\x01{"), ContainsSubstring("daq.yaml"));
}

TEST_CASE("each key of a switch but rings and addresses needs a restart") {
  const auto file = config::read_switch(table_of("1gbit"), "daq.yaml");
  REQUIRE(file.has_value());
  const auto problem_of = [&](const std::string& set) {
    config::SwitchFile other = *file;
    REQUIRE(config::apply_switch_override(other, set).empty());
    const config::Problems problems = config::problems_of_change(*file, other);
    return problems.empty() ? "" : problems[0].key;
  };
  const std::string two = "{interface: eth2}]";
  CHECK(problem_of("name=other") == "name");
  CHECK(problem_of("mtu=9000") == "mtu");
  CHECK(problem_of("queues=one") == "queues");
  CHECK(problem_of("when_full=hold") == "when_full");
  CHECK(problem_of("other_packets=9") == "other_packets");
  CHECK(problem_of("mark_packets=9") == "mark_packets");
  CHECK(problem_of("user=nobody") == "user");
  CHECK(problem_of("sockets=xdp") == "sockets");
  CHECK(problem_of("metrics=127.0.0.1:9100") == "metrics");
  CHECK(problem_of("ports=[{interface: eth1}, {interface: eth3}]") == "ports[1].interface");
  CHECK(problem_of("ports=[{interface: eth1, receive_packets: 64}, " + two) == "ports[0].receive_packets");
  CHECK(problem_of("ports=[{interface: eth1, transmit_packets: 8}, " + two) == "ports[0].transmit_packets");
  CHECK(problem_of("ports=[{interface: eth1, rate: 1gbit}, " + two) == "ports[0].rate");
  CHECK(problem_of("ports=[{interface: eth1, rate: 1gbit, obey_pauses: true}, " + two) == "ports[0].rate");
  CHECK(problem_of("mtu=1500").empty());  // the default
  CHECK(problem_of("rings=[]").empty());
  CHECK(problem_of("ports=[{interface: eth1, addresses: [10.0.0.7]}, " + two).empty());
}

TEST_CASE("a refused table is refused once, until the former one is back or it may be tried again") {
  TableChoice choice = choice_in_use();
  const v1::SwitchTable wrong = message_of("b", table_of("fast"));
  (void)choice.take(wrong);
  REQUIRE_FALSE(choice.refused().empty());
  (void)choice.take(message_of("a", ""));
  CHECK(choice.refused().empty());
  TableChoice first;
  const v1::SwitchTable good = message_of("a", table_of("1gbit"));
  REQUIRE(first.take(good).has_value());
  first.refuse("a", "interface 'eth1': no such device");
  CHECK_FALSE(first.take(good).has_value());
  CHECK(first.refused() == "interface 'eth1': no such device");
  first.try_again();
  CHECK(first.take(good).has_value());
}

TEST_CASE("a switch that run control does not know keeps the reason, and its table") {
  TableChoice choice = choice_in_use();
  v1::SwitchTable message;
  message.set_refused("control.switches has no file with this name");
  CHECK_FALSE(choice.take(message).has_value());
  CHECK(choice.unknown() == "control.switches has no file with this name");
  CHECK(choice.table()->digest == "a");
}

TEST_CASE("tables of random bytes are refused, and change nothing") {
  std::mt19937 random(1);
  TableChoice choice = choice_in_use();
  const std::string good = table_of("2gbit");
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    for (unsigned n = 1 + random() % 8; n > 0; --n)
      text[random() % text.size()] = static_cast<char>(random());
    // A flipped digit may be another good table.
    const auto table = choice.take(message_of(std::to_string(i), text));
    if (table) CHECK(config::problems_of_change(choice.table()->file, table->file).empty());
    REQUIRE(choice.table()->digest == "a");
  }
}

TEST_CASE("a report has the rings with their names, and the frames of all ports") {
  switching::SwitchSettings settings;
  settings.rings.push_back({.name = "dcm-0", .frames_max = 9});
  packet_switch::SwitchCounts counts;
  counts.ports.resize(2);
  counts.ports[0].received = 10;
  counts.ports[1].sent = 7;
  counts.ports[0].dropped[static_cast<std::size_t>(switching::FrameDrop::queue_full)] = 2;
  counts.ports[0].dropped[static_cast<std::size_t>(switching::FrameDrop::no_route)] = 1;
  counts.rings.push_back({.frames = 7,
                          .dropped = 2,
                          .waiting = 3,
                          .waiting_bytes = 300,
                          .waiting_most = 5,
                          .waiting_bytes_most = 450});
  v1::SwitchReport report;
  add_counts(settings, counts, report);
  CHECK(report.received() == 10);
  CHECK(report.sent() == 7);
  CHECK(report.lost() == 2);
  CHECK(report.dropped().at("queue_full") == 2);
  CHECK(report.dropped().at("no_route") == 1);
  REQUIRE(report.rings_size() == 1);
  CHECK(report.rings(0).name() == "dcm-0");
  CHECK(report.rings(0).waiting() == 3);
  CHECK(report.rings(0).waiting_most() == 5);
  CHECK(report.rings(0).waiting_bytes() == 300);
  CHECK(report.rings(0).waiting_bytes_most() == 450);
  CHECK(report.rings(0).room() == 9);
}
