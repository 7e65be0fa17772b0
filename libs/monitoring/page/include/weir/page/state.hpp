#pragma once

#include <weir/base/time.hpp>
#include <weir/control/alarms.hpp>
#include <weir/control/disk_space.hpp>
#include <weir/control/health.hpp>
#include <weir/control/states.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::v1 {
class Report;
class RunSummary;
}  // namespace weir::v1

// The contents of the page. Plain data, which run control fills anew each second.
namespace weir::page {

struct MemberView {
  std::string name;        // of the process, as in the plan
  std::string role;        // "supervisor", "readout", "dcm", "writer"; others are listed, not drawn
  std::string host;        // its host; may be empty
  std::string importance;  // "essential", "dynamic", "transient"; may be empty
  std::string state;   // "idle", "standby", "ready", "running", "paused", "error", "dead", "inactive", …
  std::string reason;  // why it is in that state; may be empty
  double heartbeat_age_s = -1;  // since its last heartbeat; negative: never
  std::shared_ptr<const v1::Report>
      report;             // the last report; null: none yet. Not changed after it is handed over
  std::uint32_t pid = 0;  // on its host; 0: unknown
};

struct LedgerLine {
  std::string name;  // "triggers: offered = triggered + vetoed"
  std::string left;
  std::string right;
  bool good = true;
  std::string note;  // "same ids"
};

// One past run.
struct RunEntry {
  std::uint32_t number = 0;
  UtcNs begin_utc_ns = 0;
  DurationNs running_ns = 0;  // without pauses
  std::uint64_t triggered = 0;
  std::uint64_t stored = 0;
  std::uint64_t rejected = 0;
  std::uint64_t discarded = 0;
  bool balanced = true;
  bool faults = false;  // it had faults and survived them
  std::string reason;   // why it ended
  std::string outcome;  // FarmView.Run.outcome; empty: from an old log
  std::string failure;  // why it was not a good run
  std::uint64_t discarded_at_stop = 0;
};
// Returns the equations of a run's account.
[[nodiscard]] std::vector<LedgerLine> ledger_lines(const v1::RunSummary& summary);

// A key that was set to another value than the farm file's.
struct Override {
  std::string key;
  std::string value;
  std::string origin;     // "command line", "set", "configure", "start"
  bool in_force = false;  // in use by the processes
  bool unset = false;     // removed with the next `configure`
};

struct ChannelState {
  std::string name;
  std::string error;  // of its last message; empty: it was delivered
};

// A check of the filter's histograms.
struct CheckState {
  std::string name;
  std::string histogram;
  std::string verdict;                                   // "good", "not judged", "failed"
  control::Gravity gravity = control::Gravity::warning;  // of a failure
  std::string reason;
};

// A ring of a switch in software. Frames and drops are those since the switch began, depths those of the run.
struct SwitchRing {
  std::string of;  // the switch
  std::string ring;
  std::uint64_t waiting = 0;  // now
  std::uint64_t waiting_bytes = 0;
  std::uint64_t waiting_most = 0;
  std::uint64_t waiting_bytes_most = 0;
  std::uint64_t room = 0;
  std::uint64_t frames = 0;  // that left
  std::uint64_t dropped = 0;
};

struct Farm {
  std::string name;
  control::State state = control::State::idle;
  std::vector<control::Finding> health;           // the worst first, from control::health_of()
  std::optional<control::Command> under_way;      // a transition
  bool over = false;                              // the farm has ended, or is about to, on purpose
  std::uint32_t run = 0;                          // the current one, else the last one; 0: none yet
  UtcNs now_utc_ns = 0;                           // the moment of this state
  UtcNs run_begin_utc_ns = 0;                     // 0: no run
  std::vector<control::Command> commands;         // possible commands
  std::vector<Override> overrides;                //
  std::vector<MemberView> members;                // in the plan's order
  std::vector<control::DiskUse> disks;            // with folders of the farm
  std::vector<SwitchRing> switch_rings;           // of control.switches
  std::vector<control::Alarm> alarms;             // active ones
  std::vector<control::AlarmShelf> shelves;       //
  std::vector<ChannelState> alarm_channels;       //
  std::string sequence;                           // progress of the last one; empty: none
  std::vector<CheckState> checks;                 // of the run `checks_run`
  std::uint32_t checks_run = 0;                   // 0: none yet
  std::optional<double> live_share;               // of the last seconds
  std::vector<LedgerLine> ledger;                 // of the last run that ended; may be empty
  std::uint64_t histograms = 0;                   // grows whenever Page::show_histograms() has new contents
  std::vector<RunEntry> runs;                     // the latest last
  std::map<std::string, std::string> run_fields;  // the operator's, of `run`
  std::vector<std::string> required_fields;       // without which no run is started
  std::vector<std::string> run_types;             // allowed values of the field `type`; empty: any
};

enum class LogLevel : std::uint8_t { trace, debug, info, warning, error };
[[nodiscard]] std::string_view name(LogLevel level);
[[nodiscard]] std::optional<LogLevel> log_level(std::string_view text);

struct LogLine {
  UtcNs utc_ns = 0;
  std::string process;
  LogLevel level = LogLevel::info;
  std::string text;
};

struct RequestedCommand {
  control::Command kind = control::Command::init;  // never `off`; unused for an alert
  // start: run, slices, duration_s, field.NAME; configure: set (key=value lines); an alert: before_s,
  // after_s, reason; an annotation: run, field.NAME
  std::map<std::string, std::string> parameters;
  std::string peer;         // of the client
  bool burst = false;       // an alert for the burst saver (POST /api/burst)
  bool annotation = false;  // POST /api/annotate
  // Of POST /api/alarm: ack, shelve, unshelve, test; with parameters alarm, person, for_s. Empty: another.
  std::string alarm = {};
  // Of POST /api/act: add, remove, restart, log-level, set, unset, try-settings, form, off. Empty: another.
  std::string action = {};
  std::vector<std::string> nodes = {};  // of an action: processes
  std::vector<std::string> sets = {};   // likewise: key=value; unset: keys
  bool all = false;                     // unset: every key
  bool last = false;                    // remove: also the last process of its kind
  std::string person = {};              // whose token it came with; empty: without a name
};

struct CommandAnswer {
  bool taken = true;  // false: refused, with reason and remedy in `message`
  std::string message;
  std::string document = {};  // JSON, for the answer's `document`; empty: none
};

}  // namespace weir::page
