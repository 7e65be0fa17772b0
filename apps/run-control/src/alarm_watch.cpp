#include "alarm_watch.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/config/durations.hpp>
#include <weir/reports/metric_value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

namespace weir::run_control {
namespace {

constexpr DurationNs kOverdue = 30 * kSecond;    // beyond the time limit of a message
constexpr DurationNs kRateTime = 10 * kSecond;   // between two values of a counter
constexpr DurationNs kReportOld = 30 * kSecond;  // the process reports no more
constexpr std::size_t kNameMax = 100;
constexpr double kShelfMaxS = 1e8;  // beyond what the book accepts

bool is_of_name(char one) {
  return std::isalnum(static_cast<unsigned char>(one)) != 0 || one == '-' || one == '_';
}

v1::Alarm alarm_of(const control::Alarm& alarm) {
  v1::Alarm shown;
  shown.set_name(alarm.name);
  shown.set_gravity(std::string(control::name(alarm.gravity)));
  shown.set_reason(alarm.reason);
  shown.set_since_utc_ns(alarm.since_utc);
  shown.set_acked_by(alarm.acked_by);
  shown.set_acked_utc_ns(alarm.acked_utc);
  for (const std::string& one : alarm.subjects) shown.add_subjects(one);
  return shown;
}

v1::AlarmShelf shelf_of(const control::AlarmShelf& shelf) {
  v1::AlarmShelf shown;
  shown.set_name(shelf.name);
  shown.set_by(shelf.by);
  shown.set_until_utc_ns(shelf.until_utc);
  return shown;
}

const char* kind_of(const config::AlarmWay& way) {
  constexpr const char* kKinds[] = {"do", "mail", "webhook"};
  return kKinds[static_cast<std::size_t>(way.kind)];
}

}  // namespace

std::vector<std::string> names_in(const std::string& text, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      if ((at > 0 && is_of_name(text[at - 1])) || (end < text.size() && is_of_name(text[end]))) continue;
      found.push_back(name);
      break;
    }
  }
  return found;
}

AlarmWatch::AlarmWatch(config::Alarms alarms, const std::string& history, EventLog& log)
    : ways_(std::move(alarms.ways)),
      conditions_(std::move(alarms.conditions)),
      book_(std::move(alarms.settings)),
      history_(history),
      log_(log) {
  WEIR_ASSERT(ways_.size() == book_.channels().size());
}

void AlarmWatch::recall(const v1::ControlMemory& memory, const control::AlarmTime& at) {
  control::AlarmBook::Remembered before;
  for (const v1::Alarm& one : memory.alarms()) {
    control::Alarm alarm;
    alarm.name = one.name();
    alarm.gravity = control::gravity_of(one.gravity()).value_or(control::Gravity::warning);
    alarm.reason = one.reason();
    alarm.subjects = {one.subjects().begin(), one.subjects().end()};
    std::ranges::sort(alarm.subjects);
    alarm.since_utc = one.since_utc_ns();
    alarm.acked_by = one.acked_by();
    alarm.acked_utc = one.acked_utc_ns();
    before.active.push_back({std::move(alarm), {one.told().begin(), one.told().end()}});
  }
  for (const v1::AlarmShelf& one : memory.shelves())
    before.shelves.push_back({one.name(), one.by(), one.until_utc_ns()});
  book_.recall(before, at);
}

void AlarmWatch::look(const Parts& parts, const std::vector<control::Finding>& findings, UtcNs utc) {
  next_look_ns_ = parts.now_ns + kSecond;
  std::vector<std::string> names;
  for (const control::Member& member : parts.machine.members()) names.push_back(member.plan.name);
  std::vector<control::AlarmCause> causes;
  for (const control::Finding& one : findings)
    causes.push_back({one.gravity, one.word, one.reason, names_in(one.reason, names)});
  for (control::AlarmCause& one : book_.dead_channels()) causes.push_back(std::move(one));
  add_conditions(parts, causes);
  book_.look(causes, {parts.now_ns, utc});
}

