#include "findings.hpp"
#include <weir/base/assert.hpp>
#include <weir/control/alarms.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::control {
namespace {

Unexpected<std::string> refuse(std::string why) { return Unexpected<std::string>(std::move(why)); }

// Adds names; true if one is new.
bool add_subjects(const std::vector<std::string>& from, std::vector<std::string>& to) {
  bool added = false;
  for (const std::string& one : from) {
    const auto place = std::ranges::lower_bound(to, one);
    if (place != to.end() && *place == one) continue;
    to.insert(place, one);
    added = true;
  }
  return added;
}

// Findings of one name, as the disks of two hosts, are one alarm.
std::map<std::string, AlarmCause> merged(const std::vector<AlarmCause>& causes) {
  std::map<std::string, AlarmCause> all;
  for (const AlarmCause& cause : causes) {
    const auto [found, is_new] = all.emplace(cause.name, cause);
    if (is_new) continue;
    found->second.gravity = std::max(found->second.gravity, cause.gravity);
    found->second.reason += "; " + cause.reason;
    found->second.subjects.insert(found->second.subjects.end(), cause.subjects.begin(), cause.subjects.end());
  }
  return all;
}

}  // namespace

std::string_view name(AlarmEvent::What what) {
  constexpr std::string_view kNames[] = {"raised",    "changed",    "ended", "acknowledged", "shelved",
                                         "unshelved", "shelf over", "sent",  "failed"};
  return kNames[static_cast<std::size_t>(what)];
}

AlarmBook::AlarmBook(AlarmSettings settings) : settings_(std::move(settings)) {
  for (std::size_t i = 0; i < settings_.channels.size(); ++i)
    outlets_.emplace_back(settings_.channels[i], i, settings_.per_hour);
}

const AlarmRule* AlarmBook::rule_of(const std::string& name) const {
  const auto found = std::ranges::find(settings_.rules, name, &AlarmRule::name);
  return found == settings_.rules.end() ? nullptr : &*found;
}

AlarmTiming AlarmBook::timing_of(const std::string& name) const {
  const AlarmRule* rule = rule_of(name);
  return rule == nullptr ? settings_.timing : rule->timing;
}

bool AlarmBook::is_shelved(const std::string& name) const {
  return std::ranges::find(shelves_, name, &AlarmShelf::name) != shelves_.end();
}

void AlarmBook::note(AlarmEvent::What what, const Alarm& alarm, const std::string& by, UtcNs utc) {
  events_.push_back({utc, what, alarm.gravity, alarm.name, alarm.reason, by, {}});
}

void AlarmBook::look(const std::vector<AlarmCause>& causes, const AlarmTime& at) {
  end_shelves(at);
  for (auto& [name, track] : tracks_) track.present = false;
  for (auto& [name, cause] : merged(causes)) {
    const AlarmRule* rule = rule_of(name);
    if (rule != nullptr && rule->off) continue;
    if (rule != nullptr && rule->gravity) cause.gravity = *rule->gravity;
    if (cause.gravity >= Gravity::warning) see(cause, at);
  }
  end_absent(at);
  for (auto& [name, track] : tracks_) {
    if (!track.raised) continue;
    const bool is_quiet = !track.alarm.acked_by.empty() || is_shelved(name);
    for (AlarmOutlet& outlet : outlets_) {
      outlet.refresh(track.alarm);
      if (!is_quiet && settings_.repeat_ns > 0) outlet.remind(name, settings_.repeat_ns, at.now);
    }
  }
}

void AlarmBook::see(const AlarmCause& cause, const AlarmTime& at) {
  const auto known = tracks_.find(cause.name);
  if (known == tracks_.end() && tracks_.size() >= kAlarmsMax) {
    ++untracked_;
    return;
  }
  Track& track = tracks_[cause.name];
  if (known == tracks_.end()) {
    track.since = at.now;
    track.alarm.name = cause.name;
    track.alarm.gravity = cause.gravity;
  }
  track.present = true;
  track.seen = at.now;
  track.alarm.reason_now = cause.reason;
  const bool is_other = add_subjects(cause.subjects, track.alarm.subjects);
  const bool is_worse = cause.gravity > track.alarm.gravity;
  track.alarm.gravity = std::max(track.alarm.gravity, cause.gravity);
  if (track.raised && (is_other || is_worse)) return raise(track, AlarmEvent::What::changed, at);
  if (!track.raised && at.now - track.since >= timing_of(cause.name).raise_after) {
    track.raised = true;
    track.alarm.since_utc = at.utc;
    raise(track, AlarmEvent::What::raised, at);
  }
}

