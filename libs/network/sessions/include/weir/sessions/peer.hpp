#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/role.hpp>
#include <weir/base/time.hpp>
#include <weir/ports/authenticator.hpp>
#include <weir/ports/network.hpp>
#include <weir/wire/frame.hpp>
#include <weir/wire/frame_parser.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::v1 {
class Control;
class Proof;
}  // namespace weir::v1

namespace weir::sessions {

// The contents of a process' hello.
struct PeerInfo {
  Role role = Role::unknown;
  std::string name;
  NodeIndex index;
  RunNumber run;  // 0: any run
  Incarnation incarnation;
  std::string farm;
  ports::Endpoint listen;                    // readout, writer
  std::vector<ports::Endpoint> planes = {};  // readout: its addresses in the planes after the first
  std::vector<SourceId> sources;             // readout: of this process; not part of the hello
  std::uint32_t credits = 0;                 // DCM
  bool wants_timing = false;                 // DCM: requests timing from a readout
  bool burst = false;                        // DCM, to a writer: the connection carries records of alerts
  bool heartbeats = false;      // DCM, to a readout: the connection carries heartbeats of a plane, only
  std::uint64_t last_pass = 0;  // to a supervisor: the last pass whose messages this process has received
};

// Limits of a connection, and its authentication.
struct PeerLimits {
  std::uint32_t frame_bytes_max = 64U << 20;  // of fragment and data frames
  DurationNs hello_timeout_ns = 5 * kSecond;
  // Per listener. Beyond it the connection that has waited longest without being ready is closed for a new
  // one; if all are ready, the new one is refused. Counted.
  std::size_t connections_max = 256;
  // Empty: every peer with a good hello is accepted. Otherwise each side has to prove that it has a key of
  // the farm.
  std::shared_ptr<const ports::Authenticator> authenticator = nullptr;
};

// Why connections were closed, for a node's report.
struct PeerCounters {
  std::uint64_t accepted = 0;
  std::uint64_t refused_full = 0;                             // connections_max reached
  std::uint64_t refused_hello = 0;                            // another version, farm, run or role
  std::uint64_t refused_auth = 0;                             // no proof, or a wrong one
  std::uint64_t silent = 0;                                   // no hello, or no proof, in time
  std::map<std::string_view, std::uint64_t> protocol_errors;  // by wire::name(WireError)
};

class Peer;

// Handles a peer's frames for a node. Called on the loop's thread.
class PeerHandler {
 public:
  virtual ~PeerHandler() = default;
  // Called before the connection is accepted. Returns an empty string, or the reason for refusing this peer.
  [[nodiscard]] virtual std::string check_hello(const PeerInfo& info) {
    (void)info;
    return {};
  }
  virtual void on_ready(Peer& peer) = 0;
  // The connection has ended; `peer` is deleted after this pass. `why` is a sentence for people. Also called
  // for peers that never were ready.
  virtual void on_gone(Peer& peer, std::string_view why) = 0;
  // Handles frames other than hello, refuse and control.
  [[nodiscard]] virtual wire::PayloadPlace on_header(Peer& peer, const wire::FrameHeader& header) {
    (void)peer, (void)header;
    return {};
  }
  [[nodiscard]] virtual Expected<void, wire::WireError> on_frame(Peer& peer, const wire::FrameHeader& header,
                                                                 ConstBytes payload) {
    (void)peer, (void)header, (void)payload;
    return Unexpected<wire::WireError>(wire::WireError::not_expected);
  }
  // A peer with a message that its handler does not expect is disconnected.
  [[nodiscard]] virtual Expected<void, wire::WireError> on_control(Peer& peer, const v1::Control& message) {
    (void)peer, (void)message;
    return Unexpected<wire::WireError>(wire::WireError::not_expected);
  }
  // Like wire::FrameSink::on_part().
  virtual void on_part(Peer& peer, const wire::FrameHeader& header, ConstBytes part) {
    (void)peer, (void)header, (void)part;
  }
  virtual void on_abandoned(Peer& peer, const wire::FrameHeader& header) { (void)peer, (void)header; }
};

// A serialised control message, which can be sent to several peers.
struct ControlFrames {
  std::vector<std::byte> bytes;
  bool too_long = false;  // longer than wire::kControlMessageMax: no bytes
};
[[nodiscard]] ControlFrames frames_of(const v1::Control& message);

// One connection to another process of the farm: hellos in both directions, proofs in a farm with a key, then
// frames. The connecting side sends its hello and its proof first. A peer of another version, farm, run or
// key is refused with a sentence that both sides log.
class Peer final : public ports::StreamHandler, private wire::FrameSink {
 public:
  Peer(const PeerInfo& self, PeerHandler& handler, const PeerLimits& limits, PeerCounters& counters,
       TimeNs now_ns);
  ~Peer() override;

