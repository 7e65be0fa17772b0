#pragma once

#include <weir/packet_model/events.hpp>
#include <weir/packet_model/old_tcp.hpp>
#include <weir/packet_model/packet_link.hpp>
#include <weir/packet_model/push_workload.hpp>
#include <weir/packet_model/random.hpp>
#include <weir/shaping/barrel.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace weir::packet_model {

enum class PushTransport : std::uint8_t { tcp, udp };

// How a readout sends its fragments.
enum class PushSending : std::uint8_t {
  at_slot,  // each at its slot, whatever became of the one before (van Rantwijk 2002, handle-timeslice())
  barrel    // as Weir's readouts: shaping::Barrel, one slice at a time
};

// Groups of readouts, each behind a switch of its own. The uplinks of these switches meet in a central switch
// with a port for each DCM. Each
// link has a queue in packets before it. Defaults are those of van Rantwijk 2002, table 4.1 and
// section 4.3.1.
struct PushNetwork {
  std::uint32_t readouts = 300;
  std::uint32_t readouts_per_switch = 5;
  std::uint32_t dcms = 100;
  double readout_bits_per_s = 50e6;
  double uplink_bits_per_s = 1e9;
  double dcm_bits_per_s = 500e6;
  DurationNs readout_way_ns = 50 * kMicrosecond;
  DurationNs uplink_way_ns = 300 * kMicrosecond;
  DurationNs dcm_way_ns = 50 * kMicrosecond;
  std::uint32_t queue_packets = 100;
  double bit_error_rate = 0;  // of the uplinks
};

struct PushTraffic {
  PushTransport transport = PushTransport::tcp;
  OldTcpSpec tcp;
  PushSending sending = PushSending::at_slot;
  DurationNs slice_ns = 10 * kMillisecond;
  std::uint32_t fragment_bytes = 30'000;
  std::uint32_t group = 0;  // at most so many readouts send to one DCM at a time; 0: all at once
  BurstSpec bursts;
  DurationNs length_ns = 60 * kSecond;
  DurationNs relaxation_ns = 10 * kSecond;  // without new slices
  std::uint64_t seed = 1;
};

// Packets of payload and of openings, and where they went: sent = delivered + drops + bit_errors + on the
// way.
struct PushPackets {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t drops_readout = 0;  // in the queue of a readout's own link
  std::uint64_t drops_uplink = 0;
  std::uint64_t drops_port = 0;
  std::uint64_t bit_errors = 0;
  std::uint64_t on_the_way = 0;
};

struct PushResult {
  // By slice and readout, the readouts of a slice one after the other; from the readout's slot to the last
  // byte at the DCM.
  std::vector<DurationNs> delays;
  std::uint64_t produced = 0;   // fragments
  std::uint64_t cut_off = 0;    // not sent, in the middle of a burst
  std::uint64_t delivered = 0;  // complete
  std::uint64_t damaged = 0;    // UDP: some packets were lost
  PushPackets packets;
  std::uint64_t segments = 0;  // TCP, with payload
  std::uint64_t retransmitted = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t events = 0;
  std::map<std::uint32_t, std::uint64_t> in_burst;  // slices by number of readouts in a burst
};
constexpr DurationNs kNotDelivered = -1;  // a delay

// Readouts that push the fragments of time slices to DCMs, slice s to DCM s mod n, packet by packet. The same
// network and traffic give the same run. Pure.
class PushModel {
 public:
  PushModel(const PushNetwork& network, const PushTraffic& traffic);
  [[nodiscard]] PushResult run();

 private:
  enum class EventKind : std::uint8_t { slice, readout_wakes, at_switch, at_port, acknowledgement, timer };
  struct Event {
    EventKind kind = EventKind::slice;
    std::uint16_t length = 0;  // payload
    std::uint32_t index = 0;   // flow; readout; slice
    std::uint32_t number = 0;  // segment, or with UDP the slice
  };
  struct Flow {
    OldTcp sender;
    OldTcpReceiver receiver;
    TimeNs timer_event_ns = 0;         // 0: none
    std::uint32_t first_part = kNone;  // not complete at the DCM, oldest first
    std::uint32_t last_part = kNone;
  };
  // A fragment's bytes in a stream, up to `end`.
  struct Part {
    std::uint32_t end = 0;
    std::uint32_t length = 0;
    std::uint32_t fragment = 0;
    std::uint32_t next = kNone;
  };
  struct Fragment {
    TimeNs due_ns = 0;
    std::uint32_t bytes = 0;
    std::uint32_t left = 0;  // bytes, or with UDP packets
    bool cut_off = false;
    bool damaged = false;
  };
  struct Readout {
    PacketLink link;
    std::optional<shaping::Barrel> barrel;
    std::vector<shaping::PushLink> links;
    TimeNs wake_event_ns = 0;  // 0: none
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void handle(const Event& event);
  void end_slice(std::uint32_t slice);
  void produce(std::uint32_t readout, std::uint32_t slice);
  void send_fragment(std::uint32_t readout, std::uint32_t slice);
  void send_datagrams(std::uint32_t readout, std::uint32_t slice);
  void write(std::uint32_t flow, std::uint32_t fragment, std::uint32_t bytes);
  void push(std::uint32_t readout);
  void pump(std::uint32_t flow);
  void transmit(const Event& packet);
  void at_switch(const Event& packet);
  void at_port(const Event& packet);
  void receive(const Event& packet, TimeNs at_ns);
  void receive_datagram(const Event& packet, TimeNs at_ns);
  void complete_parts(Flow& flow, TimeNs at_ns);
  void deliver(std::uint32_t fragment, TimeNs at_ns);
  void damage(const Event& packet);
  void acknowledged(const Event& event);
  void fire_timer(std::uint32_t flow);

  [[nodiscard]] std::uint32_t flow_of(std::uint32_t readout, std::uint32_t slice) const {
    return readout * network_.dcms + slice % network_.dcms;
  }
  [[nodiscard]] std::uint32_t readout_of(std::uint32_t flow) const { return flow / network_.dcms; }
  [[nodiscard]] std::uint32_t fragment_of(std::uint32_t readout, std::uint32_t slice) const {
    return slice * network_.readouts + readout;
  }
  [[nodiscard]] std::uint32_t delay_slots(std::uint32_t readout) const;
  [[nodiscard]] std::uint32_t wire_bytes(const Event& packet) const;
  [[nodiscard]] PushResult result();

  const PushNetwork network_;
  const PushTraffic traffic_;
  const std::uint32_t slices_;
  const TimeNs end_ns_;
  DurationNs back_ns_ = 0;  // the way of an acknowledgement

  PushWorkload workload_;
  Random errors_;
  EventQueue<Event> queue_;
  TimeNs now_ns_ = 0;
  std::vector<Flow> flows_;  // TCP: by readout and DCM
  std::vector<Readout> readouts_;
  std::vector<PacketLink> uplinks_;
  std::vector<PacketLink> ports_;
  std::vector<Fragment> fragments_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> free_parts_;
  PushResult result_;
};

}  // namespace weir::packet_model
