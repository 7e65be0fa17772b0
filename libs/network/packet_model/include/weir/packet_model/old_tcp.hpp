#pragma once

#include <weir/base/time.hpp>

#include <array>
#include <cstdint>
#include <optional>

// TCP without SACK and later inventions, as simulators had it around 2002 (ns-2's FullTcp, with its
// defaults).
namespace weir::packet_model {

constexpr std::uint32_t kOldSegmentBytes = 1460;  // payload of a full segment
constexpr std::uint32_t kOldHeaderBytes = 40;     // of IP and TCP; such simulators count no Ethernet header
constexpr std::uint32_t kSyn = UINT32_MAX;        // number of the segment that opens a connection

enum class OldTcpVariant : std::uint8_t {
  reno,     // fast recovery ends with the first new acknowledgement (RFC 2581)
  new_reno  // and with that of all segments sent before it (RFC 2582)
};

struct OldTcpSpec {
  OldTcpVariant variant = OldTcpVariant::reno;
  std::uint32_t window = 20;                  // largest window, segments; at most kSegmentsMax
  std::uint32_t initial_window = 2;           // segments; also after an idle time of a timeout
  DurationNs tick_ns = 100 * kMillisecond;    // of the clock that measures round trips
  DurationNs first_timeout_ns = 6 * kSecond;  // before the first round trip is measured
  DurationNs timeout_max_ns = 64 * kSecond;   //
};

// The sending side of a connection. It sends without Nagle's algorithm and opens the connection with its
// first bytes. Pure: the caller takes segments with next() after each other call, and calls timer() when it
// is due.
class OldTcp {
 public:
  static constexpr std::uint32_t kSegmentsMax = 32;

  struct Sending {
    std::uint32_t segment = 0;  // kSyn: opens the connection
    std::uint16_t length = 0;   // payload
  };

  // `phase_ns`: of this connection's clock, below tick_ns.
  OldTcp(const OldTcpSpec& settings, DurationNs phase_ns);

  void write(std::uint32_t bytes) { written_ += bytes; }
  // Returns the next segment to send now.
  [[nodiscard]] std::optional<Sending> next(TimeNs now_ns);
  // The connection is open on the other side, too.
  void opened(TimeNs now_ns);
  // The receiver has all segments below `next`.
  void acknowledged(std::uint32_t next, TimeNs now_ns);
  [[nodiscard]] TimeNs timer_at_ns() const { return timer_at_ns_; }  // 0: no timer
  // Requires: the timer is due.
  void timer(TimeNs now_ns);

  [[nodiscard]] std::uint32_t written() const { return written_; }  // bytes
  [[nodiscard]] std::uint32_t unsent() const { return written_ - cut_; }
  // Returns the bytes up to the end of a segment. Requires: among the last 2 * kSegmentsMax that were sent.
  [[nodiscard]] std::uint32_t end_of(std::uint32_t segment) const { return ends_[segment % ends_.size()]; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }  // segments of payload
  [[nodiscard]] std::uint64_t retransmitted() const { return retransmitted_; }
  [[nodiscard]] std::uint64_t timeouts() const { return timeouts_; }
  [[nodiscard]] double window() const { return window_; }

 private:
  enum class State : std::uint8_t { closed, opening, open };
  enum class Reaction : std::uint8_t { none, duplicates, timeout };  // the last one to a loss

  [[nodiscard]] std::uint32_t usable_window() const;
  [[nodiscard]] DurationNs timeout_ns() const;
  void restart_after_idle(TimeNs now_ns);
  [[nodiscard]] Sending send(std::uint32_t segment, TimeNs now_ns);
  void measure(TimeNs now_ns);
  void grow();
  void halve();
  void duplicate(TimeNs now_ns);
  void end_recovery(bool partial);
  void arm(TimeNs now_ns) { timer_at_ns_ = now_ns + timeout_ns(); }

  OldTcpSpec settings_;
  DurationNs phase_ns_;
  std::array<std::uint32_t, std::size_t{2} * kSegmentsMax> ends_{};  // by segment, a ring
  std::uint32_t written_ = 0;
  std::uint32_t cut_ = 0;    // bytes that are in segments
  std::uint32_t first_ = 0;  // not acknowledged
  std::uint32_t next_ = 0;   // to be sent next
  std::uint32_t end_ = 0;    // behind the last segment ever sent
  State state_ = State::closed;
  bool first_again_ = false;  // the first one has to be sent again now

  double window_;
  std::uint32_t threshold_;
  std::uint32_t duplicates_ = 0;
  std::uint32_t recover_ = 0;  // end_ at the last loss
  bool recovering_ = false;
  Reaction reaction_ = Reaction::none;

  // Round trips in ticks, in fixed point: eighths, and quarters (Jacobson 1988).
  std::int32_t smoothed_eighths_ = 0;
  std::int32_t deviation_quarters_ = 0;
  DurationNs base_timeout_ns_;
  std::uint32_t backoff_ = 1;
  bool measuring_ = false;
  std::uint32_t measured_ = 0;  // segment
  TimeNs measured_ns_ = 0;
  TimeNs last_sent_ns_ = -1;
  TimeNs timer_at_ns_ = 0;

  std::uint64_t sent_ = 0;
  std::uint64_t retransmitted_ = 0;
  std::uint64_t timeouts_ = 0;
};

// The receiving side: acknowledges each segment at once.
class OldTcpReceiver {
 public:
  // Returns the number of the first segment that is missing.
  std::uint32_t segment(std::uint32_t number);
  [[nodiscard]] std::uint32_t next() const { return next_; }

 private:
  std::uint32_t next_ = 0;
  std::uint64_t beyond_ = 0;  // bit i: segment next_ + 1 + i has arrived
};

}  // namespace weir::packet_model
