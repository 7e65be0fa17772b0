#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::shaping {

// Decides whether foreign traffic fills the port's buffer or the port has become slower; either one halves
// the rate. A slower port is empty once this DCM requests nothing; a foreign queue remains. A flow that keeps
// the buffer full leaves almost no rate to flows that back off, so it is displaced, up to half of the port.
// Pure.
class ForeignTraffic {
 public:
  struct Advice {
    bool probe = false;  // request next to nothing for a moment, and report the answers
    double window = 0;   // bytes, next to foreign traffic; 0: find the window as on any port
  };

  // Notes a rate of the port without foreign traffic, bytes per ns; the highest is kept.
  void alone(double rate);
  // Takes the rate at the end of an epoch, and the window.
  [[nodiscard]] Advice epoch(double rate, double window, TimeNs now_ns);

  // Begins a probe: requests from now on wait only for foreign traffic.
  void begin_probe(TimeNs now_ns);
  // Returns whether the answer to a request of that time belongs to the probe.
  [[nodiscard]] bool probes(TimeNs requested_ns) const { return probing_ && requested_ns >= probe_begun_ns_; }
  // An answer of the probe waited behind this many bytes.
  void note_answer(double waited_bytes);
  void end_probe(TimeNs now_ns);
  void cancel_probe() { probing_ = false; }

  // The port has changed, or is divided anew.
  void forget() { *this = {}; }

  // Returns whether the last probe found foreign traffic.
  [[nodiscard]] bool there() const { return there_; }

 private:
  [[nodiscard]] double push(double rate, double window, TimeNs now_ns);

  double alone_rate_ = 0;
  int low_epochs_ = 0;
  TimeNs low_since_ns_ = 0;
  bool there_ = false;
  bool probing_ = false;
  bool all_waited_ = false;  // each answer of the probe, for a queue
  TimeNs probe_begun_ns_ = 0;
  TimeNs probe_ns_ = -kSecond;
  double before_push_rate_ = 0;  // 0: no push is being tried
  double before_push_window_ = 0;
  std::uint32_t pushes_in_vain_ = 0;
  TimeNs no_push_until_ns_ = 0;
};

}  // namespace weir::shaping
