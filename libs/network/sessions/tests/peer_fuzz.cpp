#include "memory_network.hpp"
#include <weir/base/assert.hpp>
#include <weir/sessions/listener.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

// The input is sent to a listener. Its first byte chooses the beginning: with or without a good hello, at a
// listener with or without a secret key. Then follow raw bytes, or frames, each as a type, a length in two
// bytes and a payload, with a correct checksum, so that the fuzzer gets past it. The second byte limits the
// size of a receive.
namespace {

using namespace weir;
using namespace weir::sessions;

constexpr std::size_t kHeadBytes = 2;
constexpr unsigned kGoodHello = 1;
constexpr unsigned kFramed = 2;
constexpr unsigned kKeyed = 4;
constexpr std::size_t kSentenceBytesMax = 4096;  // of an unknown peer's text in logs

struct Room final : PeerHandler {
  std::string check_hello(const PeerInfo& info) override {
    look_at(info.name);
    look_at(info.farm);
    look_at(info.listen.host);
    return info.index.value > 1000 ? "there is no such node" : "";
  }
  void on_ready(Peer& peer) override {
    ++ready;
    WEIR_ASSERT(peer.ready() && peer.info().role != Role::unknown);
  }
  void on_gone(Peer& peer, std::string_view why) override {
    ++gone;
    WEIR_ASSERT(peer.gone());
    look_at(why);
  }
  wire::PayloadPlace on_header(Peer& peer, const wire::FrameHeader& header) override {
    WEIR_ASSERT(peer.ready());
    if (header.type == wire::FrameType::fragment) return {wire::PayloadPlace::Kind::discard, nullptr};
    if (header.type == wire::FrameType::stored) return {wire::PayloadPlace::Kind::whole, nullptr};
    return {};
  }
  Expected<void, wire::WireError> on_frame(Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override {
    WEIR_ASSERT(peer.ready());
    if (header.type == wire::FrameType::stored) (void)wire::parse_slice_entries(payload);
    return {};
  }
  Expected<void, wire::WireError> on_control(Peer& peer, const v1::Control& message) override {
    WEIR_ASSERT(peer.ready());
    // As a node may do while it handles a message.
    if (message.has_end_run()) peer.drop("the end");
    if (peer.ready()) peer.send(message);
    return {};
  }
  static void look_at(std::string_view text) {
    WEIR_ASSERT(text.size() <= kSentenceBytesMax);
    WEIR_ASSERT(std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }));
  }
  int ready = 0;
  int gone = 0;
};

struct Somebody final : ports::StreamHandler {
  ports::ReceiveSpace receive_space() override { return {Bytes(space), Bytes{}}; }
  bool on_received(std::size_t) override { return true; }
  void on_closed(ports::CloseReason) override {}
  std::vector<std::byte> space = std::vector<std::byte>(4096);
  std::unique_ptr<ports::Stream> stream;
};

PeerInfo self() {
  PeerInfo info;
  info.role = Role::supervisor;
  info.name = "supervisor";
  info.farm = "fuzz";
  info.run = RunNumber(3);
  return info;
}

// An authenticator with a key that no client has.
struct Strict final : ports::Authenticator {
  [[nodiscard]] ports::Nonce make_nonce() const override { return {}; }
  [[nodiscard]] ports::Proof prove(ports::ConnectionSide, const ports::Hellos&) const override { return {}; }
  [[nodiscard]] ports::ProofVerdict check(ports::ConnectionSide, const ports::Hellos& hellos,
                                          const ports::Proof& proof) const override {
    WEIR_ASSERT(!hellos.connecting.empty() && !hellos.listening.empty());
    return proof.key.empty() ? ports::ProofVerdict::unknown_key : ports::ProofVerdict::wrong;
  }
};

std::vector<std::byte> good_hello(bool with_nonce) {
  v1::Hello hello;
  if (with_nonce) hello.set_nonce(std::string(ports::kNonceBytes, 'n'));
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_DCM);
  hello.set_name("dcm-0");
  hello.set_farm("fuzz");
  const std::string payload = hello.SerializeAsString();
  std::vector<std::byte> frame;
  wire::append_frame(wire::FrameType::hello, std::as_bytes(std::span(payload)), frame);
  return frame;
}

std::vector<std::byte> framed(ConstBytes input) {
  std::vector<std::byte> out;
  constexpr std::size_t kFrameHead = 3;
  while (input.size() >= kFrameHead) {
    const auto type = static_cast<wire::FrameType>(input[0]);
    const std::size_t length =
        std::min<std::size_t>(load_le<std::uint16_t>(input.data() + 1), input.size() - kFrameHead);
    wire::append_frame(type, input.subspan(kFrameHead, length), out);
    input = input.subspan(kFrameHead + length);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHeadBytes) return 0;
  const ConstBytes input = std::as_bytes(std::span(data, size)).subspan(kHeadBytes);
  test::MemoryNetwork network;
  const PeerInfo info = self();
  const bool keyed = (data[0] & kKeyed) != 0;
  const PeerLimits limits{1U << 20, kSecond, 4, keyed ? std::make_shared<Strict>() : nullptr};
  PeerCounters counters;
  TimeNs now = kSecond;
  Room room;
  SessionListener listener(info, room, limits, counters, now);
  const auto at = listener.open(network, {"memory", 0});
  Somebody somebody;
  somebody.stream = network.connect(*at, somebody);
  network.run();
  if ((data[0] & kGoodHello) != 0) somebody.stream->append(good_hello(keyed));
  somebody.stream->append((data[0] & kFramed) != 0 ? framed(input)
                                                   : std::vector<std::byte>(input.begin(), input.end()));
  network.run(data[1] == 0 ? SIZE_MAX : data[1]);
  if (keyed) WEIR_ASSERT(room.ready == 0);
  WEIR_ASSERT(keyed || (data[0] & kGoodHello) == 0 || room.ready == 1);
  now += 2 * kSecond;
  listener.tick();
  somebody.stream->close();
  network.run();
  listener.tick();
  WEIR_ASSERT(room.gone == 1 && listener.peers().empty());
  return 0;
}
