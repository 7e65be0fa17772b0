#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::shaping {

// Whether foreign traffic fills the port's buffer, or the port has become slower: either halves the rate. A
// slower port is empty as soon as this collector requests nothing; a foreign queue stays. A flow that keeps
// the buffer full leaves next to nothing to those that back off, so it is pushed back, up to half of the
// port. Pure.
class ForeignTraffic {
 public:
  enum class Advice : std::uint8_t {
    none,    // the window is found as on any port
    hold,    // it stays as it is
    probe,   // request next to nothing for a moment, and report the answers
    push,    // a larger one
    unpush,  // the last push gained nothing: as it was before
    gone,    // the window that it had before the first push
    slower,  // the port is another one
  };

  // The port's rate without foreign traffic, bytes per ns; the highest counts.
  void alone(double rate);
  // The rate at the end of an epoch, and the window.
  [[nodiscard]] Advice epoch(double rate, double window, TimeNs now_ns);
  // Data was lost although the window had been made smaller.
  void lost(TimeNs now_ns) { lost_ns_ = now_ns; }

  // A probe: what is requested from now on waits for foreign traffic alone.
  void begin_probe(TimeNs now_ns);
  // Whether the answer to a request of that time counts.
  [[nodiscard]] bool probes(TimeNs requested_ns) const { return probing_ && requested_ns >= probe_begun_ns_; }
  // An answer that counts waited behind this many bytes.
  void note_answer(double waited_bytes);
  void end_probe(TimeNs now_ns);
  void cancel_probe() { probing_ = false; }

  // The port is another one, or is divided anew.
  void forget();

  // According to the last probe.
  [[nodiscard]] bool there() const { return there_; }
  [[nodiscard]] double before_push() const { return before_push_window_; }
  [[nodiscard]] double before_all() const { return first_window_; }

 private:
  [[nodiscard]] Advice push(double rate, double window, TimeNs now_ns);

  double alone_rate_ = 0;
  int low_epochs_ = 0;
  TimeNs low_since_ns_ = 0;
  TimeNs lost_ns_ = -kSecond;
  bool there_ = false;
  bool probing_ = false;
  TimeNs probe_begun_ns_ = 0;
  double least_waited_ = 0;  // bytes
  TimeNs probe_ns_ = -kSecond;
  double before_push_rate_ = 0;  // 0: no push is on trial
  double before_push_window_ = 0;
  double first_window_ = 0;
  int pushes_in_vain_ = 0;
  TimeNs no_push_until_ns_ = 0;
};

}  // namespace weir::shaping
