#include "broken_invariant.hpp"
#include "peer_fixture.hpp"
#include <weir/base/text.hpp>

#include <google/protobuf/stubs/logging.h>

namespace weir::sessions {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("both sides identify each other after the hellos, however the bytes are cut") {
  const std::size_t cut = GENERATE(std::size_t{1}, std::size_t{33}, SIZE_MAX);
  Farm farm;
  farm.connector.tag = 99;
  farm.connector.tick(farm.network, farm.now);
  farm.network.run(cut);
  REQUIRE(farm.connector.ready());
  CHECK(farm.connector.peer().tag == 99);
  CHECK(farm.at_listener.ready == 1);
  CHECK(farm.at_connector.ready == 1);

  const PeerInfo& seen = farm.at_connector.info;
  CHECK(seen.role == Role::readout);
  CHECK(seen.name == "readout-3");
  CHECK(seen.index == NodeIndex(3));
  CHECK(seen.run == RunNumber(42));
  CHECK(seen.incarnation == Incarnation(0xfeedfacecafe0001ULL));
  CHECK(seen.farm == "test farm");
  CHECK(seen.listen == ports::Endpoint{"10.0.0.3", 7003});
  CHECK(seen.sources.empty());  // any number of them: they are not part of the hello
  CHECK(farm.at_listener.info.role == Role::dcm);
  CHECK(farm.at_listener.info.credits == 17);
  CHECK(farm.listener_counters.accepted == 1);
}

TEST_CASE("control messages and placed frames pass both ways") {
  Farm farm;
  farm.pass();
  REQUIRE(farm.connector.ready());
  farm.connector.peer().send(some_message());
  farm.connector.peer().send(some_message());
  farm.listener.peers()[0]->send(v1::Control());
  std::vector<std::byte> data;
  wire::append_frame(wire::FrameType::data, std::vector<std::byte>(100'000, std::byte{3}), data);
  farm.connector.peer().stream().append(data);
  farm.pass();
  CHECK(farm.at_listener.controls == 2);
  CHECK(farm.at_connector.controls == 1);
  CHECK(farm.at_listener.frames == 1);
  CHECK(farm.at_listener.room == std::vector<std::byte>(100'000, std::byte{3}));
  CHECK(farm.connector.peer().unsent_bytes() == 0);
}

TEST_CASE("a list of any length arrives as it was sent, however small the limit for data") {
  constexpr std::uint32_t kRows = 400'000;
  v1::Control long_list;
  const auto fill = [](auto& column) {
    for (std::uint32_t row = 0; row < kRows; ++row) column.Add(1'000'000 + row);
  };
  SECTION("Announce") { fill(*long_list.mutable_announce()->mutable_slice()); }
  SECTION("Assign, one payload of which is long") {
    fill(*long_list.mutable_assign()->mutable_slice());
    long_list.mutable_assign()->add_payload()->set_bytes(std::string(3'000'000, 'x'));
  }
  SECTION("Decide") {
    fill(*long_list.mutable_decide()->mutable_slice());
    for (std::uint32_t row = 0; row < kRows; ++row) {
      v1::Decide::Failure& failure = *long_list.mutable_decide()->add_failures();
      failure.set_index(row);
      failure.set_reason("lost");
    }
  }
  SECTION("Confirm") { fill(*long_list.mutable_confirm()->mutable_slice()); }
  SECTION("ClearSlices") { fill(*long_list.mutable_clear()->mutable_slice()); }
  SECTION("OpenSlices") { fill(*long_list.mutable_open_slices()->mutable_slice()); }
  SECTION("Settled") {
    fill(*long_list.mutable_settled()->mutable_slice());
    for (std::uint32_t row = 0; row < kRows; ++row) long_list.mutable_settled()->add_copies()->set_slice(row);
  }
  SECTION("Directory") {
    for (std::uint32_t row = 0; row < kRows; ++row)
      long_list.mutable_directory()->add_nodes()->set_name("readout-" + std::to_string(row));
  }
  SECTION("Destinations") { fill(*long_list.mutable_destinations()->add_epochs()->mutable_dcm()); }
  SECTION("Absences") {
    for (std::uint32_t row = 0; row < kRows; ++row)
      long_list.mutable_absences()->add_ranges()->set_from_order(row);
  }
  SECTION("Report") {
    for (std::uint32_t row = 0; row < kRows; ++row)
      long_list.mutable_report()->add_files()->set_path("run-000001-" + std::to_string(row));
  }
  SECTION("FarmStatus") {
    for (std::uint32_t row = 0; row < kRows; ++row)
      long_list.mutable_status()->add_nodes()->set_name(std::to_string(row));
  }
  SECTION("RunSummary") {
    for (std::uint32_t row = 0; row < kRows; ++row)
      long_list.mutable_summary()->add_nodes()->set_name(std::to_string(row));
  }
  SECTION("TriggerOffer and its answer") {
    for (std::uint32_t row = 0; row < kRows; ++row)
      long_list.mutable_trigger()->add_triggers()->set_time_ns(row);
  }
  const std::string sent = long_list.SerializeAsString();
  REQUIRE(sent.size() > wire::kControlFrameMax);

  PeerLimits limits;
  limits.frame_bytes_max = 4096;
  Farm farm(readout(), dcm(), limits);
  farm.connector_limits = limits;
  std::vector<std::string> heard;
  farm.at_listener.at_control = [&heard](Peer&, const v1::Control& message) {
    heard.push_back(message.SerializeAsString());
  };
  farm.pass();
  REQUIRE(farm.connector.ready());
  farm.connector.peer().send(some_message());
  farm.connector.peer().send(long_list);
  farm.connector.peer().send(some_message());
  farm.pass();
  REQUIRE(heard.size() == 3);
  CHECK(heard[0] == some_message().SerializeAsString());
  CHECK(heard[1] == sent);
  CHECK(heard[2] == some_message().SerializeAsString());
  CHECK(farm.connector.ready());
}

TEST_CASE("parts of a control message that do not follow each other end the connection") {
  Farm farm;
  farm.pass();
  const auto say = [&farm](std::uint32_t offset, std::uint32_t total) {
    const std::vector<std::byte> payload(10);
    wire::FrameHeader header = wire::payload_header(wire::FrameType::control, payload);
    header.offset = offset;
    header.total = total;
    std::vector<std::byte> frame(wire::kHeaderBytes);
    wire::encode_header(header, std::span<std::byte, wire::kHeaderBytes>(frame.data(), wire::kHeaderBytes));
    frame.insert(frame.end(), payload.begin(), payload.end());
    farm.connector.peer().stream().append(frame);
  };
  SECTION("the first one is missing") { say(10, 30); }
  SECTION("one in the middle is missing") {
    say(0, 40);
    say(20, 40);
  }
  SECTION("the same one again") {
    say(0, 40);
    say(0, 40);
  }
  SECTION("another total") {
    say(0, 40);
    say(10, 41);
  }
  SECTION("another message before the end") {
    say(0, 40);
    farm.connector.peer().send(some_message());
  }
  farm.network.run();
  CHECK(farm.at_listener.controls == 0);
  CHECK(farm.listener_counters.protocol_errors[wire::name(wire::WireError::bad_payload)] == 1);
}

TEST_CASE("a refusal ends a connection at any time: the frame may have been a message before a bit flipped") {
  Farm farm;
  farm.pass();
  REQUIRE(farm.connector.ready());
  std::string bytes;
  some_message().SerializeToString(&bytes);
  std::vector<std::byte> frame;
  wire::append_frame(wire::FrameType::refuse, std::as_bytes(std::span(bytes)), frame);
  farm.connector.peer().stream().append(frame);
  farm.network.run();
  CHECK(farm.at_listener.controls == 0);
  CHECK(farm.at_listener.gone == 1);
  CHECK_THAT(farm.at_listener.last_words, ContainsSubstring("refused by the peer"));
}

TEST_CASE("a peer is dropped rather than sent part of a message that is too long") {
  Farm farm;
  farm.pass();
  v1::Control message;
  message.mutable_report()->set_state(std::string(wire::kControlMessageMax, 'x'));
  farm.connector.peer().send(message);
  CHECK(farm.connector.ready());
  farm.connector.tick(farm.network, farm.now);
  CHECK(farm.at_connector.last_words == "its message is longer than a control message may be");
}

TEST_CASE("a message may follow the hello immediately") {
  Farm farm;
  farm.at_listener.at_ready = [](Peer& peer) { peer.send(some_message()); };
  farm.at_connector.at_ready = [](Peer& peer) { peer.send(some_message()); };
  farm.pass();
  CHECK(farm.at_listener.controls == 1);
  CHECK(farm.at_connector.controls == 1);
}

TEST_CASE("a foreign peer is refused with a reason that both sides receive") {
  PeerInfo guest = dcm();
  std::string expected;
  bool by_link = false;
  std::string unwanted;
  SECTION("another farm") {
    guest.farm = "other farm";
    expected = "'dcm-1' belongs to farm 'other farm', 'readout-3' to 'test farm'";
  }
  SECTION("another run") {
    guest.run = RunNumber(43);
    expected = "'dcm-1' takes part in run 43, 'readout-3' in run 42";
  }
  SECTION("no role") {
    guest.role = Role::unknown;
    expected = "'dcm-1' names no role that 'readout-3' knows";
  }
  SECTION("a role that the node does not want") {
    unwanted = "dcm-1";
    expected = "'dcm-1' is not wanted here";
  }
  SECTION("the connecting side refuses the listener") {
    by_link = true;
    expected = "'readout-3' is not wanted here";
  }
  Farm farm(readout(), guest);
  farm.at_listener.unwanted = unwanted;
  if (by_link) farm.at_connector.unwanted = "readout-3";
  farm.pass();
  const Side& refusing = by_link ? farm.at_connector : farm.at_listener;
  const Side& refused = by_link ? farm.at_listener : farm.at_connector;
  CHECK(refusing.last_words == expected);
  CHECK(refused.last_words == "refused by the peer: " + expected);
  CHECK(refusing.gone == 1);
  CHECK(refused.gone == 1);
  CHECK(refusing.ready == 0);
  CHECK((by_link ? farm.connector_counters : farm.listener_counters).refused_hello == 1);
  CHECK_FALSE(farm.connector.ready());
  CHECK(farm.listener.peers().empty());
}

TEST_CASE("a peer that takes part in any run is welcome in this one") {
  PeerInfo any = dcm();
  any.run = RunNumber(0);
  Farm farm(readout(), any);
  farm.pass();
  CHECK(farm.connector.ready());
}

TEST_CASE("another protocol version is refused with both numbers and what to do") {
  Farm farm;
  auto old = stranger(farm);
  v1::Hello hello = good_hello();
  hello.set_version(wire::kVersion + 1);
  old->say(wire::FrameType::hello, hello);
  farm.network.run();
  CHECK(old->closed == 1);
  CHECK_THAT(old->heard, ContainsSubstring("protocol version " + std::to_string(wire::kVersion + 1) +
                                           " of 'dcm-9' does not fit version " +
                                           std::to_string(wire::kVersion) + " of 'readout-3'"));
  CHECK_THAT(farm.at_listener.last_words, ContainsSubstring("install the same release on both"));
  CHECK(farm.listener_counters.refused_hello == 1);
}

TEST_CASE("a hello with numbers out of range is a protocol error") {
  Farm farm;
  v1::Hello hello = good_hello();
  SECTION("index") { hello.set_index(65536 + 1); }
  SECTION("port") { hello.set_listen_port(70'000); }
  auto liar = stranger(farm);
  liar->say(wire::FrameType::hello, hello);
  farm.network.run();
  CHECK(liar->closed == 1);
  CHECK(farm.at_listener.ready == 0);
  CHECK(farm.listener_counters.protocol_errors[wire::name(wire::WireError::bad_hello)] == 1);
}

TEST_CASE("an unknown peer's name is one line of bounded length in messages") {
  Farm farm;
  v1::Hello hello = good_hello();
  hello.set_farm("x");
  std::string name = "evil\n2026 all is well\033[2J";
  for (int i = 0; i < 1000; ++i) name += "\u00e9";
  hello.set_name(name);
  auto liar = stranger(farm);
  liar->say(wire::FrameType::hello, hello);
  farm.network.run();
  CHECK(farm.at_listener.last_words.size() < 700);
  CHECK_THAT(farm.at_listener.last_words, ContainsSubstring("'evil\\n2026 all is well\\x1b[2J\u00e9"));
  CHECK_THAT(liar->heard, ContainsSubstring("bytes more]' belongs to farm 'x'"));
}

TEST_CASE("a hello with invalid UTF-8 is refused with a reason, and Protocol Buffers prints nothing") {
  static int printed;
  printed = 0;
  auto* before = google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string&) { ++printed; });
  Farm farm;
  v1::Hello hello = good_hello();
  SECTION("name") { hello.set_name("\xff\"dcm-9"); }
  SECTION("farm") { hello.set_farm("test farm\xc3"); }
  SECTION("software") { hello.set_software("weir \xed\xa0\x80"); }
  SECTION("host") { hello.set_listen_host("\x80"); }
  auto liar = stranger(farm);
  liar->say(wire::FrameType::hello, hello);
  farm.network.run();
  google::protobuf::SetLogHandler(before);
  CHECK(printed == 0);
  CHECK(farm.at_listener.ready == 0);
  CHECK(farm.listener_counters.refused_hello == 1);
  CHECK_THAT(farm.at_listener.last_words, ContainsSubstring("text is UTF-8"));
  CHECK(utf8_prefix(farm.at_listener.last_words) == farm.at_listener.last_words.size());
  CHECK(farm.at_listener.last_words.find('"') == std::string::npos);
}

TEST_CASE("a silent peer is dropped after the timeout, and not before") {
  Farm farm;
  auto mute = stranger(farm);
  farm.connector.stop();
  farm.pass(farm.limits.hello_timeout_ns - 2 * kMillisecond);
  CHECK(mute->closed == 0);
  farm.pass(2 * kMillisecond);
  farm.pass();
  CHECK(mute->closed == 1);
  CHECK(farm.listener_counters.silent == 1);
  CHECK(farm.at_listener.last_words == "no hello in time");
  CHECK(farm.listener.peers().empty());
}

TEST_CASE("garbage closes the sender's connection, is counted, and affects no other peer") {
  Farm farm;
  farm.pass();
  REQUIRE(farm.connector.ready());
  auto noisy = stranger(farm);
  std::string error;
  SECTION("no frame at all") {
    noisy->stream->append(std::vector<std::byte>(100, std::byte{0xff}));
    error = wire::name(wire::WireError::unknown_type);
  }
  SECTION("a control message before the hello") {
    noisy->say(wire::FrameType::control, some_message());
    error = wire::name(wire::WireError::not_expected);
  }
  SECTION("data before the hello") {
    noisy->say(wire::FrameType::data, some_message());
    error = wire::name(wire::WireError::not_expected);
  }
  SECTION("a hello that is none") {
    std::vector<std::byte> frame;
    wire::append_frame(wire::FrameType::hello, std::vector<std::byte>(20, std::byte{0xff}), frame);
    noisy->stream->append(frame);
    error = wire::name(wire::WireError::bad_hello);
  }
  SECTION("a hello that was damaged") {
    std::vector<std::byte> frame;
    wire::append_frame(wire::FrameType::hello, std::vector<std::byte>(20, std::byte{0}), frame);
    frame.back() = std::byte{1};
    noisy->stream->append(frame);
    error = wire::name(wire::WireError::bad_checksum);
  }
  SECTION("two hellos") {
    noisy->say(wire::FrameType::hello, good_hello());
    noisy->say(wire::FrameType::hello, good_hello());
    error = wire::name(wire::WireError::not_expected);
  }
  SECTION("a frame longer than a stranger may send") {
    wire::FrameHeader header;
    header.type = wire::FrameType::hello;
    header.length = 1U << 20;
    std::vector<std::byte> frame(wire::kHeaderBytes);
    wire::encode_header(header, std::span<std::byte, wire::kHeaderBytes>(frame.data(), wire::kHeaderBytes));
    noisy->stream->append(frame);
    error = wire::name(wire::WireError::too_long);
  }
  farm.network.run();
  CHECK(noisy->closed == 1);
  CHECK(farm.at_listener.last_words == error);
  REQUIRE(farm.listener_counters.protocol_errors.size() == 1);
  CHECK(farm.listener_counters.protocol_errors.begin()->first == error);
  CHECK(farm.listener_counters.protocol_errors.begin()->second == 1);
  farm.pass();
  CHECK(farm.listener.peers().size() == 1);
  CHECK(farm.connector.ready());
}

TEST_CASE(
    "a listener accepts connections_max connections, counts those beyond, and has room again when one "
    "closes") {
  PeerLimits limits;
  limits.connections_max = 2;
  Farm farm(readout(), dcm(), limits);
  farm.connector.stop();
  const auto known = [&] {
    auto peer = stranger(farm);
    peer->say(wire::FrameType::hello, good_hello());
    farm.network.run();
    return peer;
  };
  auto first = known();
  auto second = known();
  auto third = stranger(farm);
  CHECK(farm.listener_counters.refused_full == 1);
  CHECK(farm.listener_counters.accepted == 2);
  CHECK(third->closed == 1);
  first->stream->close();
  farm.pass();
  auto fourth = stranger(farm);
  CHECK(fourth->closed == 0);
  CHECK(farm.listener_counters.accepted == 3);
}

TEST_CASE("if a listener is full, the connection without a hello that has waited longest makes room") {
  PeerLimits limits;
  limits.connections_max = 3;
  Farm farm(readout(), dcm(), limits);
  farm.connector.stop();
  auto known = stranger(farm);
  known->say(wire::FrameType::hello, good_hello());
  farm.network.run();
  auto oldest = stranger(farm);
  auto other = stranger(farm);
  auto late = stranger(farm);
  late->say(wire::FrameType::hello, good_hello());
  farm.network.run();
  CHECK(known->closed == 0);
  CHECK(oldest->closed == 1);
  CHECK(other->closed == 0);
  CHECK(late->closed == 0);
  CHECK(farm.at_listener.ready == 2);
  CHECK(farm.listener_counters.refused_full == 1);
  CHECK(farm.at_listener.last_words == "another one needs the place");
  farm.pass();
  CHECK(farm.listener.peers().size() == 3);
}

TEST_CASE("the buffer of a partly placed payload is returned when its peer is lost") {
  Farm farm;
  farm.pass();
  wire::FrameHeader header;
  header.type = wire::FrameType::data;
  header.length = 1000;
  std::vector<std::byte> frame(wire::kHeaderBytes + 10);
  wire::encode_header(header, std::span<std::byte, wire::kHeaderBytes>(frame.data(), wire::kHeaderBytes));
  farm.connector.peer().stream().append(frame);
  farm.network.run();
  CHECK(farm.at_listener.abandoned == 0);
  farm.network.break_all();
  CHECK(farm.at_listener.abandoned == 1);
  CHECK(farm.at_listener.frames == 0);
  CHECK(farm.at_listener.last_words == "connection lost");
}

TEST_CASE("a peer may be dropped from inside any of its calls") {
  Farm farm;
  SECTION("when it is ready") {
    farm.at_listener.at_ready = [](Peer& peer) { peer.drop("changed my mind"); };
  }
  SECTION("when it has said something") {
    farm.at_listener.at_control = [](Peer& peer, const v1::Control&) { peer.drop("changed my mind"); };
  }
  farm.at_connector.at_ready = [](Peer& peer) {
    peer.send(some_message());
    peer.send(some_message());
  };
  farm.pass();
  CHECK(farm.at_listener.last_words == "changed my mind");
  CHECK(farm.at_listener.gone == 1);
  CHECK(farm.at_listener.controls <= 1);
  CHECK(farm.at_connector.gone == 1);
  CHECK(farm.listener.peers().empty());
  CHECK(farm.listener_counters.protocol_errors.empty());
}

TEST_CASE("a probed peer answers, and its node is not notified") {
  Farm farm;
  farm.pass();
  farm.pass();
  REQUIRE(farm.connector.ready());
  const std::uint64_t heard = farm.connector.peer().stream().counters().bytes_received;
  farm.connector.peer().ask_if_alive();
  farm.pass();
  farm.pass();
  CHECK(farm.connector.peer().stream().counters().bytes_received > heard);
  CHECK(farm.at_listener.controls == 0);
  CHECK(farm.at_connector.controls == 0);
}

TEST_CASE("a listener on a port in use reports it") {
  Farm farm;
  PeerCounters counters;
  SessionListener second(farm.listener_info, farm.at_listener, farm.limits, counters, farm.now);
  const auto opened = second.open(farm.network, farm.endpoint);
  REQUIRE_FALSE(opened.has_value());
  CHECK_THAT(opened.error(), ContainsSubstring("in use"));
  farm.listener.close();
  CHECK(second.open(farm.network, farm.endpoint).has_value());
}

TEST_CASE("a peer sends nothing before the hellos") {
  const auto broken = [] {
    Farm farm;
    farm.connector.tick(farm.network, farm.now);
    farm.connector.peer().ask_if_alive();
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: state_ == State::ready"));
}

}  // namespace weir::sessions
