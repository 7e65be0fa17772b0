#include "hello.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/transitions.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <google/protobuf/arena.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace weir::sessions {
namespace {

static_assert(v1::Role_ARRAYSIZE == static_cast<int>(Role::trigger) + 1);
static_assert(v1::ROLE_READOUT == static_cast<int>(Role::readout) &&
              v1::ROLE_DCM == static_cast<int>(Role::dcm) &&
              v1::ROLE_SUPERVISOR == static_cast<int>(Role::supervisor) &&
              v1::ROLE_WRITER == static_cast<int>(Role::writer) &&
              v1::ROLE_CONTROL == static_cast<int>(Role::control) &&
              v1::ROLE_TRIGGER == static_cast<int>(Role::trigger));

constexpr std::uint32_t kHelloBytesMax = 64 * 1024;
constexpr char kSoftware[] = WEIR_SOFTWARE;
constexpr std::uint32_t kProofFrameBytesMax = 512;

// Requires: ByteSizeLong() was called, and `space` has that size.
void write(const google::protobuf::MessageLite& message, Bytes space) {
  auto* begin = reinterpret_cast<std::uint8_t*>(space.data());
  const std::uint8_t* end = message.SerializeWithCachedSizesToArray(begin);
  WEIR_ASSERT(end == begin + space.size());
}

std::vector<std::byte> serialized(const google::protobuf::MessageLite& message) {
  std::vector<std::byte> payload(message.ByteSizeLong());
  write(message, payload);
  return payload;
}

std::vector<std::byte> framed(wire::FrameType type, ConstBytes payload) {
  std::vector<std::byte> frame;
  wire::append_frame(type, payload, frame);
  return frame;
}

// Writes one frame into exactly its space. Requires: ByteSizeLong() was called.
void write_frame(const v1::Control& message, Bytes space) {
  const Bytes payload = space.subspan(wire::kHeaderBytes);
  write(message, payload);
  wire::encode_header(wire::payload_header(wire::FrameType::control, payload),
                      space.first<wire::kHeaderBytes>());
}

bool parse(google::protobuf::MessageLite& message, ConstBytes payload) {
  return message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
}

// Moves a peer to a following state. None follows gone.
template <class State>
void enter(State& state, State to) {
  static constexpr Transitions kAllowed({Transition<State>{State::waiting, State::proving},
                                         {State::waiting, State::ready},
                                         {State::waiting, State::gone},
                                         {State::proving, State::ready},
                                         {State::proving, State::gone},
                                         {State::ready, State::gone}});
  WEIR_ASSERT(kAllowed.allow(state, to));
  state = to;
}

std::string_view sentence(ports::CloseReason reason) {
  switch (reason) {
    case ports::CloseReason::peer_closed:
      return "closed by the peer";
    case ports::CloseReason::reset:
      return "connection lost";
    case ports::CloseReason::refused:
      return "cannot connect";
    case ports::CloseReason::protocol_error:
      return "protocol error";
    case ports::CloseReason::local:
      return "closed here";
    case ports::CloseReason::not_trusted:
      return "no TLS connection: both sides need security.tls and the same key";
  }
  return "closed";
}

}  // namespace

// Memory for parsing messages, reused from one to the next: thousands arrive per second, most of them short.
struct Peer::Received {
  static google::protobuf::ArenaOptions over(std::array<char, 8192>& block) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block.data();
    options.initial_block_size = block.size();
    return options;
  }
  v1::Control& next() {
    arena.Reset();
    return *google::protobuf::Arena::CreateMessage<v1::Control>(&arena);
  }

  // Frees the memory of a long message at once, instead of keeping it until the next message.
  void done() {
    if (arena.SpaceAllocated() > kKept) arena.Reset();
  }

  static constexpr std::size_t kKept = 64 * 1024;
  alignas(std::max_align_t) std::array<char, 8192> block;
  google::protobuf::Arena arena{over(block)};
};

Peer::Peer(const PeerInfo& self, PeerHandler& handler, const PeerLimits& limits, PeerCounters& counters,
           TimeNs now_ns)
    : self_(self),
      handler_(handler),
      limits_(limits),
      counters_(counters),
      since_ns_(now_ns),
      parser_(kHelloBytesMax),
      received_(std::make_unique<Received>()) {}

Peer::~Peer() = default;

void Peer::connect(ports::Network& network, const ports::Endpoint& to) {
  WEIR_ASSERT(!stream_ && state_ == State::waiting);
  connecting_ = true;
  stream_ = network.connect(to, *this);
}