void AlarmWatch::note_reports(const Parts& parts) {
  heard_.resize(parts.members.size());
  for (std::size_t i = 0; i < heard_.size(); ++i) {
    const TimeNs report = parts.members[i].report.now_ns();
    if (heard_[i].report != report) heard_[i] = {report, parts.now_ns};
  }
}

void AlarmWatch::add_conditions(const Parts& parts, std::vector<control::AlarmCause>& causes) {
  note_reports(parts);
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const config::AlarmCondition& condition = conditions_[i];
    std::vector<std::string> subjects;
    std::string reason;
    if (condition.state) {
      if (parts.machine.state() == *condition.state)
        reason = "the farm is " + std::string(control::name(*condition.state));
    } else {
      reason = breach(condition, i, parts, subjects);
    }
    if (!reason.empty())
      causes.push_back({control::Gravity::warning, condition.name, std::move(reason), std::move(subjects)});
  }
}

// Returns the processes beyond the limit, with their values; empty: none.
std::string AlarmWatch::breach(const config::AlarmCondition& condition, std::size_t index, const Parts& parts,
                               std::vector<std::string>& subjects) {
  constexpr std::size_t kShownMax = 4;
  const DurationNs interval = config::from_ms(parts.setup.configured().supervisor().status_interval_ms());
  const DurationNs old = std::max(kReportOld, 3 * interval);
  std::string text;
  std::size_t more = 0;
  for (std::size_t i = 0; i < parts.members.size(); ++i) {
    const control::Member& member = parts.machine.members()[i];
    const v1::Report& report = parts.members[i].report;
    // After a run its last report stays, and would hold the alarm.
    const bool is_heard = member.live && !member.removed && parts.now_ns - heard_[i].at < old;
    const auto value = is_heard ? reports::metric_value(report, condition.metric) : std::nullopt;
    if (!value) continue;
    double now = value->value;
    if (value->grows) {
      Count& count = counts_[{index, i}];
      const DurationNs passed = report.now_ns() - count.at;
      if (count.at == 0 || passed < 0 || now < count.value) {
        count = {report.now_ns(), now, {}};
        continue;
      }
      if (passed >= kRateTime)
        count = {report.now_ns(), now, (now - count.value) * kSecond / static_cast<double>(passed)};
      if (!count.rate) continue;
      now = *count.rate;
    }
    if (!((condition.above && now > *condition.above) || (condition.below && now < *condition.below)))
      continue;
    subjects.push_back(member.plan.name);
    if (subjects.size() > kShownMax) {
      ++more;
      continue;
    }
    text += fmt::format("{}{} {:.4g}{}", text.empty() ? "" : ", ", member.plan.name, now,
                        value->grows ? "/s" : "");
  }
  if (text.empty()) return {};
  if (more > 0) text += fmt::format(" and {} more", more);
  return condition.metric + ": " + text;
}

void AlarmWatch::turn(const Parts& parts, UtcNs utc) {
  const control::AlarmTime at{parts.now_ns, utc};
  const auto settle = [&](std::size_t channel, const std::string& error) {
    WEIR_ASSERT(sent_.contains(channel) && book_.channels()[channel].is_busy());
    const Sent message = std::move(sent_.at(channel));
    sent_.erase(channel);
    book_.delivered(channel, error, at);
    note_events(&message);
  };
  for (const AlarmOutcome& outcome : sender_.take()) {
    const auto found =
        std::ranges::find_if(sent_, [&](const auto& one) { return one.second.serial == outcome.serial; });
    if (found != sent_.end()) settle(found->first, outcome.error);
  }
  std::vector<std::size_t> overdue;
  for (const auto& [channel, one] : sent_) {
    if (parts.now_ns >= one.until) overdue.push_back(channel);
  }
  for (const std::size_t channel : overdue) settle(channel, "its process does not end");
  for (control::AlarmMessage& message : book_.take_due(at)) {
    WEIR_ASSERT(message.channel < ways_.size() && !sent_.contains(message.channel));
    const config::AlarmWay& way = ways_[message.channel];
    const DurationNs limit = static_cast<DurationNs>(way.seconds_max) * kSecond + kOverdue;
    const control::AlarmScene scene{parts.setup.configured().farm(), parts.machine.run().value,
                                    std::string(control::name(parts.machine.state()))};
    sent_[message.channel] = {++serial_, parts.now_ns + limit, control::subject_of(message, scene),
                              control::body_of(message, scene)};
    sender_.send({serial_, way, std::move(message), scene, utc});
  }
  note_events();
}

