#pragma once

#include "arrival_trace.hpp"
#include "builder.hpp"
#include "liveness_probe.hpp"
#include "loss_log.hpp"
#include "node_link.hpp"
#include "plane_links.hpp"
#include "push_admission.hpp"
#include "run_phases.hpp"
#include <weir/node/refusal_log.hpp>
#include <weir/ports/clock.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::dcm {

// The DCM's connections to the readouts: requests out, fragments in, and which of them are reached.
class ReadoutLinks final : public sessions::PeerHandler {
 public:
  // `pushing`: null in pull running.
  ReadoutLinks(const LinkSettings& settings, std::size_t readouts, sessions::PeerCounters& counters,
               const ports::Clock& clock, Builder& builder, PushAdmission* pushing, const RunPhases& course);

  // Receives through one of several planes from now on. Call before set_readout(). `carriers`: of this host's
  // links to them; may be null.
  void use_planes(const PlaneLinkSettings& settings, std::unique_ptr<ports::Carriers> carriers);
  [[nodiscard]] const PlaneLinks* planes() const { return planes_.get(); }  // null without planes
  // Sets the addresses of the readout with this index, one for each plane; ignored if the farm does not have
  // it.
  void set_readout(NodeIndex index, std::vector<ports::Endpoint> ways);
  [[nodiscard]] std::size_t size() const { return readouts_.size(); }

  // Call first in each pass: handles the connections, and sets the time for the pass.
  void tick(ports::Network& network, TimeNs now_ns);
  // Reports the received part of incomplete frames.
  void tell_partial_frames();
  // Sends the collector's requests.
  void send_requests();

  // Call every few ms. Probes silent readouts, and marks those that do not answer as lost. Moves to another
  // plane if that is due.
  void look();
  // Adds the lost readouts that have sources, without those that a move to another plane may reach.
  void add_lost_to(v1::Reach& reach) const;
  // Drops connections to silent readouts that hold all outstanding requests without breaking: a stopped
  // process, a vanished host.
  void drop_silent(DurationNs patience_ns);

  void start_trace(std::size_t slices, TimeNs from_ns) { trace_.start(slices, from_ns); }
  [[nodiscard]] const ArrivalTrace& trace() const { return trace_; }
  // Bytes of fragments, complete or partial.
  [[nodiscard]] std::uint64_t arrived_bytes() const { return arrived_bytes_; }

 private:
  struct Readout {
    explicit Readout(DurationNs silence_ns) : probe(silence_ns) {}
    std::unique_ptr<sessions::Connector> link;
    std::vector<ports::Endpoint> ways;  // its address in each plane
    assembly::Reception reception;      // the frame that is being received
    wire::BlockSlice block;  // ... when that is a block, which is not received into the slice: its first
    bool in_frame = false;   // receiving a fragment's payload
    bool in_block = false;
    bool listed = false;              // listed in receiving_
    std::uint64_t told_bytes = 0;     // bytes of that frame reported to the collector
    UtcNs timed_utc_ns = 0;           // arrival of the last timing; 0: unknown
    TimeNs timing_ns = 0;             // when it last said how it is
    std::uint64_t retransmitted = 0;  // on this connection, as last reported by its readout
    std::uint64_t bytes = 0;          // received over this connection, as of the last look
    std::vector<std::byte> frames;
    TimeNs data_ns = 0;                  // arrival of its last data, in a farm with planes; 0: none
    TimeNs gap_since_ns = 0;             // ... before a move after which none have arrived; 0: no such move
    std::optional<std::uint32_t> plane;  // of its last connection
    LivenessProbe probe;
    LossLog loss;
  };

  std::string check_hello(const sessions::PeerInfo& info) override;
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  wire::PayloadPlace on_header(sessions::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  void on_part(sessions::Peer& peer, const wire::FrameHeader& header, ConstBytes part) override;
  void on_abandoned(sessions::Peer& peer, const wire::FrameHeader& header) override;

  Expected<void, wire::WireError> take_block(std::uint32_t index, const wire::FrameHeader& header,
                                             ConstBytes payload);
  void take_timing(sessions::Peer& peer, const wire::FrameHeader& header);
  // Connects to the readout through the present plane.
  void connect(std::uint32_t readout);
  void note_data(Readout& readout);
  void change_plane();
  // Returns the slice of the frame that is being received; null if it is not open.
  [[nodiscard]] assembly::BuiltSlice* slice_of(const Readout& readout) const {
    return readout.in_block ? assembler_.slice_of(readout.block) : readout.reception.slice;
  }
  void arrived(std::uint32_t readout, assembly::BuiltSlice* slice, std::uint64_t payload_bytes,
               std::uint64_t other_bytes = 0);

  LinkSettings settings_;
  sessions::PeerCounters& counters_;
  const ports::Clock& clock_;
  assembly::Assembler& assembler_;
  Collector& collector_;
  PushAdmission* pushing_;
  const RunPhases& course_;
  TimeNs now_ns_ = 0;
  node::RefusalLog refusals_;
  std::unique_ptr<PlaneLinks> planes_;
  bool changes_plane_ = false;  // connections end for this reason
  std::vector<Readout> readouts_;
  std::vector<std::uint32_t> receiving_;  // that have begun a frame since the last pass, or before
  ArrivalTrace trace_;
  std::uint64_t arrived_bytes_ = 0;
  TimeNs ticked_ns_ = 0;
};

}  // namespace weir::dcm
