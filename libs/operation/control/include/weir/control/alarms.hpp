#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/control/alarm_channel.hpp>
#include <weir/control/health.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// Alarms: findings that people are told about.
namespace weir::control {

struct AlarmTiming {
  DurationNs raise_after = 5 * kSecond;   // how long its cause has to last
  DurationNs clear_after = 30 * kSecond;  // how long it has to be absent
};

// A finding, or a condition of the farm file, that may raise the alarm of its name.
struct AlarmCause {
  Gravity gravity = Gravity::warning;
  std::string name;
  std::string reason;
  std::vector<std::string> subjects;  // processes or a channel; another one makes the alarm news again
};

// Exception for the alarm of a name.
struct AlarmRule {
  std::string name;
  std::optional<Gravity> gravity;  // nullopt: that of the finding
  bool off = false;
  AlarmTiming timing;
};

struct AlarmSettings {
  AlarmTiming timing;
  DurationNs repeat_ns;    // between reminders of unacknowledged alarms; 0: none
  std::uint32_t per_hour;  // messages of a channel
  std::vector<AlarmRule> rules;
  std::vector<AlarmChannel> channels;
};

// For a time no message is sent about the alarm of this name.
struct AlarmShelf {
  std::string name;
  std::string by;
  UtcNs until_utc = 0;
  bool operator==(const AlarmShelf&) const = default;
};

// An event of an alarm or a channel, for the history.
struct AlarmEvent {
  enum class What : std::uint8_t {
    raised,
    changed,
    ended,
    acknowledged,
    shelved,
    unshelved,
    shelf_over,
    sent,
    failed
  };
  UtcNs utc_ns = 0;
  What what = What::raised;
  Gravity gravity = Gravity::warning;
  std::string name;       // of the alarm; of a message: its subject
  std::string reason;     // of a failure: the error
  std::string by;         // a person
  std::string channel;    // of a message
  std::string text = {};  // of a message that was sent: its lines
};
[[nodiscard]] std::string_view name(AlarmEvent::What what);

// Keeps the active alarms with their acknowledgements and shelves, and decides on the next message of each
// channel. Pure; times ascend.
class AlarmBook {
 public:
  static constexpr std::size_t kAlarmsMax = 200;  // further causes are counted
  static constexpr std::size_t kShelvesMax = 100;
  static constexpr DurationNs kShelfMax = 30 * 24 * 3600 * kSecond;
  static constexpr DurationNs kRecallGrace = 60 * kSecond;  // for the causes of alarms of an earlier process
  static constexpr DurationNs kTestsApart = 10 * kSecond;

  explicit AlarmBook(AlarmSettings settings);

  // Takes all present causes.
  void look(const std::vector<AlarmCause>& causes, const AlarmTime& at);
  // Returns the messages to send now, at most one of a channel; each awaits delivered().
  [[nodiscard]] std::vector<AlarmMessage> take_due(const AlarmTime& at);
  // The channel's message was delivered, or why not (a sentence).
  void delivered(std::size_t channel, const std::string& error, const AlarmTime& at);

  // Of people; `name` empty: all active alarms. Errors: no such alarm.
  [[nodiscard]] Expected<void, std::string> acknowledge(const std::string& name, const std::string& by,
                                                        const AlarmTime& at);
  // Replaces an earlier shelf of this name. Errors: no time, too long, too many.
  [[nodiscard]] Expected<void, std::string> shelve(const std::string& name, DurationNs time,
                                                   const std::string& by, const AlarmTime& at);
  [[nodiscard]] Expected<void, std::string> unshelve(const std::string& name, const std::string& by,
                                                     const AlarmTime& at);
  // Sends a test message on every channel. Errors: no channel, too early.
  [[nodiscard]] Expected<void, std::string> test(const std::string& by, const AlarmTime& at);

  [[nodiscard]] std::vector<Alarm> alarms() const;  // active ones, the worst and oldest first
  [[nodiscard]] const std::vector<AlarmShelf>& shelves() const { return shelves_; }
  [[nodiscard]] const std::vector<AlarmOutlet>& channels() const { return outlets_; }
  // Channels that do not deliver.
  [[nodiscard]] std::vector<AlarmCause> dead_channels() const;
  [[nodiscard]] std::uint64_t untracked() const { return untracked_; }  // causes beyond kAlarmsMax
  [[nodiscard]] std::vector<AlarmEvent> take_events();

  struct Remembered {
    struct Active {
      Alarm alarm;
      std::vector<std::string> told;  // names of channels
    };
    std::vector<Active> active;
    std::vector<AlarmShelf> shelves;
  };
  [[nodiscard]] Remembered remembered() const;
  // Requires: called before look().
  void recall(const Remembered& before, const AlarmTime& at);

 private:
  struct Track {
    TimeNs since = 0;  // of its cause, without a break
    TimeNs seen = 0;
    bool present = false;
    bool raised = false;
    Alarm alarm;
  };
  [[nodiscard]] const AlarmRule* rule_of(const std::string& name) const;
  [[nodiscard]] AlarmTiming timing_of(const std::string& name) const;
  [[nodiscard]] bool is_shelved(const std::string& name) const;
  void see(const AlarmCause& cause, const AlarmTime& at);
  void raise(Track& track, AlarmEvent::What what, const AlarmTime& at);
  void end_absent(const AlarmTime& at);
  void end_shelves(const AlarmTime& at);
  void tell_outlets(const Alarm& alarm, const AlarmTime& at);
  void note(AlarmEvent::What what, const Alarm& alarm, const std::string& by, UtcNs utc);

  AlarmSettings settings_;
  std::map<std::string, Track> tracks_;
  std::vector<AlarmShelf> shelves_;
  std::vector<AlarmOutlet> outlets_;
  std::vector<AlarmEvent> events_;
  std::uint64_t untracked_ = 0;
  std::optional<TimeNs> tested_;
};

}  // namespace weir::control