  void connect(ports::Network& network, const ports::Endpoint& to);
  void adopt(std::unique_ptr<ports::Stream> accepted);

  // Sends a message of any length up to wire::kControlMessageMax; one that is longer than a frame is divided.
  // For a longer message the connection ends in the next tick().
  void send(const v1::Control& message);
  void send(const ControlFrames& frames);
  [[nodiscard]] ports::Stream& stream() { return *stream_; }
  [[nodiscard]] const ports::Stream& stream() const { return *stream_; }
  [[nodiscard]] const PeerInfo& info() const { return info_; }
  [[nodiscard]] bool ready() const { return state_ == State::ready; }
  [[nodiscard]] bool gone() const { return state_ == State::gone; }
  // True once the far host has answered a connection of this side.
  [[nodiscard]] bool is_answered() const { return answered_; }
  [[nodiscard]] bool was_ready() const { return was_ready_; }  // now, or before it ended
  [[nodiscard]] bool was_refused() const { return refused_; }  // by either side
  [[nodiscard]] std::size_t unsent_bytes() const { return stream_ ? stream_->unsent_bytes() : 0; }
  // Like wire::FrameParser::payload_here().
  [[nodiscard]] std::size_t payload_here() const { return parser_.payload_here(); }
  // Closes the connection; on_gone follows at once.
  void drop(std::string_view why);
  // Refuses any other process: the address may belong to another one now.
  void expect(Role role, NodeIndex index) {
    expected_role_ = role;
    expected_index_ = index;
  }
  // Requests a sign of life; the far Peer answers by itself. Requires: ready.
  void ask_if_alive() { say_alive(false); }
  // Drops a peer without a good hello in time.
  void tick(TimeNs now_ns);

  std::uint64_t tag = 0;  // for the node's own use

 private:
  enum class State : std::uint8_t { waiting, proving, ready, gone };

  void on_connected() override;
  ports::ReceiveSpace receive_space() override { return parser_.receive_space(); }
  bool on_received(std::size_t bytes) override;
  void on_closed(ports::CloseReason reason) override;

  wire::PayloadPlace on_header(const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(const wire::FrameHeader& header, ConstBytes payload) override;
  void on_part(const wire::FrameHeader& header, ConstBytes part) override {
    handler_.on_part(*this, header, part);
  }
  void on_abandoned(const wire::FrameHeader& header) override { handler_.on_abandoned(*this, header); }

  Expected<void, wire::WireError> on_hello(ConstBytes payload);
  Expected<void, wire::WireError> on_proof(ConstBytes payload);
  Expected<void, wire::WireError> on_control(const wire::FrameHeader& header, ConstBytes payload);
  [[nodiscard]] std::string refusal(std::uint32_t version) const;
  [[nodiscard]] std::string refusal_of_nonce(std::size_t bytes) const;
  [[nodiscard]] std::string refusal_of_proof(const v1::Proof& proof) const;
  [[nodiscard]] ports::Hellos hellos() const;
  void say_alive(bool answer);
  void send_hello();
  void send_proof();
  void be_ready();
  void refuse(const std::string& reason, std::uint64_t& counter);
  void end(std::string_view why);

  const PeerInfo& self_;
  PeerHandler& handler_;
  const PeerLimits& limits_;
  PeerCounters& counters_;
  TimeNs since_ns_;
  wire::FrameParser parser_;
  std::unique_ptr<ports::Stream> stream_;
  PeerInfo info_;
  State state_ = State::waiting;
  Role expected_role_ = Role::unknown;  // unknown: any role
  NodeIndex expected_index_;
  bool was_ready_ = false;
  bool connecting_ = false;  // this side connected
  bool answered_ = false;
  bool refused_ = false;
  bool unsendable_ = false;  // a message exceeded the maximum length
  std::string refused_by_peer_;
  struct Received;
  const std::unique_ptr<Received> received_;  // the current control message
  // A control message in several frames: the bytes so far, and its total length.
  std::vector<std::byte> gathered_;
  std::size_t gathered_total_ = 0;
  // Payloads of the hellos, kept until the proofs over them are verified.
  std::vector<std::byte> own_hello_;
  std::vector<std::byte> peer_hello_;
};

}  // namespace weir::sessions
