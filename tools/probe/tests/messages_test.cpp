#include "messages.hpp"

#include "weir_catch.hpp"

#include <algorithm>

namespace weir::probe {
namespace {

template <class Message>
std::optional<Message> again(const Message& message) {
  const std::vector<std::byte> bytes = encode(message);
  const auto header = decode_header(bytes);
  REQUIRE(header);
  CHECK(header->type == Message::kType);
  CHECK(header->body_bytes == bytes.size() - kHeaderBytes);
  const ConstBytes body = ConstBytes(bytes).subspan(kHeaderBytes);
  if (!body.empty()) CHECK_FALSE(decode<Message>(body.first(body.size() - 1)));
  std::vector<std::byte> longer(body.begin(), body.end());
  longer.emplace_back();
  CHECK_FALSE(decode<Message>(longer));
  return decode<Message>(body);
}

TEST_CASE("messages arrive as they were sent, and neither shorter nor longer") {
  Hello hello;
  hello.has_key = true;
  hello.nonce.fill(std::byte{7});
  CHECK(again(hello)->nonce == hello.nonce);
  CHECK(again(ProofMessage{"2026-01-31", {}})->key == "2026-01-31");
  CHECK(again(Acceptance{{}, 9000, IdleRestart::off, true})->idle_restart == IdleRestart::off);
  CHECK(again(Refused{"busy"})->why == "busy");
  CHECK(again(Settings{65536, IdleRestart::on, "reno"})->congestion_control == "reno");
  CHECK(again(Done{}));
  CHECK(again(Request{1000000, {}})->response_bytes == 1000000);
  CHECK(again(WindowWatch{true})->begins);
  CHECK(again(StreamRequest{3, 1472, 100, 200, 300, true, false})->spacing_ns == 300);
  CHECK(again(StreamEnd{1, 2, 3, 4, true})->last_sent_ns == 4);
  CHECK(again(Burst{64, 10})->count == 10);
  CHECK(again(BurstEnd{5})->cpu_ns == 5);
  const std::vector<WindowSample> samples{{1000, 10, 4, 250, 0}, {2000, 12, 5, 260, 1}};
  CHECK(again(WindowSamples{samples, 9, true})->samples == samples);
}

TEST_CASE("a request has 64 bytes, and a full message of samples fits") {
  CHECK(encode(Request{}).size() == 64);
  WindowSamples full;
  full.samples.resize(kSamplesOfMessage);
  CHECK(again(full)->samples.size() == kSamplesOfMessage);
}

TEST_CASE("headers with unknown types or long bodies are refused") {
  const auto header = [](std::uint32_t bytes, std::uint8_t type) {
    std::array<std::byte, kHeaderBytes> out{};
    store_le(out.data(), bytes);
    out.back() = std::byte{type};
    return decode_header(out);
  };
  CHECK(header(kSmallBodyBytesMax, 1));
  CHECK_FALSE(header(kSmallBodyBytesMax + 1, 1));
  CHECK(header(kBodyBytesMax, static_cast<std::uint8_t>(MessageType::window_samples)));
  CHECK_FALSE(header(kBodyBytesMax + 1, static_cast<std::uint8_t>(MessageType::window_samples)));
  CHECK_FALSE(header(0, 0));
  CHECK_FALSE(header(0, 14));
  CHECK_FALSE(header(UINT32_MAX, 1));
}

TEST_CASE("texts, flags and counts beyond their limits are refused") {
  std::vector<std::byte> text(2 + kTextBytesMax + 1);
  store_le(text.data(), static_cast<std::uint16_t>(kTextBytesMax + 1));
  CHECK_FALSE(decode<Refused>(text));
  CHECK_FALSE(decode<WindowWatch>(std::vector{std::byte{2}}));
  std::vector<std::byte> samples(2);
  store_le(samples.data(), std::uint16_t{UINT16_MAX});
  CHECK_FALSE(decode<WindowSamples>(samples));
}

TEST_CASE("a server refuses requests above its limits, and names the limit") {
  CHECK(refusal_of(Request{kResponseBytesMax, {}}).empty());
  CHECK_THAT(refusal_of(Request{kResponseBytesMax + 1, {}}), Catch::ContainsSubstring("268435456"));
  StreamRequest stream{1, 1472, kStreamCountMax, kStreamLengthUsMax, kSpacingNsMax, false, true};
  CHECK(refusal_of(stream).empty());
  stream.payload_bytes = kDatagramHeaderBytes - 1;
  CHECK_FALSE(refusal_of(stream).empty());
  stream.payload_bytes = kDatagramBytesMax + 1;
  CHECK_FALSE(refusal_of(stream).empty());
  CHECK_FALSE(refusal_of(StreamRequest{1, 64, kStreamCountMax + 1, 1, 1, false, false}).empty());
  CHECK_FALSE(refusal_of(StreamRequest{1, 64, 1, kStreamLengthUsMax + 1, 1, false, false}).empty());
  CHECK_FALSE(refusal_of(StreamRequest{1, 64, 1, 1, kSpacingNsMax + 1, false, false}).empty());
  CHECK(refusal_of(Burst{kMessageBytesMax, kMessagesMax}).empty());
  CHECK_FALSE(refusal_of(Burst{0, 1}).empty());
  CHECK_FALSE(refusal_of(Burst{kMessageBytesMax + 1, 1}).empty());
  CHECK_FALSE(refusal_of(Burst{1, kMessagesMax + 1}).empty());
}

TEST_CASE("datagrams arrive as they were sent; others are refused") {
  Datagram datagram{DatagramKind::answer, {}, 3, 4, 5, 6, 7};
  datagram.token.fill(std::byte{9});
  std::vector<std::byte> bytes(64);
  encode_datagram(datagram, bytes);
  const auto decoded = decode_datagram(bytes);
  REQUIRE(decoded);
  CHECK(decoded->token == datagram.token);
  CHECK(decoded->stream == 3);
  CHECK(decoded->sequence == 4);
  CHECK(decoded->sent_ns == 5);
  CHECK(decoded->echo_sent_ns == 6);
  CHECK(decoded->echo_arrived_ns == 7);
  CHECK_FALSE(decode_datagram(ConstBytes(bytes).first(kDatagramHeaderBytes - 1)));
  bytes[4] = std::byte{4};
  CHECK_FALSE(decode_datagram(bytes));
  bytes[4] = std::byte{1};
  bytes[0] ^= std::byte{1};
  CHECK_FALSE(decode_datagram(bytes));
}

}  // namespace
}  // namespace weir::probe