void AlarmBook::raise(Track& track, AlarmEvent::What what, const AlarmTime& at) {
  track.alarm.reason = track.alarm.reason_now;
  track.alarm.acked_by.clear();
  track.alarm.acked_utc = 0;
  note(what, track.alarm, {}, at.utc);
  tell_outlets(track.alarm, at);
}

void AlarmBook::tell_outlets(const Alarm& alarm, const AlarmTime& at) {
  if (is_shelved(alarm.name)) return;
  for (AlarmOutlet& outlet : outlets_) outlet.tell(alarm, at.now);
}

// A cause that was not there long enough is forgotten.
void AlarmBook::end_absent(const AlarmTime& at) {
  std::erase_if(tracks_, [&](const auto& one) {
    const Track& track = one.second;
    if (track.present) return false;
    if (!track.raised) return true;
    if (at.now - track.seen < timing_of(one.first).clear_after) return false;
    note(AlarmEvent::What::ended, track.alarm, {}, at.utc);
    for (AlarmOutlet& outlet : outlets_) outlet.end(one.first, at);
    return true;
  });
}

// An alarm that is still active is news.
void AlarmBook::end_shelves(const AlarmTime& at) {
  std::vector<std::string> over;
  std::erase_if(shelves_, [&](const AlarmShelf& shelf) {
    if (at.utc < shelf.until_utc) return false;
    over.push_back(shelf.name);
    return true;
  });
  for (const std::string& name : over) {
    Alarm shown;
    shown.name = name;
    note(AlarmEvent::What::shelf_over, shown, {}, at.utc);
    if (const auto track = tracks_.find(name); track != tracks_.end() && track->second.raised)
      tell_outlets(track->second.alarm, at);
  }
}

std::vector<AlarmMessage> AlarmBook::take_due(const AlarmTime& at) {
  std::vector<AlarmMessage> messages;
  for (AlarmOutlet& outlet : outlets_) {
    if (auto message = outlet.take_due(at.now)) messages.push_back(std::move(*message));
  }
  return messages;
}

void AlarmBook::delivered(std::size_t channel, const std::string& error, const AlarmTime& at) {
  WEIR_ASSERT(channel < outlets_.size());
  AlarmOutlet& outlet = outlets_[channel];
  outlet.delivered(error, at);
  const bool is_alive = outlet.channel().alive_ns > 0;
  if (error.empty() && is_alive) return;
  events_.push_back({at.utc,
                     error.empty() ? AlarmEvent::What::sent : AlarmEvent::What::failed,
                     Gravity::warning,
                     {},
                     error,
                     {},
                     outlet.channel().name});
}

Expected<void, std::string> AlarmBook::acknowledge(const std::string& wanted, const std::string& by,
                                                   const AlarmTime& at) {
  if (by.empty())
    return refuse(
        "an acknowledgement needs a person's name: `weir alarm ack --by NAME`, or \"Your name\" on the page");
  bool found = false;
  for (auto& [name, track] : tracks_) {
    if (!track.raised || (!wanted.empty() && name != wanted)) continue;
    found = true;
    if (!track.alarm.acked_by.empty()) continue;
    track.alarm.acked_by = by;
    track.alarm.acked_utc = at.utc;
    note(AlarmEvent::What::acknowledged, track.alarm, by, at.utc);
  }
  if (found) return {};
  if (wanted.empty()) return refuse("no alarm is active");
  return refuse("no alarm '" + wanted + "' is active");
}

Expected<void, std::string> AlarmBook::shelve(const std::string& name, DurationNs time, const std::string& by,
                                              const AlarmTime& at) {
  if (by.empty())
    return refuse(
        "a shelf needs a person's name: `weir alarm shelve --by NAME`, or \"Your name\" on the page");
  if (name.empty()) return refuse("a shelf needs the name of an alarm, as `weir alarm list` shows it");
  if (time <= 0 || time > kShelfMax) return refuse("an alarm is shelved for at most 30 days");
  std::erase_if(shelves_, [&](const AlarmShelf& shelf) { return shelf.name == name; });
  if (shelves_.size() >= kShelvesMax) return refuse("too many alarms are shelved: unshelve one");
  shelves_.push_back({name, by, at.utc + time});
  for (AlarmOutlet& outlet : outlets_) outlet.shelve(name);
  Alarm shown;
  shown.name = name;
  shown.reason = "for " + duration_text(time);
  note(AlarmEvent::What::shelved, shown, by, at.utc);
  return {};
}

