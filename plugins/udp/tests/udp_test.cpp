// Real datagrams on the loopback, through the host that runs the plugin.
#include "weir_catch.hpp"
#include <weir/packets/packet.hpp>
#include <weir/source_host/instance.hpp>

#include <arpa/inet.h>
#include <map>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::source_host;

namespace {

struct Received final : Arrivals {
  source::Delivery on_fragment(SourceId source, SliceId slice, source::SourceFragment fragment,
                               const Stamp& stamp) override {
    fragments.push_back({source, slice, std::move(fragment), stamp});
    return source::Delivery::taken;
  }
  void on_watermark(SourceId, SliceId slice, MissingReason reason) override {
    marks.emplace_back(slice.value, reason);
  }
  void on_losses(std::optional<SourceId> source, std::uint64_t reached, std::uint64_t lost,
                 std::string_view reason) override {
    const std::string of = source ? std::to_string(source->value) : "all";
    losses[of] += reached;
    losses[of + " " + std::string(reason)] += lost;
  }
  void on_fault(std::string_view text) override { faults.emplace_back(text); }
  struct One {
    SourceId source;
    SliceId slice;
    source::SourceFragment fragment;
    Stamp stamp;
  };
  std::map<std::string, std::uint64_t> losses;  // "3": reached, "3 stale": lost
  std::vector<std::string> faults;
  std::vector<One> fragments;
  std::vector<std::pair<std::uint64_t, MissingReason>> marks;
};

class Bench {
 public:
  explicit Bench(const std::string& name = {}, const std::string& value = {}) {
    const auto plugin = SourcePlugin::load("udp", {WEIR_PLUGIN_DIR});
    if (!plugin) FAIL(plugin.error().text);
    InstanceConfig config;
    if (!name.empty()) config.parameters.emplace_back(name, value);
    config.parameters.emplace_back("port", "0");
    config.sources = {SourceId(3), SourceId(4)};
    config.log = [this](std::int32_t, std::string_view text) { log += std::string(text) + "\n"; };
    auto made = SourceInstance::create(*plugin, std::move(config), received);
    if (!made) {
      error = made.error().text;
      return;
    }
    instance = *made;
    REQUIRE(instance->begin_run(RunNumber(1), SliceId(0)));
    sockaddr_in at{};
    socklen_t size = sizeof at;
    REQUIRE(::getsockname(instance->fd(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
    at_ = at;
    sender_ = connected();
  }
  // Sends from another address from now on, as a restarted front-end does.
  void change_address() {
    ::close(other_);
    other_ = std::exchange(sender_, connected());
  }
  // Sends from the previous address from now on.
  void swap_addresses() { std::swap(sender_, other_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    if (sender_ >= 0) ::close(sender_);
    if (other_ >= 0) ::close(other_);
    if (instance) instance->detach();
  }

  void send(const std::vector<std::byte>& datagram) const {
    (void)::send(sender_, datagram.data(), datagram.size(), 0);
  }
  void send(packets::Packet packet, std::size_t bytes) const {
    const std::vector<std::byte> payload(bytes, std::byte{0x5a});
    packet.payload = payload;
    const std::size_t header = packets::header_bytes(packet);
    std::vector<std::byte> out(header + bytes);
    packets::encode_header(packet, std::span(out).first(header));
    std::copy(payload.begin(), payload.end(), out.begin() + static_cast<std::ptrdiff_t>(header));
    send(out);
  }
  void poll(TimeNs now) const { instance->poll(now); }
  std::uint64_t count(const std::string& name) const { return instance->counters()[name]; }

  Received received;
  std::string log;
  std::string error;
  std::shared_ptr<SourceInstance> instance;

 private:
  [[nodiscard]] int connected() const {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    REQUIRE(::connect(socket, reinterpret_cast<const sockaddr*>(&at_), sizeof at_) == 0);
    return socket;
  }
  sockaddr_in at_{};
  int sender_ = -1;
  int other_ = -1;
};

packets::Packet part(std::uint64_t slice, std::uint32_t sequence, std::uint32_t total,
                     std::uint32_t offset = 0) {
  packets::Packet packet;
  packet.source = SourceId(3);
  packet.slice = SliceId(slice);
  packet.sequence = sequence;
  packet.total = total;
  packet.offset = offset;
  packet.closes = offset > 0 || total <= 1000;
  return packet;
}

}  // namespace

TEST_CASE("the stamp of any of its packets comes with the fragment") {
  Bench bench;
  const Stamp stamp{true, true, 77, -5, 1000};
  packets::Packet first = part(1, 0, 2000);
  packets::Packet second = part(1, 1, 2000, 1000);
  second.stamp = stamp;
  bench.send(first, 1000);
  bench.send(second, 1000);
  bench.send(part(2, 2, 10), 10);
  bench.poll(1);
  REQUIRE(bench.received.fragments.size() == 2);
  CHECK(bench.received.fragments[0].stamp == stamp);
  CHECK(bench.received.fragments[0].fragment.bytes.size() == 2000);
  CHECK_FALSE(bench.received.fragments[1].stamp.any());
}

TEST_CASE("datagrams become fragments, their loss a gap") {
  Bench bench;
  bench.send(part(1, 0, 2000, 0), 1000);
  bench.send(part(1, 1, 2000, 1000), 1000);
  bench.send(part(2, 2, 2000, 0), 1000);  // its rest, 3, is lost
  bench.send(part(3, 4, 10, 0), 10);
  bench.poll(kSecond);
  REQUIRE(bench.received.fragments.size() == 2);
  CHECK(bench.received.fragments[0].slice == SliceId(1));
  CHECK(bench.received.fragments[0].fragment.bytes.size() == 2000);
  CHECK(bench.received.fragments[0].fragment.bytes[1999] == std::byte{0x5a});
  CHECK(bench.received.fragments[1].slice == SliceId(3));
  bench.poll(kSecond + 110 * kMillisecond);
  REQUIRE(bench.received.fragments.size() == 3);
  CHECK(bench.received.fragments[2].slice == SliceId(2));
  CHECK(bench.received.fragments[2].fragment.reason == MissingReason::gap);
  REQUIRE(bench.received.marks.size() == 2);
  CHECK(bench.received.marks[1] == std::pair<std::uint64_t, MissingReason>(3, MissingReason::gap));
  CHECK(bench.count("packets") == 4);
  CHECK(bench.count("packets_lost") == 1);
  CHECK(bench.count("fragments") == 2);
  CHECK(bench.count("fragments_lost") == 1);
}

TEST_CASE("garbage changes nothing but counters") {
  Bench bench;
  for (std::size_t size = 0; size < 200; ++size) bench.send(std::vector<std::byte>(size, std::byte{0xff}));
  packets::Packet elsewhere = part(1, 0, 10);
  elsewhere.source = SourceId(77);
  bench.send(elsewhere, 10);
  packets::Packet old = part(1, 0, 10);
  old.run = RunNumber(9);
  bench.send(old, 10);
  bench.send(part(1, 0, 10), 10);
  bench.poll(kSecond);
  CHECK(bench.received.fragments.size() == 1);
  CHECK(bench.count("malformed_too_short") == 48);
  CHECK(bench.count("malformed_bad_magic") == 152);
  CHECK(bench.count("unknown_source") == 1);
  CHECK(bench.count("other_run") == 1);
}

TEST_CASE("an address outside the senders is a stranger") {
  Bench bench("from", "10.1.2.3, ::1");
  bench.send(part(1, 0, 10), 10);
  bench.poll(kSecond);
  CHECK(bench.received.fragments.empty());
  CHECK(bench.count("strangers") == 1);
  Bench open("from", "127.0.0.1");
  open.send(part(1, 0, 10), 10);
  open.poll(kSecond);
  CHECK(open.received.fragments.size() == 1);
}

TEST_CASE("datagrams dropped by the kernel are counted, even if none follows") {
  Bench bench("receive_buffer", "20000");
  for (std::uint32_t i = 0; i < 2000; ++i) bench.send(part(i, i, 1000), 1000);
  for (int i = 1; i < 10; ++i) bench.poll(i * kSecond);
  CHECK(bench.count("kernel_drops") > 1000);
  CHECK(bench.count("kernel_drops") + bench.count("packets") == 2000);
  CHECK(bench.received.fragments.size() == bench.count("fragments"));
}

TEST_CASE("a port in use, an invalid host and a bad parameter are refused with the remedy") {
  Bench bench;
  sockaddr_in at{};
  socklen_t size = sizeof at;
  REQUIRE(::getsockname(bench.instance->fd(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
  const auto plugin = SourcePlugin::load("udp", {WEIR_PLUGIN_DIR});
  Received received;
  const auto error = [&](const std::string& name, const std::string& value) {
    InstanceConfig config;
    config.parameters = {{name, value}};
    config.sources = {SourceId(3)};
    const auto made = SourceInstance::create(*plugin, std::move(config), received);
    REQUIRE_FALSE(made);
    return made.error().text;
  };
  CHECK_THAT(error("port", std::to_string(ntohs(at.sin_port))),
             ContainsSubstring("cannot listen: Address already in use") &&
                 ContainsSubstring("source.parameters.port"));
  CHECK_THAT(error("port", "66000"), ContainsSubstring("is not between 0 and 65535"));
  CHECK_THAT(error("from", "nobody"), ContainsSubstring("'nobody' is not an IP address"));
  CHECK_THAT(error("prot", "1"), ContainsSubstring("unknown parameter 'prot'"));
}

TEST_CASE("a restarted front-end is reported with both addresses, and its data are accepted") {
  const std::uint32_t with_sessions = GENERATE(0U, 1U);
  CAPTURE(with_sessions);
  Bench bench;
  const auto send = [&](std::uint32_t sequence, std::uint64_t slice, std::uint32_t session) {
    packets::Packet packet = part(slice, sequence, 10);
    packet.session = session;
    bench.send(packet, 10);
  };
  for (std::uint32_t i = 0; i < 50; ++i) send(i, i, with_sessions * 4);
  bench.poll(kSecond);
  bench.change_address();
  for (std::uint32_t i = 0; i < 50; ++i) send(i, 50 + i, with_sessions * 5);
  bench.poll(kSecond + 10 * kMillisecond);
  CHECK(bench.received.fragments.size() == (with_sessions != 0 ? 100 : 93));
  CHECK(bench.count("restarts") == 1);
  CHECK(bench.count("stale") == 0);
  bench.poll(2 * kSecond);
  REQUIRE(bench.received.faults.size() == 1);
  CHECK_THAT(bench.received.faults[0], ContainsSubstring("front-end of source 3 restarted: 127.0.0.1:"));
  CHECK(bench.received.losses["3"] == 100);
  CHECK(bench.received.losses["3 unconfirmed"] == (with_sessions != 0 ? 0 : 7));
}

TEST_CASE("two front-ends with one source id are reported with both addresses, and one of them is read") {
  Bench bench;
  bench.change_address();
  for (std::uint32_t i = 0; i < 100; ++i) {
    bench.send(part(i, i, 10), 10);
    bench.swap_addresses();
    bench.send(part(i, i, 20), 20);
    bench.swap_addresses();
  }
  bench.poll(kSecond);
  bench.poll(2 * kSecond);
  CHECK(bench.received.fragments.size() == 100);
  REQUIRE(bench.received.faults.size() == 1);
  CHECK_THAT(bench.received.faults[0], ContainsSubstring("two front-ends send source 3: 127.0.0.1:") &&
                                           ContainsSubstring("is dropped"));
  CHECK(bench.received.losses["3"] == 200);
  CHECK(bench.received.losses["3 unconfirmed"] + bench.received.losses["3 second_sender"] == 100);
}

TEST_CASE("datagrams of another run or of unknown sources are reported, too") {
  Bench bench;
  packets::Packet other = part(1, 0, 10);
  other.run = RunNumber(9);
  packets::Packet stranger = part(1, 0, 10);
  stranger.source = SourceId(77);
  for (int i = 0; i < 30; ++i) bench.send(other, 10);
  for (int i = 0; i < 20; ++i) bench.send(stranger, 10);
  bench.send(part(1, 0, 10), 10);
  bench.poll(kSecond);
  CHECK(bench.received.losses["all"] == 51);
  CHECK(bench.received.losses["all other_run"] == 30);
  CHECK(bench.received.losses["all unknown_source"] == 20);
  CHECK(bench.received.losses["3"] == 1);
}
