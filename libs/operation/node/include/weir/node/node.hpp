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

// Receives a node's reports besides the supervisor: exporters, the bus. Called on the loop's thread, at the
// status interval and with the final report.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual void take(const v1::Report& report) = 0;
};

// Receives requested samples of slices. Returns false if a sample was not accepted. Called on the loop's
// thread.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  virtual bool publish(std::string_view tag, ConstBytes sample) = 0;
};

// The owner of a supervisor's node: receives the node's address and the result of its run.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  virtual void on_listening(const std::string& endpoint) = 0;  // host:port for other nodes
  virtual void on_summary(const v1::RunSummary& summary) = 0;
};

// One process' node, driven by a loop: pass() after each batch of I/O and at least every kIdleWait.
class Node {
 public:
  virtual ~Node() = default;
  virtual void pass(TimeNs now_ns) = 0;
  // Returns when the next pass is due without input; the largest TimeNs: at no set time.
  [[nodiscard]] virtual TimeNs wake_at_ns() const { return std::numeric_limits<TimeNs>::max(); }
  // Returns whether the node is done and may end; its streams are flushed first.
  [[nodiscard]] virtual bool finished() const = 0;
  // Returns whether the node still prepares its work, and no run can have begun in it. A failure() meanwhile
  // is a start that failed.
  [[nodiscard]] virtual bool is_preparing() const { return false; }
  // SIGINT or SIGTERM.
  virtual void on_signal(std::string_view signal_name) = 0;
  // Carries out run control's command for the current run. The supervisor's node knows the commands; others
  // ignore it.
  virtual void on_command(const v1::Command& command) { (void)command; }
  // A client requests samples of the current run, or renews its request; handled by a DCM's node.
  virtual void on_tap(const v1::TapWish& wish) { (void)wish; }
  // Supervisor: whether the run has begun, drains, or is paused.
  [[nodiscard]] virtual bool begun() const { return true; }
  [[nodiscard]] virtual bool draining() const { return false; }
  [[nodiscard]] virtual bool paused() const { return false; }
  // Ends the node's work on other threads, before it is destroyed. Returns false if some work does not end
  // and still uses the node: then the node and its setup must stay until the process ends, which should be
  // soon.
  [[nodiscard]] virtual bool let_go() { return true; }
  // Returns why the process has to end with status 1, or an empty string.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  // For tests: checks the node's invariants, and returns the first one that does not hold, or an empty
  // string.
  [[nodiscard]] virtual std::string broken_invariant() { return {}; }
};

}  // namespace weir::node
