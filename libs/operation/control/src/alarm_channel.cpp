#include <weir/base/assert.hpp>
#include <weir/control/alarm_channel.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::control {
namespace {

constexpr DurationNs kHour = 3600 * kSecond;
// Of the messages of an hour: may follow each other; and may be sent in advance about an error.
constexpr std::uint32_t kBurstShare = 2;
constexpr std::uint32_t kAdvanceShare = 4;

// The worst first, ended ones last.
bool comes_first(const AlarmMessage::Line& left, const AlarmMessage::Line& right) {
  if ((left.until_utc == 0) != (right.until_utc == 0)) return left.until_utc == 0;
  if (left.gravity != right.gravity) return left.gravity > right.gravity;
  return left.since_utc < right.since_utc;
}

}  // namespace

AlarmOutlet::AlarmOutlet(AlarmChannel channel, std::size_t index, std::uint32_t per_hour)
    : channel_(std::move(channel)),
      index_(index),
      per_ns_(static_cast<double>(per_hour) / static_cast<double>(kHour)),
      tokens_max_(std::max<double>(1, per_hour / kBurstShare)),
      advance_max_(per_hour / kAdvanceShare),
      tokens_(tokens_max_) {
  WEIR_ASSERT(per_hour > 0);
}

// A channel does not report its own death.
bool AlarmOutlet::takes(const Alarm& alarm) const {
  if (channel_.alive_ns > 0 || alarm.gravity < channel_.from) return false;
  return alarm.subjects != std::vector<std::string>{channel_.name};
}

void AlarmOutlet::tell(const Alarm& alarm, TimeNs now) {
  if (!takes(alarm)) return;
  const bool is_new = !entries_.contains(alarm.name);
  Entry& entry = entries_[alarm.name];
  const bool again = !is_new && entry.over();
  entry.line.times += again ? 1 : 0;
  entry.line.until_utc = 0;
  entry.line.name = alarm.name;
  if (is_new || again) entry.line.since_utc = alarm.since_utc;
  entry.news = true;
  entry.reminder = false;
  entry.shelved = false;
  refresh(alarm);
  if (!news_since_) news_since_ = now;
  drop_some();
}

void AlarmOutlet::refresh(const Alarm& alarm) {
  const auto found = entries_.find(alarm.name);
  if (found == entries_.end() || found->second.over()) return;
  found->second.line.gravity = alarm.gravity;
  found->second.line.reason = alarm.reason_now;
  found->second.line.acked_by = alarm.acked_by;
}

void AlarmOutlet::end(const std::string& alarm, const AlarmTime& at) {
  const auto found = entries_.find(alarm);
  if (found == entries_.end() || found->second.over()) return;
  Entry& entry = found->second;
  entry.line.until_utc = std::max<UtcNs>(at.utc, 1);
  entry.news = true;
  entry.reminder = false;
  if (!news_since_) news_since_ = at.now;
  drop_some();
}

void AlarmOutlet::shelve(const std::string& alarm) {
  const auto found = entries_.find(alarm);
  if (found == entries_.end() || found->second.over()) return;
  found->second.shelved = true;
  found->second.news = false;
  if (!found->second.told && !found->second.sending) entries_.erase(found);
  if (std::ranges::none_of(entries_, [](const auto& one) { return one.second.news; })) news_since_.reset();
}

// Old ones that ended are lost first: an active alarm is always told.
void AlarmOutlet::drop_some() {
  while (entries_.size() > kEntriesMax) {
    auto oldest = entries_.end();
    for (auto one = entries_.begin(); one != entries_.end(); ++one) {
      if (!one->second.over() || one->second.sending) continue;
      if (oldest == entries_.end() || one->second.line.until_utc < oldest->second.line.until_utc)
        oldest = one;
    }
    if (oldest == entries_.end()) return;
    ++lost_;
    entries_.erase(oldest);
  }
}

void AlarmOutlet::recall(const Alarm& alarm, TimeNs now) {
  if (channel_.alive_ns > 0) return;
  Entry& entry = entries_[alarm.name];
  entry.line = {alarm.name, alarm.gravity, alarm.reason, alarm.since_utc, 0, 1, alarm.acked_by};
  entry.told = true;
  entry.told_at = now;
}

bool AlarmOutlet::has_told(const std::string& alarm) const {
  const auto found = entries_.find(alarm);
  return found != entries_.end() && found->second.told;
}

std::vector<Alarm> AlarmOutlet::untold_ends() const {
  std::vector<Alarm> ends;
  for (const auto& [name, entry] : entries_) {
    if (!entry.told || !entry.over()) continue;
    ends.push_back({name, entry.line.gravity, entry.line.reason, {}, {}, entry.line.since_utc, {}, 0});
  }
  return ends;
}

void AlarmOutlet::remind(const std::string& alarm, DurationNs every, TimeNs now) {
  const auto found = entries_.find(alarm);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (!entry.told || entry.over() || entry.news || entry.sending || now - entry.told_at < every) return;
  entry.news = true;
  entry.reminder = true;
  if (!news_since_) news_since_ = now;
}

