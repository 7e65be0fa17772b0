#pragma once

#include "alarm_history.hpp"
#include "alarm_sender.hpp"
#include "event_log.hpp"
#include "parts.hpp"
#include <weir/config/alarms.hpp>
#include <weir/control/alarms.hpp>
#include <weir/control/preflight.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control {

// Tells people about the farm's findings: feeds control::AlarmBook, and carries out its messages.
class AlarmWatch {
 public:
  // `history`: path of a file; empty: none.
  AlarmWatch(config::Alarms alarms, const std::string& history, EventLog& log);

  void recall(const v1::ControlMemory& memory, const control::AlarmTime& at);
  // True once a second: look() is due.
  [[nodiscard]] bool is_due(TimeNs now) const { return now >= next_look_ns_; }
  void look(const Parts& parts, const std::vector<control::Finding>& findings, UtcNs utc);
  // Each turn: takes the ends of messages, and sends due ones.
  void turn(const Parts& parts, UtcNs utc);
  // Carries out a person's wish. Returns an error; empty: done.
  [[nodiscard]] std::string carry_out(const v1::AlarmWish& wish, const std::string& by,
                                      const control::AlarmTime& at);
  // Channels that do not deliver, as findings.
  [[nodiscard]] std::vector<control::Finding> findings() const;

  // Whether each channel delivers.
  [[nodiscard]] std::vector<control::PreflightFacts::Channel> channels() const;

  void add_to(v1::ControlMemory& memory) const;
  void add_to(v1::FarmView& view) const;

 private:
  struct Sent {
    std::uint64_t serial = 0;
    TimeNs until = 0;
    std::string subject;
    std::string text;
  };
  void add_conditions(const Parts& parts, std::vector<control::AlarmCause>& causes);
  // Notes which processes still report.
  void note_reports(const Parts& parts);
  [[nodiscard]] std::string breach(const config::AlarmCondition& condition, std::size_t index,
                                   const Parts& parts, std::vector<std::string>& subjects);
  // `message`: the one that has ended; null: none.
  void note_events(const Sent* message = nullptr);

  std::vector<config::AlarmWay> ways_;
  std::vector<config::AlarmCondition> conditions_;
  control::AlarmBook book_;
  AlarmSender sender_;
  AlarmHistory history_;
  EventLog& log_;
  std::map<std::size_t, Sent> sent_;  // by channel: messages under way
  std::uint64_t serial_ = 0;
  TimeNs next_look_ns_ = 0;
  struct Count {
    TimeNs at = 0;
    double value = 0;
    std::optional<double> rate;  // nullopt: not known yet
  };
  struct Heard {
    TimeNs report = 0;  // time in it
    TimeNs at = 0;
  };
  std::vector<Heard> heard_;                                     // the last report of each member
  std::map<std::pair<std::size_t, std::size_t>, Count> counts_;  // by condition and member
};

// Returns the names that occur in a text, as words of their own.
[[nodiscard]] std::vector<std::string> names_in(const std::string& text,
                                                const std::vector<std::string>& names);

}  // namespace weir::run_control
