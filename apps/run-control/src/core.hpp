#pragma once

#include "alarm_watch.hpp"
#include "commands.hpp"
#include "farm_disks.hpp"
#include "frozen_watch.hpp"
#include "health_watch.hpp"
#include "history_keeper.hpp"
#include "history_sampler.hpp"
#include "hook_desk.hpp"
#include "memory.hpp"
#include "parts.hpp"
#include "process_messages.hpp"
#include "quality_watch.hpp"
#include "rule_watch.hpp"
#include "sequence_watch.hpp"
#include "settings.hpp"
#include "switch_desk.hpp"
#include "taps.hpp"
#include "watchers.hpp"
#include "web.hpp"
#include <weir/control/finding_times.hpp>
#include <weir/node/folder_watch.hpp>
#include <weir/node/log_file.hpp>
#include <weir/node/space_probe.hpp>
#include <weir/node/standstill_report.hpp>
#include <weir/run_control/run_control.hpp>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::run_control {

// Connects the parts: calls and their order.
class RunControl::Core final : private bus::HubHandler {
 public:
  explicit Core(RunControlSettings settings);
  ~Core();

  void turn(DurationNs wait);
  [[nodiscard]] v1::Reply request(const v1::Request& request, security::BusRole role);
  [[nodiscard]] v1::FarmView view() const;
  [[nodiscard]] bool finished() const { return machine_.all_gone(); }
  [[nodiscard]] const bus::Hub& hub() const { return hub_; }
  [[nodiscard]] const Web* web() const { return web_ ? &*web_ : nullptr; }

 private:
  void on_message(const bus::Sender& from, const v1::BusMessage& message) override;
  void watch(const bus::Sender& from, const v1::Request& request);
  void tell_watchers();
  [[nodiscard]] v1::BusMessage watched(std::uint64_t id) const;
  [[nodiscard]] bool sends_long(const bus::Sender& from) const override;
  void on_published(std::string_view tag, ConstBytes payload) override;
  void refuse_publication(std::string_view tag, std::size_t bytes);
  void tell_ports();
  [[nodiscard]] bool begins_anew() const;
  void recall(const v1::ControlMemory& before);
  [[nodiscard]] bool recall_settings(const v1::ControlMemory& before);
  [[nodiscard]] v1::ControlMemory memory() const;
  [[nodiscard]] std::string carry_out(const v1::Request& request);
  void look_for_ports();
  void look_at_hooks();
  void answer_later(const bus::Sender& from, const v1::Request& request, v1::Reply& reply);
  void take_of_process(const bus::Sender& from, const v1::BusMessage& message);
  void look_at_switches();
  void look_at_rules();
  void look_at_records();
  void look_at_disks();
  [[nodiscard]] std::optional<std::uint64_t> own_room() const;
  void look_at_space();
  void look_at_alarms();
  void look_at_history();
  [[nodiscard]] std::vector<control::Finding> findings() const;
  void log_run();
  void show_page();
  void note_events();
  void carry_out_actions();
  void lose_run(const control::LostRun& lost);
  void look_for_account();
  void open_page(const RunControlSettings& settings);

  bool begins_with_file_;
  FarmSetup setup_;
  const OwnSettings own_;
  node::LogFile log_file_;
  node::StandstillReport pauses_;
  RunBook book_;
  Memory memory_;
  bus::Hub hub_;
  HistoryKeeper history_;
  std::optional<Web> web_;  // its thread reads history_
  EventLog log_;
  control::FarmMachine machine_;
  Members members_;
  Orders orders_;
  HookDesk hooks_;
  control::TransitionWatch transitions_;
  struct Asker {
    std::string client;  // that waits for hooks; empty: none
    std::uint64_t id = 0;
  };
  Asker asker_;
  Parts parts_;
  ProcessMessages reception_;
  Commands commands_;
  RuleWatch rules_;
  HealthWatch health_;
  AlarmWatch alarms_;
  SequenceWatch sequence_;
  SwitchDesk switches_;
  QualityWatch quality_;
  HistorySampler sampler_;
  node::FolderWatch folders_;  // of run control
  node::SpaceProbe probe_;     // likewise
  FarmDisks disks_;
  TimeNs next_disk_look_ns_ = 0;
  FrozenWatch frozen_;
  Taps taps_;
  FarmWatchers watchers_;
  std::function<void()> going_off_;
  TimeNs next_show_ns_ = 0;
  TimeNs next_port_look_ns_ = 0;
  control::FindingTimes finding_times_;
  std::uint64_t refused_publications_ = 0;  // too long to be parsed
  std::set<std::string> refused_tags_;      // likewise, of known processes: report.NAME, log.NAME
  std::string no_port_;                     // why no process can connect; empty if they can
  bool no_port_told_ = false;               // in the log
  struct Shown {
    bool over = false;
    bool all_gone = false;
    std::uint32_t account = 0;
    control::State state = control::State::idle;
    std::optional<control::Command> under_way;
    bool operator==(const Shown&) const = default;
  };
  Shown shown_;
  std::string grouped_;  // digest of the farm whose groups of sources the page has
  RunNumber logged_run_;
};

}  // namespace weir::run_control
