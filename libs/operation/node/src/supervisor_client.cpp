#include <weir/base/assert.hpp>
#include <weir/node/supervisor_client.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace weir::node {

SupervisorClient::SupervisorClient(const sessions::PeerInfo& self, const sessions::PeerLimits& limits,
                                   sessions::PeerCounters& counters, const ports::Endpoint& supervisor,
                                   DurationNs retry_ns, DurationNs report_ns, SupervisorEvents& events,
                                   ReportSink* reports)
    : events_(events),
      reports_(reports),
      self_(self),
      link_(shown_, *this, limits, counters, supervisor, retry_ns),
      report_ns_(report_ns) {
  link_.expect(Role::supervisor, NodeIndex(0));
}

void SupervisorClient::tick(ports::Network& network, TimeNs now_ns) {
  if (!std::exchange(started_, true)) shown_ = self_;
  link_.tick(network, now_ns);
  if (!link_.ready()) return;
  if (ending_ && !final_sent_ && events_.run_ended()) {
    report(true);
    final_sent_ = true;
  }
  if (final_sent_) {
    finished_ = shutdown_;
    return;
  }
  if (now_ns < next_report_ns_) return;
  next_report_ns_ = now_ns + report_ns_;
  report(false);
}

void SupervisorClient::send_begun(const std::string& refusal) {
  if (!link_.ready()) return;
  v1::Control message;
  message.mutable_begun()->set_refusal(refusal);
  send(message);
}

void SupervisorClient::report(bool final) {
  WEIR_ASSERT(!final_sent_);  // the final report is the last one
  v1::Control message;
  *message.mutable_report() = events_.make_report(final);
  send(message);
  if (reports_ == nullptr) return;
  // Run control receives the sums of all DCMs from the supervisor.
  message.mutable_report()->clear_filter_histograms();
  reports_->take(message.report());
}

void SupervisorClient::on_ready(sessions::Peer& peer) {
  spdlog::info("supervisor connected peer={}", peer.stream().peer());
  last_error_.clear();
  events_.on_supervisor_ready();
}

void SupervisorClient::on_gone(sessions::Peer& peer, std::string_view why) {
  if (last_error_ != why)
    spdlog::warn("supervisor not connected peer={} reason=\"{}\"", peer.stream().peer(), why);
  last_error_ = why;
  events_.on_supervisor_gone();
}

wire::PayloadPlace SupervisorClient::on_header(sessions::Peer&, const wire::FrameHeader&) { return {}; }

Expected<void, wire::WireError> SupervisorClient::on_frame(sessions::Peer&, const wire::FrameHeader&,
                                                           ConstBytes) {
  return Unexpected<wire::WireError>(wire::WireError::not_expected);
}

Expected<void, wire::WireError> SupervisorClient::on_control(sessions::Peer&, const v1::Control& message) {
  shown_.last_pass = std::max(shown_.last_pass, message.pass());
  switch (message.body_case()) {
    case v1::Control::kBeginRun:
      events_.on_begin_run(message.begin_run());
      return {};
    case v1::Control::kEndRun:
      shutdown_ = shutdown_ || message.end_run().shutdown();
      if (!ending_) {
        ending_ = true;
        events_.on_end_run();
      }
      return {};
    default:
      return events_.on_supervisor_message(message);
  }
}

}  // namespace weir::node
