#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>
#include <weir/ports/authenticator.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Messages between a client and a server of `weir probe`: pure. A message on TCP is a header of five bytes
// (length of the body, 32 bits; type, 8 bits) and the body: the fields in the order of fields(),
// little-endian; a text is its length in 16 bits and its bytes. A datagram has a fixed header and filler.
namespace weir::probe {

constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 5;
constexpr std::size_t kBodyBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kSmallBodyBytesMax = 512;  // of every message but WindowSamples
constexpr std::size_t kTextBytesMax = 256;
constexpr std::size_t kSamplesOfMessage = 2000;

constexpr std::size_t kTokenBytes = 16;
using Token = std::array<std::byte, kTokenBytes>;

enum class MessageType : std::uint8_t {
  hello = 1,
  proof,
  welcome,
  refused,
  settings,
  done,
  request,
  watch,
  window_samples,
  stream,
  stream_end,
  burst,
  burst_end,
};

// The first message of both sides.
struct Hello {
  static constexpr MessageType kType = MessageType::hello;
  std::uint16_t version = kVersion;
  bool has_key = false;
  ports::Nonce nonce{};
  template <class Archive>
  void fields(Archive& archive) {
    archive(version, has_key, nonce);
  }
};

// Follows the hellos, the client's first, if both have a key.
struct ProofMessage {
  static constexpr MessageType kType = MessageType::proof;
  std::string key;
  std::array<std::byte, ports::kProofBytes> mac{};
  template <class Archive>
  void fields(Archive& archive) {
    archive(key, mac);
  }
};

enum class IdleRestart : std::uint8_t { unknown, on, off };

// The server accepts the client.
struct Acceptance {
  static constexpr MessageType kType = MessageType::welcome;
  Token token{};  // to be in each echo: shows that the client receives what is sent to its address
  std::uint32_t mtu = 0;
  IdleRestart idle_restart = IdleRestart::unknown;  // net.ipv4.tcp_slow_start_after_idle
  bool may_change_idle_restart = false;
  template <class Archive>
  void fields(Archive& archive) {
    archive(token, mtu, idle_restart, may_change_idle_restart);
  }
};

// Ends the session, from either side.
struct Refused {
  static constexpr MessageType kType = MessageType::refused;
  std::string why;
  template <class Archive>
  void fields(Archive& archive) {
    archive(why);
  }
};

// Of the server's end of this connection. Answered with Done.
struct Settings {
  static constexpr MessageType kType = MessageType::settings;
  std::uint32_t send_buffer_bytes = 0;              // 0: as it is
  IdleRestart idle_restart = IdleRestart::unknown;  // unknown: as it is
  std::string congestion_control;                   // empty: as it is
  template <class Archive>
  void fields(Archive& archive) {
    archive(send_buffer_bytes, idle_restart, congestion_control);
  }
};

struct Done {
  static constexpr MessageType kType = MessageType::done;
  template <class Archive>
  void fields(Archive&) {}
};

// Answered with this many bytes, without a header. The message has 64 bytes.
struct Request {
  static constexpr MessageType kType = MessageType::request;
  static constexpr std::size_t kFillerBytes = 64 - kHeaderBytes - sizeof(std::uint32_t);
  std::uint32_t response_bytes = 0;
  std::array<std::byte, kFillerBytes> filler{};
  template <class Archive>
  void fields(Archive& archive) {
    archive(response_bytes, filler);
  }
};

// Begins to sample the server's end of this connection each millisecond, or ends it. The end is answered with
// WindowSamples, the last of them with `more` false; the begin with Done.
struct WindowWatch {
  static constexpr MessageType kType = MessageType::watch;
  bool begins = false;
  template <class Archive>
  void fields(Archive& archive) {
    archive(begins);
  }
};

struct WindowSample {
  std::uint32_t at_us = 0;           // since the begin
  std::uint32_t window = 0;          // segments
  std::uint32_t unacknowledged = 0;  // segments
  std::uint32_t round_trip_us = 0;   // smoothed
  std::uint32_t retransmitted = 0;   // segments since the connection began
  bool operator==(const WindowSample&) const = default;
  template <class Archive>
  void fields(Archive& archive) {
    archive(at_us, window, unacknowledged, round_trip_us, retransmitted);
  }
};

struct WindowSamples {
  static constexpr MessageType kType = MessageType::window_samples;
  std::vector<WindowSample> samples;  // up to kSamplesOfMessage
  std::uint32_t left_out = 0;
  bool more = false;
  template <class Archive>
  void fields(Archive& archive) {
    archive(samples, left_out, more);
  }
};

// Asks for numbered datagrams to the address of the last echo, in the given time at most. Answered with
// StreamEnd.
struct StreamRequest {
  static constexpr MessageType kType = MessageType::stream;
  std::uint32_t id = 0;
  std::uint16_t payload_bytes = 0;
  std::uint32_t count_max = 0;
  std::uint32_t length_us = 0;
  std::uint32_t spacing_ns = 0;  // 0: as fast as possible
  // False: sends only while the host's own output queue is short, so that frames wait behind it.
  bool fill_own_queue = false;
  // Passes several datagrams to the kernel in one call, which a slow host needs; a virtual device may then
  // queue them as one.
  bool in_batches = false;
  template <class Archive>
  void fields(Archive& archive) {
    archive(id, payload_bytes, count_max, length_us, spacing_ns, fill_own_queue, in_batches);
  }
};

struct StreamEnd {
  static constexpr MessageType kType = MessageType::stream_end;
  std::uint32_t sent = 0;
  std::uint32_t dropped_by_sender = 0;
  std::uint64_t first_sent_ns = 0;  // UTC
  std::uint64_t last_sent_ns = 0;
  bool held_up = false;
  template <class Archive>
  void fields(Archive& archive) {
    archive(sent, dropped_by_sender, first_sent_ns, last_sent_ns, held_up);
  }
};

// Asks for messages of filler, each by one call. BurstEnd follows them.
struct Burst {
  static constexpr MessageType kType = MessageType::burst;
  std::uint32_t message_bytes = 0;
  std::uint32_t count = 0;
  template <class Archive>
  void fields(Archive& archive) {
    archive(message_bytes, count);
  }
};

struct BurstEnd {
  static constexpr MessageType kType = MessageType::burst_end;
  std::uint64_t cpu_ns = 0;  // of the sending thread
  template <class Archive>
  void fields(Archive& archive) {
    archive(cpu_ns);
  }
};

// Limits of a client's requests.
constexpr std::uint32_t kResponseBytesMax = std::uint32_t{256} << 20U;
constexpr std::uint32_t kMessageBytesMax = std::uint32_t{1} << 20U;
constexpr std::uint32_t kMessagesMax = 1'000'000;
constexpr std::uint32_t kStreamLengthUsMax = 5'000'000;
constexpr std::uint32_t kStreamCountMax = 5'000'000;
constexpr std::uint32_t kSpacingNsMax = 1'000'000'000;

// Returns why the server refuses it; empty: it does not.
[[nodiscard]] std::string refusal_of(const Request& request);
[[nodiscard]] std::string refusal_of(const StreamRequest& stream);
[[nodiscard]] std::string refusal_of(const Burst& burst);

// Returns header and body.
template <class Message>
[[nodiscard]] std::vector<std::byte> encode(const Message& message);
// Returns nullopt unless the body is exactly such a message.
template <class Message>
[[nodiscard]] std::optional<Message> decode(ConstBytes body);

struct MessageHeader {
  std::uint32_t body_bytes = 0;
  MessageType type = MessageType::hello;
};
// Returns nullopt for an unknown type or a body that is too long for it. Requires: kHeaderBytes bytes.
[[nodiscard]] std::optional<MessageHeader> decode_header(ConstBytes header);

enum class DatagramKind : std::uint8_t { echo = 1, answer, stream };
struct Datagram {
  DatagramKind kind = DatagramKind::echo;
  Token token{};
  std::uint32_t stream = 0;
  std::uint32_t sequence = 0;
  UtcNs sent_ns = 0;          // by the clock of who sends this datagram
  UtcNs echo_sent_ns = 0;     // of an answer: by the client's clock
  UtcNs echo_arrived_ns = 0;  // of an answer: by the server's clock
};
constexpr std::size_t kDatagramHeaderBytes = 56;
constexpr std::size_t kDatagramBytesMax = 8972;  // of jumbo frames

// Writes the header. Requires: kDatagramHeaderBytes bytes.
void encode_datagram(const Datagram& datagram, Bytes out);
// Returns nullopt unless the bytes begin with a header of this version.
[[nodiscard]] std::optional<Datagram> decode_datagram(ConstBytes bytes);

}  // namespace weir::probe