void Peer::adopt(std::unique_ptr<ports::Stream> accepted) { stream_ = std::move(accepted); }

void Peer::on_connected() {
  answered_ = true;
  if (connecting_) send_hello();
}

void Peer::send_hello() {
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(static_cast<v1::Role>(self_.role));
  hello.set_name(self_.name);
  hello.set_index(self_.index.value);
  hello.set_run(self_.run.value);
  hello.set_farm(self_.farm);
  hello.set_incarnation(self_.incarnation.value);
  hello.set_software(kSoftware);
  hello.set_listen_host(self_.listen.host);
  hello.set_listen_port(self_.listen.port);
  hello.set_credits(self_.credits);
  hello.set_wants_timing(self_.wants_timing);
  hello.set_burst(self_.burst);
  hello.set_heartbeats(self_.heartbeats);
  for (const ports::Endpoint& at : self_.planes) {
    v1::Address& address = *hello.add_planes();
    address.set_host(at.host);
    address.set_port(at.port);
  }
  hello.set_last_pass(self_.last_pass);
  if (limits_.authenticator) {
    const ports::Nonce nonce = limits_.authenticator->make_nonce();
    hello.set_nonce(nonce.data(), nonce.size());
  }
  own_hello_ = serialized(hello);
  stream_->append(framed(wire::FrameType::hello, own_hello_));
}

void Peer::send_proof() {
  const auto side = connecting_ ? ports::ConnectionSide::connecting : ports::ConnectionSide::listening;
  const ports::Proof proof = limits_.authenticator->prove(side, hellos());
  v1::Hello message;
  message.mutable_proof()->set_key(proof.key);
  message.mutable_proof()->set_mac(proof.mac.data(), proof.mac.size());
  stream_->append(framed(wire::FrameType::hello, serialized(message)));
}

ControlFrames frames_of(const v1::Control& message) {
  const std::size_t size = message.ByteSizeLong();
  if (size > wire::kControlMessageMax) return {{}, true};
  ControlFrames frames;
  if (size <= wire::kControlFrameMax) {
    frames.bytes.resize(wire::kHeaderBytes + size);
    write_frame(message, frames.bytes);
    return frames;
  }
  const std::vector<std::byte> whole = serialized(message);
  for (std::size_t offset = 0; offset < size; offset += wire::kControlFrameMax) {
    const ConstBytes part =
        ConstBytes(whole).subspan(offset, std::min<std::size_t>(size - offset, wire::kControlFrameMax));
    wire::FrameHeader header = wire::payload_header(wire::FrameType::control, part);
    header.offset = static_cast<std::uint32_t>(offset);
    header.total = static_cast<std::uint32_t>(size);
    const std::size_t at = frames.bytes.size();
    frames.bytes.resize(at + wire::kHeaderBytes);
    wire::encode_header(header, Bytes(frames.bytes).subspan(at).first<wire::kHeaderBytes>());
    frames.bytes.insert(frames.bytes.end(), part.begin(), part.end());
  }
  return frames;
}

void Peer::send(const v1::Control& message) {
  WEIR_ASSERT(state_ == State::ready);
  const std::size_t size = message.ByteSizeLong();
  if (size > wire::kControlFrameMax) return send(frames_of(message));
  write_frame(message, stream_->reserve(wire::kHeaderBytes + size));
}

void Peer::send(const ControlFrames& frames) {
  WEIR_ASSERT(state_ == State::ready);
  // The peer would reject the message. The connection is closed in the next pass, because the sender may be
  // looping over its peers.
  if (frames.too_long) {
    unsendable_ = true;
    return;
  }
  stream_->append(frames.bytes);
}

void Peer::say_alive(bool answer) {
  v1::Control message;
  message.mutable_alive()->set_answer(answer);
  send(message);
}

bool Peer::on_received(std::size_t bytes) {
  auto good = parser_.received(bytes, *this);
  if (state_ == State::gone) return false;
  if (good) return true;
  ++counters_.protocol_errors[wire::name(good.error())];
  end(wire::name(good.error()));
  return false;
}

void Peer::on_closed(ports::CloseReason reason) {
  if (reason == ports::CloseReason::not_trusted) {
    ++counters_.refused_auth;
    refused_ = true;
  }
  end(refused_by_peer_.empty() ? sentence(reason) : std::string_view(refused_by_peer_));
}

void Peer::end(std::string_view why) {
  if (state_ == State::gone) return;
  parser_.ended(*this);
  enter(state_, State::gone);
  handler_.on_gone(*this, why);
}

void Peer::drop(std::string_view why) {
  if (state_ == State::gone) return;
  stream_->close();
  end(why);
}