void AlarmWatch::note_events(const Sent* message) {
  using What = control::AlarmEvent::What;
  for (control::AlarmEvent& event : book_.take_events()) {
    if (message != nullptr && !event.channel.empty()) {
      event.name = message->subject;
      if (event.what == What::sent) event.text = message->text;
    }
    const std::string by = event.by.empty() ? "" : " by " + event.by;
    if (event.what == What::failed) {
      log_.note(control::Level::warning,
                fmt::format("alarm channel {} failed: {}", event.channel, event.reason));
    } else if (!event.by.empty()) {
      log_.note(control::Level::info,
                fmt::format("alarm {}: {}{}", control::name(event.what), event.name, by));
    }
    if (const std::string error = history_.add(event); !error.empty()) log_.error(error);
  }
}

std::string AlarmWatch::carry_out(const v1::AlarmWish& wish, const std::string& by,
                                  const control::AlarmTime& at) {
  const std::string person = clean_text(wish.person().empty() ? by : wish.person(), kNameMax);
  const std::string name = clean_text(wish.alarm(), kNameMax);
  const double for_s = std::isfinite(wish.for_s()) ? std::clamp(wish.for_s(), 0.0, kShelfMaxS) : 0;
  Expected<void, std::string> done =
      Unexpected<std::string>("an alarm request is ack, shelve, unshelve or test");
  if (wish.what() == "ack") done = book_.acknowledge(name, person, at);
  if (wish.what() == "shelve")
    done = book_.shelve(name, static_cast<DurationNs>(for_s * kSecond), person, at);
  if (wish.what() == "unshelve") done = book_.unshelve(name, person, at);
  if (wish.what() == "test") done = book_.test(person, at);
  note_events();
  return done ? std::string() : done.error();
}

std::vector<control::Finding> AlarmWatch::findings() const {
  std::vector<control::Finding> found;
  for (control::AlarmCause& one : book_.dead_channels())
    found.push_back({one.gravity, std::move(one.name), std::move(one.reason)});
  return found;
}

std::vector<control::PreflightFacts::Channel> AlarmWatch::channels() const {
  std::vector<control::PreflightFacts::Channel> channels;
  for (const control::AlarmOutlet& outlet : book_.channels())
    channels.push_back({outlet.channel().name, outlet.error(), outlet.sent() > 0});
  return channels;
}

void AlarmWatch::add_to(v1::ControlMemory& memory) const {
  const control::AlarmBook::Remembered kept = book_.remembered();
  for (const auto& one : kept.active) {
    v1::Alarm& alarm = *memory.add_alarms();
    alarm = alarm_of(one.alarm);
    for (const std::string& channel : one.told) alarm.add_told(channel);
  }
  for (const control::AlarmShelf& one : kept.shelves) *memory.add_shelves() = shelf_of(one);
}

void AlarmWatch::add_to(v1::FarmView& view) const {
  for (const control::Alarm& one : book_.alarms()) {
    v1::Alarm& alarm = *view.add_alarms();
    alarm = alarm_of(one);
    alarm.set_reason(one.reason_now);
  }
  for (const control::AlarmShelf& one : book_.shelves()) *view.add_shelves() = shelf_of(one);
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const control::AlarmOutlet& outlet = book_.channels()[i];
    v1::FarmView::AlarmChannel& channel = *view.add_alarm_channels();
    channel.set_name(outlet.channel().name);
    channel.set_by(kind_of(ways_[i]));
    channel.set_sent(outlet.sent());
    channel.set_failed(outlet.failed());
    channel.set_sent_utc_ns(outlet.sent_utc());
    channel.set_error(outlet.error());
    channel.set_waiting(static_cast<std::uint32_t>(outlet.waiting()));
  }
}

}  // namespace weir::run_control
