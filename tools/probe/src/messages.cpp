#include "messages.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <type_traits>

namespace weir::probe {
namespace {

constexpr std::uint32_t kDatagramMagic = 0x31425057;  // "WPB1"

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}
  template <class... Fields>
  void operator()(Fields&... fields) {
    (one(fields), ...);
  }

 private:
  template <class T>
  void number(T value) {
    const std::size_t at = out_.size();
    out_.resize(at + sizeof(T));
    store_le(out_.data() + at, value);
  }
  template <class T>
  void one(const T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
      number(static_cast<std::uint8_t>(value));
    } else {
      number(value);
    }
  }
  template <std::size_t kSize>
  void one(const std::array<std::byte, kSize>& bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void one(const std::string& text) {
    const std::size_t size = std::min(text.size(), kTextBytesMax);
    number(static_cast<std::uint16_t>(size));
    const ConstBytes bytes = std::as_bytes(std::span(text)).first(size);
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void one(std::vector<WindowSample>& samples) {
    WEIR_ASSERT(samples.size() <= kSamplesOfMessage);
    number(static_cast<std::uint16_t>(samples.size()));
    for (WindowSample& sample : samples) sample.fields(*this);
  }

  std::vector<std::byte>& out_;
};

class Reader {
 public:
  explicit Reader(ConstBytes bytes) : rest_(bytes) {}
  template <class... Fields>
  void operator()(Fields&... fields) {
    (one(fields), ...);
  }
  [[nodiscard]] bool all_read() const { return good_ && rest_.empty(); }

 private:
  // Returns nothing if fewer bytes are left, now and from then on.
  ConstBytes take(std::size_t bytes) {
    good_ = good_ && bytes <= rest_.size();
    if (!good_) return {};
    const ConstBytes taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  template <class T>
  void number(T& value) {
    const ConstBytes bytes = take(sizeof(T));
    if (good_) value = load_le<T>(bytes.data());
  }
  template <class T>
  void one(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t raw = 0;
      number(raw);
      good_ = good_ && raw <= 1;
      value = raw == 1;
    } else if constexpr (std::is_same_v<T, IdleRestart>) {
      std::uint8_t raw = 0;
      number(raw);
      good_ = good_ && raw <= static_cast<std::uint8_t>(IdleRestart::off);
      if (good_) value = static_cast<IdleRestart>(raw);
    } else {
      number(value);
    }
  }
  template <std::size_t kSize>
  void one(std::array<std::byte, kSize>& bytes) {
    const ConstBytes taken = take(kSize);
    if (good_) std::copy(taken.begin(), taken.end(), bytes.begin());
  }
  void one(std::string& text) {
    std::uint16_t size = 0;
    number(size);
    good_ = good_ && size <= kTextBytesMax;
    const ConstBytes taken = take(size);
    if (good_) text.assign(reinterpret_cast<const char*>(taken.data()), taken.size());
  }
  void one(std::vector<WindowSample>& samples) {
    std::uint16_t count = 0;
    number(count);
    good_ = good_ && count <= kSamplesOfMessage;
    for (std::uint16_t i = 0; good_ && i < count; ++i) samples.emplace_back().fields(*this);
  }

  ConstBytes rest_;
  bool good_ = true;
};

std::string above(const char* what, std::uint64_t value, std::uint64_t limit) {
  if (value <= limit) return {};
  return std::to_string(value) + " " + what + " are above the limit of " + std::to_string(limit);
}

}  // namespace

std::string refusal_of(const Request& request) {
  return above("bytes of a response", request.response_bytes, kResponseBytesMax);
}

std::string refusal_of(const StreamRequest& stream) {
  if (stream.payload_bytes < kDatagramHeaderBytes || stream.payload_bytes > kDatagramBytesMax)
    return "datagrams have " + std::to_string(kDatagramHeaderBytes) + " to " +
           std::to_string(kDatagramBytesMax) + " bytes, not " + std::to_string(stream.payload_bytes);
  for (const std::string& why : {above("datagrams", stream.count_max, kStreamCountMax),
                                 above("us of datagrams", stream.length_us, kStreamLengthUsMax),
                                 above("ns between datagrams", stream.spacing_ns, kSpacingNsMax)})
    if (!why.empty()) return why;
  return {};
}

std::string refusal_of(const Burst& burst) {
  if (burst.message_bytes == 0) return "a message has at least one byte";
  const std::string bytes = above("bytes of a message", burst.message_bytes, kMessageBytesMax);
  return bytes.empty() ? above("messages", burst.count, kMessagesMax) : bytes;
}

