#pragma once

#include <weir/base/time.hpp>
#include <weir/control/health.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::control {

struct AlarmTime {
  TimeNs now = 0;
  UtcNs utc = 0;
};

// An active alarm.
struct Alarm {
  std::string name;
  Gravity gravity = Gravity::warning;  // the worst since it was raised
  std::string reason;                  // when it was raised or changed
  std::string reason_now;
  std::vector<std::string> subjects;  // all since it was raised, sorted
  UtcNs since_utc = 0;
  std::string acked_by;  // empty: by nobody
  UtcNs acked_utc = 0;
};

// A way by which messages reach people.
struct AlarmChannel {
  std::string name;
  Gravity from = Gravity::warning;
  DurationNs alive_ns = 0;  // above 0: it sends no alarms but "run control is alive", this often
};

struct AlarmMessage {
  enum class Kind : std::uint8_t { alarm, reminder, all_clear, test, alive };
  struct Line {
    std::string name;
    Gravity gravity = Gravity::warning;
    std::string reason;
    UtcNs since_utc = 0;
    UtcNs until_utc = 0;      // 0: active
    std::uint32_t times = 1;  // raised since the last message about it
    std::string acked_by;
  };
  std::size_t channel = 0;
  Kind kind = Kind::alarm;
  Gravity gravity = Gravity::good;  // of its worst active line
  std::vector<Line> lines;          // the worst first, ended ones last; at most kLinesMax
  std::size_t left_out = 0;         // lines
  std::size_t others = 0;           // active alarms that were told before
  std::uint64_t lost = 0;           // ended alarms that were never told: too many at a time
  std::string by;                   // of a test

  static constexpr std::size_t kLinesMax = 20;
};
[[nodiscard]] std::string_view name(AlarmMessage::Kind kind);  // "alarm", "all clear", …

// The farm, for texts.
struct AlarmScene {
  std::string farm;
  std::uint32_t run = 0;  // 0: none yet
  std::string state;
};
// Returns one line, as "[antares] error: blocked: writer-0: the disk is full (+2 more)".
[[nodiscard]] std::string subject_of(const AlarmMessage& message, const AlarmScene& scene);
// Returns a line for each alarm.
[[nodiscard]] std::string body_of(const AlarmMessage& message, const AlarmScene& scene);

// One channel's share: which alarms it has to tell, when it may, and whether its messages arrive. Repeats are
// gathered: while it may not send, an alarm stays one line with a count. Pure; times ascend.
class AlarmOutlet {
 public:
  static constexpr DurationNs kGather = 2 * kSecond;       // from the first news to its message
  static constexpr DurationNs kRetryFirst = 10 * kSecond;  // after a failure; doubled each time,
  static constexpr DurationNs kRetryMax = 600 * kSecond;   // up to this
  static constexpr std::uint32_t kDownAfter = 2;           // failures in a row
  static constexpr std::size_t kEntriesMax = 200;          // ended ones beyond are dropped, and counted

  AlarmOutlet(AlarmChannel channel, std::size_t index, std::uint32_t per_hour);

  // The alarm is news: raised, worse, with other subjects, or no longer shelved.
  void tell(const Alarm& alarm, TimeNs now);
  void end(const std::string& alarm, const AlarmTime& at);
  // Stops messages about the alarm until tell(), except for the end of one that was told. The all clear of
  // others does not wait for it.
  void shelve(const std::string& alarm);
  void test(const std::string& by) { test_by_ = by; }
  // Restores that this alarm was told.
  void recall(const Alarm& alarm, TimeNs now);
  [[nodiscard]] bool has_told(const std::string& alarm) const;
  // Alarms that were told and have ended, which was not told yet.
  [[nodiscard]] std::vector<Alarm> untold_ends() const;

  // Reminds of the alarm, if that is due.
  void remind(const std::string& alarm, DurationNs every, TimeNs now);
  // Keeps the alarm's line as it is now.
  void refresh(const Alarm& alarm);
  // Returns the message to send now; then delivered() has to be called.
  [[nodiscard]] std::optional<AlarmMessage> take_due(TimeNs now);
  void delivered(const std::string& error, const AlarmTime& at);

  [[nodiscard]] const AlarmChannel& channel() const { return channel_; }
  [[nodiscard]] bool is_busy() const { return busy_.has_value(); }
  [[nodiscard]] bool is_down() const { return failures_ >= kDownAfter; }
  [[nodiscard]] std::uint32_t failures() const { return failures_; }  // in a row
  [[nodiscard]] const std::string& error() const { return error_; }   // of the last failure
  [[nodiscard]] UtcNs down_utc() const { return down_utc_; }          // of the first of these failures
  [[nodiscard]] UtcNs sent_utc() const { return sent_utc_; }          // of the last message; 0: none
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  [[nodiscard]] std::size_t waiting() const;  // alarms with news

 private:
  struct Entry {
    AlarmMessage::Line line;
    bool news = false;
    bool reminder = false;  // the only news
    bool told = false;
    bool shelved = false;
    bool sending = false;       // in the message under way,
    bool sending_over = false;  // as ended
    TimeNs told_at = 0;
    [[nodiscard]] bool over() const { return line.until_utc != 0; }
  };
  [[nodiscard]] bool takes(const Alarm& alarm) const;
  [[nodiscard]] bool has_active() const;
  [[nodiscard]] bool has_news() const;
  [[nodiscard]] bool has_new_error() const;
  [[nodiscard]] bool take_token(TimeNs now);
  [[nodiscard]] AlarmMessage compose();
  void settle(bool good, TimeNs now);
  void drop_some();

  AlarmChannel channel_;
  std::size_t index_;
  double per_ns_;  // tokens
  double tokens_max_;
  double advance_max_;
  double tokens_;  // below 0: errors have used those of later messages
  TimeNs tokens_at_ = 0;
  std::map<std::string, Entry> entries_;
  std::optional<TimeNs> news_since_;
  std::optional<AlarmMessage::Kind> busy_;  // with a message
  std::optional<std::string> test_by_;
  TimeNs retry_at_ = 0;
  TimeNs alive_at_ = 0;
  std::uint32_t failures_ = 0;
  std::string error_;
  UtcNs down_utc_ = 0;
  UtcNs sent_utc_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace weir::control