void Peer::tick(TimeNs now_ns) {
  if (unsendable_) return drop("its message is longer than a control message may be");
  const bool unknown = state_ == State::waiting || state_ == State::proving;
  if (!unknown || now_ns - since_ns_ < limits_.hello_timeout_ns) return;
  ++counters_.silent;
  drop(state_ == State::waiting ? "no hello in time" : "no proof in time");
}

wire::PayloadPlace Peer::on_header(const wire::FrameHeader& header) {
  using Kind = wire::PayloadPlace::Kind;
  switch (header.type) {
    case wire::FrameType::hello:
      if (state_ == State::proving) {
        return {header.length <= kProofFrameBytesMax ? Kind::whole : Kind::refuse, nullptr};
      }
      return {state_ == State::waiting ? Kind::whole : Kind::refuse, nullptr};
    case wire::FrameType::refuse:
      return {Kind::whole, nullptr};
    case wire::FrameType::control:
      return {state_ == State::ready ? Kind::whole : Kind::refuse, nullptr};
    default:
      break;
  }
  return state_ == State::ready ? handler_.on_header(*this, header) : wire::PayloadPlace{};
}

Expected<void, wire::WireError> Peer::on_frame(const wire::FrameHeader& header, ConstBytes payload) {
  const bool own = header.type == wire::FrameType::hello || header.type == wire::FrameType::refuse ||
                   header.type == wire::FrameType::control;
  if (!own) return handler_.on_frame(*this, header, payload);
  if (!wire::payload_checksum_good(header, payload))
    return Unexpected<wire::WireError>(wire::WireError::bad_checksum);
  if (header.type == wire::FrameType::hello)
    return state_ == State::proving ? on_proof(payload) : on_hello(payload);
  if (header.type == wire::FrameType::refuse) {
    v1::Refuse refusal;
    if (!parse(refusal, payload)) return Unexpected<wire::WireError>(wire::WireError::bad_payload);
    refused_ = true;
    refused_by_peer_ = "refused by the peer: " + one_line(refusal.reason());
    drop(refused_by_peer_);  // the peer takes nothing more, or the frame was another one before a bit flipped
    return {};
  }
  return on_control(header, payload);
}

// A message in one frame is parsed in place; the frames of a longer one are gathered in order.
Expected<void, wire::WireError> Peer::on_control(const wire::FrameHeader& header, ConstBytes payload) {
  const auto bad = Unexpected<wire::WireError>(wire::WireError::bad_payload);
  std::vector<std::byte> whole;
  if (header.total > 0 || !gathered_.empty()) {
    const bool next = header.total > 0 && header.offset == gathered_.size() &&
                      (header.offset == 0 || header.total == gathered_total_);
    if (!next) return bad;
    gathered_total_ = header.total;
    gathered_.insert(gathered_.end(), payload.begin(), payload.end());
    WEIR_ASSERT(gathered_.size() <= gathered_total_);  // the header was checked
    if (gathered_.size() < gathered_total_) return {};
    whole = std::exchange(gathered_, {});
    payload = whole;
  }
  v1::Control& message = received_->next();
  if (!parse(message, payload)) return bad;
  if (message.has_alive()) {
    // Data waiting to be sent prove liveness as well, and a peer that keeps asking without reading gets no
    // more answers.
    if (!message.alive().answer() && unsent_bytes() == 0) say_alive(true);
    return {};
  }
  auto taken = handler_.on_control(*this, message);
  received_->done();
  return taken;
}

std::string Peer::refusal(std::uint32_t version) const {
  if (version != wire::kVersion) {
    return "protocol version " + std::to_string(version) + " of '" + info_.name + "' does not fit version " +
           std::to_string(wire::kVersion) + " of '" + self_.name + "': install the same release on both";
  }
  if (info_.role == Role::unknown)
    return "'" + info_.name + "' names no role that '" + self_.name + "' knows";
  if (info_.farm != self_.farm) {
    return "'" + info_.name + "' belongs to farm '" + info_.farm + "', '" + self_.name + "' to '" +
           self_.farm + "'";
  }
  if (info_.run.value != 0 && self_.run.value != 0 && info_.run != self_.run) {
    return "'" + info_.name + "' takes part in run " + std::to_string(info_.run.value) + ", '" + self_.name +
           "' in run " + std::to_string(self_.run.value);
  }
  const bool met = info_.role == expected_role_ && info_.index == expected_index_;
  if (expected_role_ != Role::unknown && !met) {
    const std::string expected =
        expected_role_ == Role::supervisor
            ? "the supervisor"
            : std::string(name(expected_role_)) + " " + std::to_string(expected_index_.value);
    return "'" + info_.name + "' is met where '" + self_.name + "' looks for " + expected;
  }
  return {};
}

