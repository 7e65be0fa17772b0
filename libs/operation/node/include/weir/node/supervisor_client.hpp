#pragma once

#include <weir/node/node.hpp>
#include <weir/ports/clock.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>

#include <functional>
#include <string>

namespace weir::node {

// Receives the supervisor's messages to a node.
class SupervisorEvents {
 public:
  virtual ~SupervisorEvents() = default;
  virtual void on_supervisor_ready() {}
  virtual void on_supervisor_gone() {}
  virtual void on_begin_run(const v1::BeginRun& begin) = 0;
  // Receives the messages of the node's role: assign, confirm, announce, clear, directory.
  [[nodiscard]] virtual Expected<void, wire::WireError> on_supervisor_message(const v1::Control& message) = 0;
  // The run is over: finish the work. make_report(true) is called once run_ended() returns true.
  virtual void on_end_run() = 0;
  [[nodiscard]] virtual bool run_ended() const = 0;
  [[nodiscard]] virtual v1::Report make_report(bool final) = 0;
};

// A node's side of its connection to the supervisor: hello, periodic reports, the end of the run. Reconnects
// as long as the node exists.
class SupervisorClient final : public sessions::PeerHandler {
 public:
  SupervisorClient(const sessions::PeerInfo& self, const sessions::PeerLimits& limits,
                   sessions::PeerCounters& counters, const ports::Endpoint& supervisor, DurationNs retry_ns,
                   DurationNs report_ns, SupervisorEvents& events, ReportSink* reports);

  void tick(ports::Network& network, TimeNs now_ns);
  [[nodiscard]] bool ready() const { return link_.ready(); }
  void send(const v1::Control& message) { link_.peer().send(message); }
  // Answers BeginRun; `refusal`: why the process cannot begin the run, empty if it has.
  void send_begun(const std::string& refusal);
  [[nodiscard]] sessions::Peer& peer() { return link_.peer(); }
  // Returns whether the final report is sent and the supervisor has released the process.
  [[nodiscard]] bool finished() const { return finished_; }
  // Returns when the connection was lost; 0 while it exists.
  [[nodiscard]] TimeNs lost_since_ns() const { return link_.ready() ? 0 : link_.down_since_ns(); }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  wire::PayloadPlace on_header(sessions::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;

  void report(bool final);

  SupervisorEvents& events_;
  ReportSink* reports_;
  const sessions::PeerInfo& self_;
  sessions::PeerInfo shown_;  // in the hello: `self` as of the first tick, and the passes received since
  sessions::Connector link_;
  DurationNs report_ns_;
  TimeNs next_report_ns_ = 0;
  bool started_ = false;
  bool ending_ = false;
  bool shutdown_ = false;
  bool final_sent_ = false;
  bool finished_ = false;
  std::string last_error_;
};

}  // namespace weir::node
