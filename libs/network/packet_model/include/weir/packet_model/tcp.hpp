#pragma once

#include <weir/packet_model/pull_network.hpp>

#include <cstdint>
#include <deque>
#include <vector>

namespace weir::packet_model {

constexpr std::uint32_t kNoSegment = UINT32_MAX;
constexpr double kWindowCut = 0.7;  // the window's share that remains after a loss

// An acknowledgement from a receiver's kernel. None is lost, so that each segment is reported once.
struct Acknowledgement {
  std::uint32_t next = 0;             // all segments below are there
  std::uint32_t beyond = kNoSegment;  // a segment received after a gap
  bool duplicate = false;             // the segment had arrived before
  TimeNs echo_ns = 0;                 // send time of the acknowledged segment
};

// Where a sender's segments go.
class Wire {
 public:
  virtual void send_segment(std::uint32_t connection, std::uint32_t segment, std::uint16_t length,
                            TimeNs now_ns) = 0;

 protected:
  ~Wire() = default;
};

// The growth of a congestion window after CUBIC (RFC 9438), segments.
class Cubic {
 public:
  void reduced(double window);  // a loss at this window
  [[nodiscard]] double grown(double window, std::uint32_t acked, DurationNs round_trip_ns, TimeNs now_ns);
  void idle_for(DurationNs idle_ns) { begun_ns_ += begun_ns_ > 0 ? idle_ns : 0; }
  void forget() { *this = {}; }

 private:
  double largest_ = 0;
  double origin_ = 0;
  double seconds_to_origin_ = 0;
  double as_reno_ = 0;
  TimeNs begun_ns_ = 0;
};

// The sending side of a connection with Linux's defaults: CUBIC with HyStart, SACK, RACK, tail loss probes,
// proportional rate reduction, a timeout of at least 200 ms; without pacing and segmentation offload. Without
// selective acknowledgements three duplicates show a loss (NewReno, RFC 6582).
class TcpSender {
 public:
  // `round_trip_ns`: duration of the connection's first exchange.
  TcpSender(std::uint32_t connection, DurationNs round_trip_ns, const TcpSpec& settings, Wire& wire)
      : connection_(connection),
        settings_(settings),
        wire_(&wire),
        segments_(kRing),
        smoothed_ns_(round_trip_ns),
        deviation_ns_(round_trip_ns / 2),
        shortest_ns_(round_trip_ns) {}

  void write(std::uint64_t bytes, TimeNs now_ns);
  void acknowledged(const Acknowledgement& ack, TimeNs now_ns);
  void timer(TimeNs now_ns);
  void stop() { unsent_ = 0; }               // discards unsent data
  [[nodiscard]] TimeNs timer_at_ns() const;  // 0: no timer

  [[nodiscard]] std::uint64_t retransmissions() const { return retransmissions_; }
  [[nodiscard]] std::uint64_t timeouts() const { return timeouts_; }
  [[nodiscard]] double window() const { return window_; }
  [[nodiscard]] std::uint64_t unsent() const { return unsent_; }

 private:
  enum class State : std::uint8_t { open, recovery, timed_out };
  struct Segment {
    TimeNs sent_ns = 0;
    std::uint64_t order = 0;  // position in the order of sending
    std::uint16_t length = 0;
    bool there = false;
    bool lost = false;
    bool again = false;  // its retransmission is under way
    bool ever_again = false;
  };
  static constexpr std::size_t kRing = 64;

  Segment& at(std::uint32_t number) { return segments_[number & (segments_.size() - 1)]; }
  void grow_ring();
  [[nodiscard]] std::uint32_t out() const { return next_ - first_; }
  [[nodiscard]] std::uint32_t in_flight() const { return out() - there_ - lost_ + again_; }
  void restart_after_idle(TimeNs now_ns);
  void send_out(TimeNs now_ns);
  void send_new(TimeNs now_ns);
  bool send_lost(TimeNs now_ns);
  void send_again(std::uint32_t number, TimeNs now_ns);
  void delivered(std::uint32_t number, TimeNs now_ns);
  void measure(DurationNs round_trip_ns, TimeNs now_ns);
  void look_for_slow_start_end(DurationNs round_trip_ns, TimeNs now_ns);
  void end_probe(const Acknowledgement& ack, bool told_nothing);
  std::uint32_t count_duplicates(std::uint32_t progress, bool repeats);
  void find_lost(TimeNs now_ns);
  void find_lost_by_duplicates(bool progress);
  void mark_lost(std::uint32_t number);
  void enter_recovery();
  void reduce();
  void recover(std::uint32_t newly);
  void grow(std::uint32_t acked, TimeNs now_ns);
  void undo(const Acknowledgement& ack);
  void time_out(TimeNs now_ns);
  void probe(TimeNs now_ns);
  void arm(TimeNs now_ns);