template <class Message>
std::vector<std::byte> encode(const Message& message) {
  std::vector<std::byte> out(kHeaderBytes);
  Writer writer(out);
  Message copy = message;  // fields() serves both directions
  copy.fields(writer);
  const std::size_t body = out.size() - kHeaderBytes;
  WEIR_ASSERT(body <= kBodyBytesMax);
  store_le(out.data(), static_cast<std::uint32_t>(body));
  out[kHeaderBytes - 1] = static_cast<std::byte>(Message::kType);
  return out;
}

template <class Message>
std::optional<Message> decode(ConstBytes body) {
  Message message;
  Reader reader(body);
  message.fields(reader);
  if (!reader.all_read()) return std::nullopt;
  return message;
}

#define WEIR_PROBE_MESSAGE(Message)                                \
  template std::vector<std::byte> encode<Message>(const Message&); \
  template std::optional<Message> decode<Message>(ConstBytes)
WEIR_PROBE_MESSAGE(Hello);
WEIR_PROBE_MESSAGE(ProofMessage);
WEIR_PROBE_MESSAGE(Acceptance);
WEIR_PROBE_MESSAGE(Refused);
WEIR_PROBE_MESSAGE(Settings);
WEIR_PROBE_MESSAGE(Done);
WEIR_PROBE_MESSAGE(Request);
WEIR_PROBE_MESSAGE(WindowWatch);
WEIR_PROBE_MESSAGE(WindowSamples);
WEIR_PROBE_MESSAGE(StreamRequest);
WEIR_PROBE_MESSAGE(StreamEnd);
WEIR_PROBE_MESSAGE(Burst);
WEIR_PROBE_MESSAGE(BurstEnd);
#undef WEIR_PROBE_MESSAGE

std::optional<MessageHeader> decode_header(ConstBytes header) {
  WEIR_ASSERT(header.size() >= kHeaderBytes);
  const auto bytes = load_le<std::uint32_t>(header.data());
  const auto type = static_cast<std::uint8_t>(header[kHeaderBytes - 1]);
  if (type < static_cast<std::uint8_t>(MessageType::hello) ||
      type > static_cast<std::uint8_t>(MessageType::burst_end))
    return std::nullopt;
  const MessageHeader decoded{bytes, static_cast<MessageType>(type)};
  const std::size_t most = decoded.type == MessageType::window_samples ? kBodyBytesMax : kSmallBodyBytesMax;
  if (bytes > most) return std::nullopt;
  return decoded;
}

void encode_datagram(const Datagram& datagram, Bytes out) {
  WEIR_ASSERT(out.size() >= kDatagramHeaderBytes);
  store_le(out.data(), kDatagramMagic);
  store_le(out.data() + 4, static_cast<std::uint32_t>(datagram.kind));
  std::copy(datagram.token.begin(), datagram.token.end(), out.begin() + 8);
  store_le(out.data() + 24, datagram.stream);
  store_le(out.data() + 28, datagram.sequence);
  store_le(out.data() + 32, static_cast<std::uint64_t>(datagram.sent_ns));
  store_le(out.data() + 40, static_cast<std::uint64_t>(datagram.echo_sent_ns));
  store_le(out.data() + 48, static_cast<std::uint64_t>(datagram.echo_arrived_ns));
}

std::optional<Datagram> decode_datagram(ConstBytes bytes) {
  if (bytes.size() < kDatagramHeaderBytes) return std::nullopt;
  if (load_le<std::uint32_t>(bytes.data()) != kDatagramMagic) return std::nullopt;
  const auto kind = load_le<std::uint32_t>(bytes.data() + 4);
  if (kind < static_cast<std::uint32_t>(DatagramKind::echo) ||
      kind > static_cast<std::uint32_t>(DatagramKind::stream))
    return std::nullopt;
  Datagram datagram;
  datagram.kind = static_cast<DatagramKind>(kind);
  std::copy_n(bytes.begin() + 8, kTokenBytes, datagram.token.begin());
  datagram.stream = load_le<std::uint32_t>(bytes.data() + 24);
  datagram.sequence = load_le<std::uint32_t>(bytes.data() + 28);
  datagram.sent_ns = static_cast<UtcNs>(load_le<std::uint64_t>(bytes.data() + 32));
  datagram.echo_sent_ns = static_cast<UtcNs>(load_le<std::uint64_t>(bytes.data() + 40));
  datagram.echo_arrived_ns = static_cast<UtcNs>(load_le<std::uint64_t>(bytes.data() + 48));
  return datagram;
}

}  // namespace weir::probe
