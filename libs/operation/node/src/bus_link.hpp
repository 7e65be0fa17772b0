#pragma once

#include <weir/bus/client.hpp>
#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/v1/bus.pb.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir::node {

// Sent by a process when it joins, and again when run control has forgotten it.
struct JoinFacts {
  std::string farm;
  std::string name;
  std::string metrics;  // host:port; empty: no metrics
  Incarnation incarnation;
  std::string after;  // as in CommandLine
};

// A process' end of its connection to run control: joins, sends heartbeats, passes on received messages,
// publishes reports and log lines. Never blocks; a farm without its bus continues.
class BusLink final : public ReportSink {
 public:
  // `wake` is called on another thread.
  BusLink(const ports::Endpoint& control, std::optional<security::CurveKeys> keys, JoinFacts facts,
          std::function<void()> wake);

  // Appends run control's orders and tap requests; cheap if none have arrived.
  void receive(std::vector<v1::Order>& orders, std::vector<v1::TapWish>& wishes);
  // Returns whether a heartbeat is due.
  [[nodiscard]] bool heartbeat_due(TimeNs now_ns) const { return now_ns >= next_heartbeat_ns_; }
  void say(const v1::MemberState& state, TimeNs now_ns);
  // Makes a heartbeat due at once.
  void state_changed() { next_heartbeat_ns_ = 0; }
  void answer(const v1::Answer& answer);
  // Repeated with each heartbeat until run control has it.
  void run_over(v1::RunOver over);
  [[nodiscard]] bool all_told() const { return !over_; }
  void leave(const std::string& reason);

  // Returns false if the sample was dropped, because the bus is unreachable or its queue full.
  bool publish_sample(std::string_view tag, ConstBytes payload) {
    return client_.publish(tag, payload, bus::Client::Haste::soon);
  }
  void take(const v1::Report& report) override;
  [[nodiscard]] bus::ClientCounters counters() const { return client_.counters(); }
  // Thread-safe.
  void log(UtcNs utc_ns, const std::string& level, const std::string& text);

 private:
  void on_message(v1::BusMessage& message, std::vector<v1::Order>& orders, std::vector<v1::TapWish>& wishes);
  void on_welcome(const v1::Welcome& welcome);
  void join(const v1::MemberState& state);
  void explain_silence();

  JoinFacts facts_;
  int joins_ = 0;           // sent in vain
  bool explained_ = false;  // why they are in vain
  std::atomic<bool> arrived_ = false;
  bus::Client client_;
  bool joined_ = false;
  std::string refused_;  // logged once
  DurationNs heartbeat_ns_ = kSecond;
  TimeNs next_heartbeat_ns_ = 0;
  std::optional<v1::RunOver> over_;
};

}  // namespace weir::node