  std::uint32_t connection_;
  TcpSpec settings_;
  Wire* wire_;
  std::vector<Segment> segments_;  // a ring
  std::uint32_t first_ = 0;
  std::uint32_t next_ = 0;
  std::uint64_t unsent_ = 0;
  std::uint32_t there_ = 0;  // beyond a gap; duplicates, if acknowledgements are not selective
  std::uint32_t lost_ = 0;
  std::uint32_t again_ = 0;
  std::uint32_t lost_from_ = 0;  // no segment below is lost and not sent again

  State state_ = State::open;
  double window_ = 10;
  double threshold_ = 1e9;
  Cubic cubic_;
  std::uint32_t until_ = 0;  // recovery ends when all below is there
  double before_window_ = 0;
  double before_threshold_ = 0;
  TimeNs first_again_ns_ = 0;  // since the window was cut
  std::uint32_t reduced_delivered_ = 0;
  std::uint32_t reduced_sent_ = 0;
  std::uint32_t most_out_ = 0;  // recent maximum in flight: shows whether the window is the limit
  std::uint32_t limited_until_ = 0;
  bool limited_ = false;

  DurationNs smoothed_ns_ = 0;
  DurationNs deviation_ns_ = 0;
  DurationNs shortest_ns_ = 0;
  int backed_off_ = 0;
  TimeNs last_sent_ns_ = 0;

  std::uint64_t sent_ = 0;
  TimeNs rack_sent_ns_ = 0;  // send time of the latest segment known to have arrived
  std::uint64_t rack_order_ = 0;
  DurationNs rack_round_trip_ns_ = 0;
  TimeNs reorder_at_ns_ = 0;

  TimeNs round_began_ns_ = 0;  // HyStart
  TimeNs last_ack_ns_ = 0;
  std::uint32_t round_end_ = 0;
  std::uint32_t round_samples_ = 0;
  DurationNs round_shortest_ns_ = 0;

  std::uint32_t probe_until_ = kNoSegment;
  bool probe_again_ = false;
  bool probe_next_ = false;
  TimeNs timeout_at_ns_ = 0;

  std::uint64_t retransmissions_ = 0;
  std::uint64_t timeouts_ = 0;
};

// The receiving side, in the kernel: acknowledges every second segment, and out-of-order segments
// immediately.
class TcpReceiver {
 public:
  TcpReceiver() : waiting_(kRing) {}

  struct Outcome {
    bool acknowledge = false;
    Acknowledgement ack;
  };
  Outcome segment(std::uint32_t number, std::uint16_t length, TimeNs sent_ns);
  // A request goes: it carries the acknowledgement along.
  [[nodiscard]] Acknowledgement take_ack() {
    unacknowledged_ = 0;
    return {next_, kNoSegment, false, echo_ns_};
  }
  [[nodiscard]] bool owes_ack() const { return unacknowledged_ > 0; }
  [[nodiscard]] std::uint64_t in_order() const { return in_order_; }  // bytes
  [[nodiscard]] std::uint64_t out_of_order() const { return out_of_order_; }

 private:
  static constexpr std::size_t kRing = 64;
  static constexpr std::uint32_t kQuick = 16;  // initial segments that are acknowledged immediately

  std::vector<std::uint16_t> waiting_;  // lengths, a ring from next_
  std::uint32_t next_ = 0;
  std::uint32_t beyond_ = 0;  // segments that wait
  std::uint32_t unacknowledged_ = 0;
  std::uint32_t quick_ = kQuick;
  TimeNs echo_ns_ = 0;
  std::uint64_t in_order_ = 0;
  std::uint64_t out_of_order_ = 0;
};

}  // namespace weir::packet_model
