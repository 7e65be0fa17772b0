#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>

#include <limits>
#include <string>
#include <string_view>

namespace weir::v1 {
class Command;
class Report;
class RunSummary;
class TapWish;
}  // namespace weir::v1

namespace weir::node {

// Receives a node's reports beside the supervisor: exporters, the bus. Called on the loop's thread, at the
// status interval and with the final report.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual void take(const v1::Report& report) = 0;
};

// Where samples of slices go that a wish asked for. False: it was not taken. Called on the loop's thread.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  virtual bool publish(std::string_view tag, ConstBytes sample) = 0;
};

// The process that started a supervisor's node: it has to learn where the node listens and how its run ended.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  virtual void on_listening(const std::string& endpoint) = 0;  // host:port that nodes reach it at
  virtual void on_summary(const v1::RunSummary& summary) = 0;
};

// One process's node, driven by a loop: pass() after each batch of I/O and at least every kIdleWait.
class Node {
 public:
  virtual ~Node() = default;
  virtual void pass(TimeNs now_ns) = 0;
  // When the next pass is due although nothing arrives; the largest TimeNs: at no set time.
  [[nodiscard]] virtual TimeNs wake_at_ns() const { return std::numeric_limits<TimeNs>::max(); }
  // The node has done its work and may end; its streams are flushed first.
  [[nodiscard]] virtual bool finished() const = 0;
  // SIGINT or SIGTERM.
  virtual void on_signal(std::string_view signal_name) = 0;
  // What run control wants of the run that is on; the supervisor's node knows the kinds, others ignore it.
  virtual void on_command(const v1::Command& command) { (void)command; }
  // A client wants samples of the run that is on, or renews its wish; a DCM's node acts on it.
  virtual void on_tap(const v1::TapWish& wish) { (void)wish; }
  // Supervisor: the run has begun, drains, and is paused.
  [[nodiscard]] virtual bool begun() const { return true; }
  [[nodiscard]] virtual bool draining() const { return false; }
  [[nodiscard]] virtual bool paused() const { return false; }
  // Before it is destroyed: ends what works for it on other threads. False: something there does not end and
  // still uses the node, which must then stay as it is, with its setup, until the process ends, soon.
  [[nodiscard]] virtual bool let_go() { return true; }
  // Empty when all is well, else why the process ends with status 1.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  // For tests: recounts what the node has, and names the first rule that does not hold; empty when all do.
  [[nodiscard]] virtual std::string broken_invariant() { return {}; }
};

}  // namespace weir::node
