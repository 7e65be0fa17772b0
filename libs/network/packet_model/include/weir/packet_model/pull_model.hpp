#pragma once

#include <weir/packet_model/byte_link.hpp>
#include <weir/packet_model/events.hpp>
#include <weir/packet_model/fragment_requester.hpp>
#include <weir/packet_model/host_process.hpp>
#include <weir/packet_model/pull_network.hpp>
#include <weir/packet_model/tcp.hpp>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace weir::packet_model {

enum class PullEventKind : std::uint8_t {
  segment,          // a connection's segment is at its next hop
  acknowledgement,  // of a connection, on the return path
  requests,         // of a connection, on the forward path
  sender_timer,
  delayed_ack,
  readout_pass,
  handed_over,  // a readout's answers are in its kernel
  dcm_pass,
  dcm_sends,
  dcm_tick,
  trigger,
  foreign_packet,
  foreign_starts,
  share,
  trace,
};

struct PullEvent {
  PullEventKind kind = PullEventKind::trace;
  std::uint8_t hop = 0;
  std::uint16_t length = 0;
  std::uint32_t index = 0;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  TimeNs stamp_ns = 0;
};

struct ShaperSpec {
  std::string name;  // as in make_shaper()
  std::uint64_t window_bytes = 0;

  [[nodiscard]] std::string text() const;
};

struct PullRunSpec {
  bool host_times = true;   // shapers receive the hosts' processing times
  bool trace = false;       // print the shapers' decisions
  bool core_known = false;  // DCMs whose ports the core cannot fill share it as if it were their port
  double port_known = 0;    // shapers receive the port's rate and buffer times this; 0: neither
};

// Results of a run. Rates and latencies cover its last seven eighths.
struct RunResult {
  double goodput = 0;        // share of the links' best rate
  double start_goodput = 0;  // of the first ten round trips, or 50 ms
  double p50 = 0;  // slice latency: first request to last byte, divided by the slice's serialisation time
  double p99 = 0;
  std::uint64_t slices = 0;
  std::uint64_t drops = 0;
  std::uint64_t late_drops = 0;  // after the first second
  std::uint64_t random_losses = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t packets = 0;
  std::uint64_t events = 0;
};

// A farm's data collection on a network, packet by packet. The same network and shaper give the same run.
class PullModel final : private Wire {
 public:
  PullModel(const PullNetwork& network, const ShaperSpec& shaper, const PullRunSpec& settings = {});
  RunResult run();

 private:
  struct Answer {
    Question question;
    std::uint32_t payload = 0;
    std::uint64_t end = 0;  // offset in the stream
    DurationNs host_ns = 0;
    TimeNs here_ns = 0;  // its last byte, in the DCM's kernel
  };
  struct Asked {
    Question question;
    TimeNs arrived_ns = 0;
  };
  struct Connection {
    std::uint32_t dcm = 0;
    std::uint32_t readout = 0;  // number of readouts
    bool local = false;
    bool over_line = false;
    bool greedy = false;
    DurationNs way_ns = 0;  // one way
    std::uint32_t port = 0;
    std::uint32_t back_link = UINT32_MAX;  // hosts together: the DCM's uplink
    TcpSender sender;
    TcpReceiver receiver{};
    TimeNs timer_event_ns = 0;
    bool delayed_ack = false;
    std::deque<Question> on_way{};
    std::deque<Answer> answers{};
    std::size_t stamped = 0;  // answers with their last byte received
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::uint64_t told_retransmissions = 0;
    std::uint32_t to_send = 0;  // questions, in this pass
    bool readable = false;
  };
  struct Readout {
    HostProcess process;
    ByteLink uplink;
    std::deque<std::pair<std::uint32_t, Question>> asked;  // connection
    std::deque<TimeNs> arrived_ns;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> to_write;  // connection, bytes
    bool awake = false;
  };
  struct Dcm {
    HostProcess process;
    FragmentRequester collector;
    std::uint32_t first_connection = 0;
    bool awake = false;
    TimeNs looked_ns = 0;
    std::vector<std::uint32_t> readable;  // connections
    std::vector<std::uint32_t> sends;     // connections
  };

  void add_connections();
  void add_greedy(std::uint32_t index);
  void begin();
  void begin_foreign(const PullEvent& event);
  void handle(const PullEvent& event);
  void send_segment(std::uint32_t connection, std::uint32_t segment, std::uint16_t length,
                    TimeNs now_ns) override;
  void hop(const PullEvent& event);
  void enter(ByteLink& link, const LinkSpec& spec, const PullEvent& event);
  void received(const PullEvent& event);
  void acknowledge(std::uint32_t connection, const Acknowledgement& ack);
  void send_back(const PullEvent& event);
  void hop_back(const PullEvent& event);
  void arm(std::uint32_t connection);
  void requested(const PullEvent& event);
  void wake(Readout& readout, std::uint32_t index);
  void readout_pass(std::uint32_t index);
  void handed_over(std::uint32_t index);
  void wake(Dcm& dcm, std::uint32_t index);
  void dcm_pass(std::uint32_t index);
  std::uint64_t read(Dcm& dcm, Connection& connection);
  void tell_losses(Dcm& dcm);
  void dcm_sends(std::uint32_t index);
  void share();
  [[nodiscard]] bool shares_core() const;
  void foreign_packet(const PullEvent& event);
  void trace();
  void note_marks(TimeNs at_ns);
  RunResult result();

  const PullNetwork network_;
  const ShaperSpec shaper_;
  const PullRunSpec settings_;
  EventQueue<PullEvent> queue_;
  TimeNs now_ns_ = 0;
  Random losses_;
  std::deque<Connection> connections_;
  std::deque<Readout> readouts_;
  std::deque<Dcm> dcms_;
  std::deque<ByteLink> ports_, core_, line_;
  std::vector<Question> asked_;

  TimeNs warm_ns_ = 0;
  TimeNs start_ns_ = 0;
  std::uint64_t warm_payload_ = 0;
  std::uint64_t start_payload_ = 0;
  std::uint64_t early_drops_ = 0;
  std::uint64_t random_losses_ = 0;
  std::uint64_t packets_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t traced_payload_ = 0;

  [[nodiscard]] std::uint64_t payload() const;
  [[nodiscard]] std::uint64_t drops() const;
};

}  // namespace weir::packet_model