Expected<void, std::string> AlarmBook::unshelve(const std::string& name, const std::string& by,
                                                const AlarmTime& at) {
  const auto found = std::ranges::find(shelves_, name, &AlarmShelf::name);
  if (found == shelves_.end()) return refuse("no alarm '" + name + "' is shelved");
  shelves_.erase(found);
  Alarm shown;
  shown.name = name;
  note(AlarmEvent::What::unshelved, shown, by, at.utc);
  if (const auto track = tracks_.find(name); track != tracks_.end() && track->second.raised)
    tell_outlets(track->second.alarm, at);
  return {};
}

Expected<void, std::string> AlarmBook::test(const std::string& by, const AlarmTime& at) {
  if (outlets_.empty())
    return refuse("the farm file has no control.alarms.channels, or this is `weir run`: no message is sent");
  if (tested_ && at.now - *tested_ < kTestsApart) return refuse("a test was sent just now: wait ten seconds");
  tested_ = at.now;
  for (AlarmOutlet& outlet : outlets_) outlet.test(by);
  return {};
}

std::vector<Alarm> AlarmBook::alarms() const {
  std::vector<Alarm> active;
  for (const auto& [name, track] : tracks_) {
    if (track.raised) active.push_back(track.alarm);
  }
  std::ranges::stable_sort(active, [](const Alarm& left, const Alarm& right) {
    return left.gravity != right.gravity ? left.gravity > right.gravity : left.since_utc < right.since_utc;
  });
  return active;
}

std::vector<AlarmCause> AlarmBook::dead_channels() const {
  std::vector<AlarmCause> causes;
  for (const AlarmOutlet& outlet : outlets_) {
    if (!outlet.is_down()) continue;
    causes.push_back({Gravity::warning,
                      "alarm channel down",
                      outlet.channel().name + " does not deliver, after " +
                          counted(outlet.failures(), "attempt") + ", " + counted(outlet.waiting(), "alarm") +
                          " waiting: " + outlet.error() + ": mend it, and try it with `weir alarm test`",
                      {outlet.channel().name}});
  }
  return causes;
}

std::vector<AlarmEvent> AlarmBook::take_events() { return std::exchange(events_, {}); }

// An end that was not told is one of the next process, after kRecallGrace.
AlarmBook::Remembered AlarmBook::remembered() const {
  Remembered kept;
  kept.shelves = shelves_;
  for (const auto& [name, track] : tracks_) {
    if (!track.raised) continue;
    Remembered::Active& one = kept.active.emplace_back();
    one.alarm = track.alarm;
    one.alarm.reason_now.clear();
    for (const AlarmOutlet& outlet : outlets_) {
      if (outlet.has_told(name)) one.told.push_back(outlet.channel().name);
    }
  }
  for (const AlarmOutlet& outlet : outlets_) {
    for (Alarm& alarm : outlet.untold_ends()) {
      const auto known =
          std::ranges::find(kept.active, alarm.name, [](const auto& one) { return one.alarm.name; });
      if (known == kept.active.end()) {
        kept.active.push_back({std::move(alarm), {outlet.channel().name}});
      } else if (std::ranges::find(known->told, outlet.channel().name) == known->told.end()) {
        known->told.push_back(outlet.channel().name);
      }
    }
  }
  return kept;
}

void AlarmBook::recall(const Remembered& before, const AlarmTime& at) {
  WEIR_ASSERT(tracks_.empty());
  shelves_ = before.shelves;
  if (shelves_.size() > kShelvesMax) shelves_.resize(kShelvesMax);
  for (const Remembered::Active& one : before.active) {
    if (tracks_.size() >= kAlarmsMax) break;
    Track& track = tracks_[one.alarm.name];
    track.since = at.now;
    track.seen = at.now + kRecallGrace;
    track.raised = true;
    track.alarm = one.alarm;
    track.alarm.reason_now = one.alarm.reason;
    const bool shelved = is_shelved(one.alarm.name);
    for (AlarmOutlet& outlet : outlets_) {
      if (std::ranges::find(one.told, outlet.channel().name) != one.told.end()) {
        outlet.recall(track.alarm, at.now);
      } else if (!shelved) {
        outlet.tell(track.alarm, at.now);
      }
      if (shelved) outlet.shelve(one.alarm.name);
    }
  }
}

}  // namespace weir::control