bool AlarmOutlet::has_active() const {
  return std::ranges::any_of(entries_,
                             [](const auto& one) { return !one.second.over() && !one.second.shelved; });
}

std::size_t AlarmOutlet::waiting() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const auto& one) { return one.second.news || one.second.sending; }));
}

// While others are active, the end of an alarm waits for the next message.
bool AlarmOutlet::has_news() const {
  const bool active = has_active();
  return std::ranges::any_of(
      entries_, [&](const auto& one) { return one.second.news && (!active || !one.second.over()); });
}

// Messages about warnings do not hold back one about an error.
bool AlarmOutlet::has_new_error() const {
  return std::ranges::any_of(entries_, [](const auto& one) {
    const Entry& entry = one.second;
    return entry.news && !entry.reminder && !entry.over() && entry.line.gravity == Gravity::error;
  });
}

bool AlarmOutlet::take_token(TimeNs now) {
  tokens_ = std::min(tokens_max_, tokens_ + per_ns_ * static_cast<double>(now - tokens_at_));
  tokens_at_ = now;
  if (tokens_ < (has_new_error() ? 1 - advance_max_ : 1)) return false;
  tokens_ -= 1;
  return true;
}

std::optional<AlarmMessage> AlarmOutlet::take_due(TimeNs now) {
  if (busy_) return std::nullopt;
  AlarmMessage message;
  message.channel = index_;
  if (test_by_) {
    message.kind = AlarmMessage::Kind::test;
    message.by = *test_by_;
    test_by_.reset();
  } else if (channel_.alive_ns > 0) {
    if (now < alive_at_) return std::nullopt;
    alive_at_ = now + channel_.alive_ns;
    message.kind = AlarmMessage::Kind::alive;
  } else {
    if (!has_news() || now < retry_at_ || (news_since_ && now - *news_since_ < kGather)) return std::nullopt;
    if (!take_token(now)) return std::nullopt;
    message = compose();
  }
  busy_ = message.kind;
  return message;
}

AlarmMessage AlarmOutlet::compose() {
  AlarmMessage message;
  message.channel = index_;
  message.kind = AlarmMessage::Kind::reminder;
  message.lost = lost_;
  for (auto& [name, entry] : entries_) {
    if (!entry.news) {
      message.others += entry.over() || entry.shelved ? 0 : 1;
      continue;
    }
    if (!entry.over()) message.gravity = std::max(message.gravity, entry.line.gravity);
    if (!entry.over() && !entry.reminder) message.kind = AlarmMessage::Kind::alarm;
    message.lines.push_back(entry.line);
    entry.news = false;
    entry.sending = true;
    entry.sending_over = entry.over();
  }
  if (!has_active()) message.kind = AlarmMessage::Kind::all_clear;
  WEIR_ASSERT(!message.lines.empty());
  std::ranges::sort(message.lines, comes_first);
  if (message.lines.size() > AlarmMessage::kLinesMax) {
    message.left_out = message.lines.size() - AlarmMessage::kLinesMax;
    message.lines.resize(AlarmMessage::kLinesMax);
  }
  news_since_.reset();
  return message;
}

void AlarmOutlet::delivered(const std::string& error, const AlarmTime& at) {
  WEIR_ASSERT(busy_.has_value());
  const bool good = error.empty();
  const AlarmMessage::Kind kind = *busy_;
  busy_.reset();
  if (good) {
    ++sent_;
    sent_utc_ = at.utc;
    failures_ = 0;
    retry_at_ = at.now;
    error_.clear();
  } else {
    ++failed_;
    if (failures_++ == 0) down_utc_ = at.utc;
    error_ = error;
    DurationNs wait = kRetryFirst;
    for (std::uint32_t i = 1; i < failures_ && wait < kRetryMax; ++i) wait *= 2;
    retry_at_ = at.now + std::min(wait, kRetryMax);
  }
  if (kind != AlarmMessage::Kind::test && kind != AlarmMessage::Kind::alive) settle(good, at.now);
}

void AlarmOutlet::settle(bool good, TimeNs now) {
  if (!good) tokens_ = std::min(tokens_max_, tokens_ + 1);
  if (good) lost_ = 0;
  for (auto one = entries_.begin(); one != entries_.end();) {
    Entry& entry = one->second;
    const bool was_sent = std::exchange(entry.sending, false);
    if (was_sent && good) {
      entry.told = true;
      entry.told_at = now;
      entry.line.times = 1;
    }
    entry.news = entry.news || (was_sent && !good && !entry.shelved);
    if (entry.shelved && !entry.told) {
      one = entries_.erase(one);
      continue;
    }
    const bool is_told = was_sent && good && entry.sending_over && entry.over() && !entry.news;
    one = is_told ? entries_.erase(one) : std::next(one);
  }
}

}  // namespace weir::control