std::string Peer::refusal_of_nonce(std::size_t bytes) const {
  if (bytes == (limits_.authenticator ? ports::kNonceBytes : 0)) return {};
  if (bytes == 0) {
    return "'" + info_.name + "' does not prove that it belongs to farm '" + self_.farm +
           "': it needs the farm's key, security.key_file";
  }
  if (limits_.authenticator) return "'" + info_.name + "' sent a nonce of another length";
  return "'" + info_.name + "' has a farm key, '" + self_.name +
         "' has none: give every process the same security.key_file";
}

std::string Peer::refusal_of_proof(const v1::Proof& proof) const {
  ports::Proof said{proof.key(), {}};
  if (proof.mac().size() != said.mac.size()) return "'" + info_.name + "' sent a proof of another length";
  std::memcpy(said.mac.data(), proof.mac().data(), said.mac.size());
  const auto side = connecting_ ? ports::ConnectionSide::listening : ports::ConnectionSide::connecting;
  switch (limits_.authenticator->check(side, hellos(), said)) {
    case ports::ProofVerdict::good:
      return {};
    case ports::ProofVerdict::unknown_key:
      return "'" + info_.name + "' uses farm key '" + one_line(said.key) + "', which '" + self_.name +
             "' does not have: hand out the same security.key_file";
    case ports::ProofVerdict::wrong:
      break;
  }
  return "the proof of '" + info_.name + "' is wrong: its farm key '" + one_line(said.key) +
         "' is not that of '" + self_.name + "', or the proof is not of this connection";
}

ports::Hellos Peer::hellos() const {
  WEIR_ASSERT(!own_hello_.empty() && !peer_hello_.empty());  // a proof is of both
  return connecting_ ? ports::Hellos{own_hello_, peer_hello_} : ports::Hellos{peer_hello_, own_hello_};
}

Expected<void, wire::WireError> Peer::on_hello(ConstBytes payload) {
  v1::Hello hello;
  if (!parse(hello, payload) || !fits(hello)) return Unexpected<wire::WireError>(wire::WireError::bad_hello);
  info_ = from_hello(hello);
  if (!is_text(hello)) {
    refuse(
        "'" + info_.name + "' is not a name, farm or host that '" + self_.name + "' can read: text is UTF-8",
        counters_.refused_hello);
    return {};
  }
  if (const std::string reason = refusal(hello.version()); !reason.empty()) {
    refuse(reason, counters_.refused_hello);
    return {};
  }
  if (const std::string reason = refusal_of_nonce(hello.nonce().size()); !reason.empty()) {
    refuse(reason, counters_.refused_auth);
    return {};
  }
  if (limits_.authenticator) {
    peer_hello_.assign(payload.begin(), payload.end());
    enter(state_, State::proving);
    if (connecting_) {
      send_proof();
    } else {
      send_hello();
    }
    return {};
  }
  if (const std::string reason = handler_.check_hello(info_); !reason.empty()) {
    refuse(reason, counters_.refused_hello);
    return {};
  }
  if (!connecting_) send_hello();
  be_ready();
  return {};
}

Expected<void, wire::WireError> Peer::on_proof(ConstBytes payload) {
  v1::Hello message;
  if (!parse(message, payload) || !message.has_proof())
    return Unexpected<wire::WireError>(wire::WireError::bad_hello);
  if (const std::string reason = refusal_of_proof(message.proof()); !reason.empty()) {
    refuse(reason, counters_.refused_auth);
    return {};
  }
  // Not checked before the proof: a peer without a key learns nothing about this process.
  if (const std::string reason = handler_.check_hello(info_); !reason.empty()) {
    refuse(reason, counters_.refused_hello);
    return {};
  }
  if (!connecting_) send_proof();
  be_ready();
  return {};
}

void Peer::be_ready() {
  own_hello_ = {};
  peer_hello_ = {};
  enter(state_, State::ready);
  was_ready_ = true;
  parser_.set_payload_max(limits_.frame_bytes_max);
  handler_.on_ready(*this);
}

void Peer::refuse(const std::string& reason, std::uint64_t& counter) {
  ++counter;
  refused_ = true;
  v1::Refuse message;
  message.set_reason(reason);
  message.set_version(wire::kVersion);
  stream_->append(framed(wire::FrameType::refuse, serialized(message)));
  drop(reason);
}

}  // namespace weir::sessions
