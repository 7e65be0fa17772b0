// Alarms: raised, told, acknowledged, shelved and ended.
#include "weir_catch.hpp"
#include <weir/control/alarms.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

namespace weir::control {
namespace {

using Catch::Matchers::ContainsSubstring;
using MessageKind = AlarmMessage::Kind;

constexpr UtcNs kUtc = 1'700'000'000 * kSecond;
constexpr DurationNs kOneHour = 3600 * kSecond;

AlarmCause cause(const std::string& name, Gravity gravity = Gravity::warning,
                 const std::string& reason = "why", std::vector<std::string> subjects = {}) {
  return {gravity, name, reason, std::move(subjects)};
}

AlarmSettings settings(std::vector<AlarmChannel> channels = {{"chat", Gravity::warning, 0}}) {
  AlarmSettings settings{{}, 3600 * kSecond, 12, {}, {}};
  settings.channels = std::move(channels);
  return settings;
}

// A book, its time, and channels that deliver or fail.
struct Desk {
  explicit Desk(AlarmSettings with = settings()) : book(std::move(with)) {}

  [[nodiscard]] AlarmTime at() const { return {now, kUtc + now}; }
  // The causes are present for so long; a look each second.
  void pass(DurationNs time, const std::vector<AlarmCause>& causes = {}) {
    for (const TimeNs end = now + time; now < end; now += kSecond) {
      book.look(causes, at());
      for (AlarmMessage& message : book.take_due(at())) {
        const std::string error = dead.contains(message.channel) ? "connection refused" : "";
        book.delivered(message.channel, error, at());
        (error.empty() ? sent : failed).push_back(std::move(message));
      }
    }
  }
  std::vector<AlarmMessage> take() { return std::exchange(sent, {}); }
  // "alarm blocked, DCM lost(over)"
  std::string take_text() {
    std::string text;
    for (const AlarmMessage& message : take()) {
      text += (text.empty() ? "" : "; ") + std::string(name(message.kind));
      for (const AlarmMessage::Line& line : message.lines)
        text += " " + line.name + (line.until_utc == 0 ? "" : "(over)");
    }
    return text;
  }

  AlarmBook book;
  TimeNs now = kSecond;
  std::set<std::size_t> dead;
  std::vector<AlarmMessage> sent;
  std::vector<AlarmMessage> failed;
};

}  // namespace

TEST_CASE("a cause that lasts is told once, and its end once") {
  Desk desk;
  desk.pass(5 * kSecond, {cause("blocked")});
  CHECK(desk.take_text().empty());
  desk.pass(600 * kSecond, {cause("blocked")});
  CHECK(desk.take_text() == "alarm blocked");
  REQUIRE(desk.book.alarms().size() == 1);
  desk.pass(25 * kSecond);
  CHECK(desk.book.alarms().size() == 1);
  CHECK(desk.take_text().empty());
  desk.pass(600 * kSecond);
  CHECK(desk.take_text() == "all clear blocked(over)");
  CHECK(desk.book.alarms().empty());
}

TEST_CASE("a short cause raises nothing, and a short absence ends nothing") {
  Desk desk;
  for (int i = 0; i < 20; ++i) {
    desk.pass(4 * kSecond, {cause("silent")});
    desk.pass(kSecond);
  }
  CHECK(desk.take_text().empty());
  desk.pass(10 * kSecond, {cause("silent")});
  CHECK(desk.take_text() == "alarm silent");
  for (int i = 0; i < 20; ++i) {
    desk.pass(20 * kSecond);
    desk.pass(kSecond, {cause("silent")});
  }
  CHECK(desk.take_text().empty());
}

TEST_CASE("alarms that begin together are one message, the worst first; ends wait for the next message") {
  Desk desk;
  desk.pass(60 * kSecond, {cause("low rate"), cause("no DCM", Gravity::error), cause("silent")});
  auto sent = desk.take();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].gravity == Gravity::error);
  CHECK(sent[0].lines[0].name == "no DCM");
  CHECK(subject_of(sent[0], {"lab", 7, "running"}) == "[lab] error: no DCM: why (+2 more)");
  desk.pass(60 * kSecond, {cause("silent")});
  CHECK(desk.take_text().empty());
  desk.pass(60 * kSecond, {cause("silent"), cause("blocked", Gravity::error)});
  sent = desk.take();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].lines.size() == 3);
  CHECK(sent[0].others == 1);
  const std::string body = body_of(sent[0], {"lab", 7, "running"});
  CHECK_THAT(body, ContainsSubstring("farm lab: running, run 7\nerror: blocked: why\n  since 2023-11-14T"));
  CHECK_THAT(body, ContainsSubstring("over: no DCM: why\n") && ContainsSubstring(", until 2023-11-14T") &&
                       ContainsSubstring("1 other alarm is still active\n"));
  desk.pass(60 * kSecond);
  CHECK(desk.take_text() == "all clear blocked(over) silent(over)");
}

TEST_CASE("an alarm is news again when it gets worse or concerns another process, acknowledged or not") {
  Desk desk;
  desk.pass(60 * kSecond, {cause("blocked", Gravity::warning, "full", {"writer-0"})});
  CHECK(desk.take_text() == "alarm blocked");
  REQUIRE(desk.book.acknowledge("blocked", "Ada", desk.at()));
  desk.pass(60 * kSecond, {cause("blocked", Gravity::warning, "full for 99 s", {"writer-0"})});
  CHECK(desk.take_text().empty());
  CHECK(desk.book.alarms().front().acked_by == "Ada");
  desk.pass(60 * kSecond, {cause("blocked", Gravity::warning, "full", {"writer-0", "writer-1"})});
  CHECK(desk.take_text() == "alarm blocked");
  CHECK(desk.book.alarms().front().acked_by.empty());
  desk.pass(60 * kSecond, {cause("blocked", Gravity::warning, "full", {"writer-1"})});
  CHECK(desk.take_text().empty());
  desk.pass(60 * kSecond, {cause("blocked", Gravity::error, "full", {"writer-1"})});
  CHECK(desk.take_text() == "alarm blocked");
}

TEST_CASE("an acknowledged alarm has no reminders, others have one each hour") {
  Desk desk;
  desk.pass(3 * kOneHour, {cause("blocked"), cause("silent")});
  CHECK(desk.take_text() == "alarm blocked silent; reminder blocked silent; reminder blocked silent");
  REQUIRE(desk.book.acknowledge("blocked", "Ada", desk.at()));
  desk.pass(2 * kOneHour, {cause("blocked"), cause("silent")});
  CHECK(desk.take_text() == "reminder silent; reminder silent");
  REQUIRE(desk.book.acknowledge("", "Bob", desk.at()));
  desk.pass(2 * kOneHour, {cause("blocked"), cause("silent")});
  CHECK(desk.take_text().empty());
  CHECK(desk.book.alarms()[0].acked_by == "Ada");
  CHECK(desk.book.alarms()[1].acked_by == "Bob");
  CHECK(desk.book.acknowledge("no DCM", "Ada", desk.at()).error() == "no alarm 'no DCM' is active");
  CHECK_FALSE(desk.book.acknowledge("blocked", "", desk.at()));
}

TEST_CASE("a shelved alarm sends nothing until its time is over, and is told then if it is still active") {
  Desk desk;
  REQUIRE(desk.book.shelve("dead time", kOneHour, "Ada", desk.at()));
  desk.pass(50 * 60 * kSecond, {cause("dead time")});
  CHECK(desk.take_text().empty());
  CHECK(desk.book.alarms().size() == 1);
  desk.pass(20 * 60 * kSecond, {cause("dead time")});
  CHECK(desk.take_text() == "alarm dead time");
  CHECK(desk.book.shelves().empty());

  // Shelved after it was told: its end is still the all-clear.
  REQUIRE(desk.book.shelve("dead time", 10 * kOneHour, "Ada", desk.at()));
  desk.pass(3 * kOneHour, {cause("dead time")});
  CHECK(desk.take_text().empty());
  desk.pass(60 * kSecond);
  CHECK(desk.take_text() == "all clear dead time(over)");
  REQUIRE(desk.book.unshelve("dead time", "Ada", desk.at()));
  CHECK_FALSE(desk.book.unshelve("dead time", "Ada", desk.at()));
  CHECK_FALSE(desk.book.shelve("x", 0, "Ada", desk.at()));
  CHECK_FALSE(desk.book.shelve("x", 31 * 24 * kOneHour, "Ada", desk.at()));
  for (std::size_t i = 0; i < AlarmBook::kShelvesMax; ++i)
    REQUIRE(desk.book.shelve(std::to_string(i), kOneHour, "Ada", desk.at()));
  CHECK_FALSE(desk.book.shelve("one more", kOneHour, "Ada", desk.at()));
}

TEST_CASE("a shelved alarm does not hold back the all clear of others") {
  Desk desk;
  desk.pass(10 * kSecond, {cause("dead time"), cause("blocked")});
  CHECK(desk.take_text() == "alarm blocked dead time");
  REQUIRE(desk.book.shelve("dead time", 10 * kOneHour, "Ada", desk.at()));
  desk.pass(kOneHour / 2, {cause("dead time")});
  CHECK(desk.take_text() == "all clear blocked(over)");
  // The next process resumes.
  Desk later;
  later.now = desk.now;
  later.book.recall(desk.book.remembered(), later.at());
  later.pass(kOneHour / 2, {cause("dead time")});
  CHECK(later.take_text().empty());
  later.pass(kOneHour / 2);
  CHECK(later.take_text() == "all clear dead time(over)");
}

TEST_CASE("an alarm that is shelved before its message was sent is not told") {
  Desk desk;
  desk.dead.insert(0);
  desk.pass(10 * kSecond, {cause("dead time")});
  CHECK(desk.failed.size() == 1);
  REQUIRE(desk.book.shelve("dead time", kOneHour, "Ada", desk.at()));
  desk.dead.clear();
  desk.pass(kOneHour / 2, {cause("dead time")});
  desk.pass(600 * kSecond);
  CHECK(desk.take_text().empty());
}

TEST_CASE("an alarm that returns and ends again while its end is being sent is told again") {
  Desk desk;
  desk.pass(10 * kSecond, {cause("blocked")});
  (void)desk.take();
  std::vector<AlarmMessage> sent;
  while (sent.empty()) {
    desk.now += kSecond;
    desk.book.look({}, desk.at());
    sent = desk.book.take_due(desk.at());
  }
  CHECK(sent[0].kind == MessageKind::all_clear);
  for (int i = 0; i < 60; ++i) {
    desk.now += kSecond;
    desk.book.look(i < 10 ? std::vector{cause("blocked")} : std::vector<AlarmCause>(), desk.at());
    CHECK(desk.book.take_due(desk.at()).empty());  // the channel is busy
  }
  desk.book.delivered(0, "", desk.at());
  desk.pass(10 * kSecond);
  CHECK(desk.take_text() == "all clear blocked(over)");
}

TEST_CASE("rules change severity and times of a finding, or turn its alarm off") {
  AlarmSettings with = settings();
  with.rules = {{"full", Gravity::warning, false, {0, 0}},
                {"silent", std::nullopt, true, {}},
                {"no triggers", std::nullopt, false, {300 * kSecond, 0}}};
  Desk desk(with);
  desk.pass(200 * kSecond, {cause("full", Gravity::good), cause("silent"), cause("no triggers"),
                            cause("running", Gravity::good), cause("paused", Gravity::waiting)});
  CHECK(desk.take_text() == "alarm full");
  desk.pass(200 * kSecond, {cause("no triggers")});
  CHECK(desk.take_text() == "all clear full(over); alarm no triggers");
}

TEST_CASE("10 000 findings in an hour are a bounded number of messages, with counts") {
  Desk desk;
  std::uint64_t raised = 0;
  for (int i = 0; i < 10'000 / 100; ++i) {
    // A hundred causes that come and go each 36 s.
    std::vector<AlarmCause> causes;
    for (int j = 0; j < 100; ++j) causes.push_back(cause("host node" + std::to_string(j) + " lost"));
    desk.pass(6 * kSecond, causes);
    desk.pass(30 * kSecond);
    raised += 100;
  }
  desk.pass(kOneHour);
  std::uint64_t told = 0;
  std::uint32_t most = 0;
  const auto sent = desk.take();
  for (const AlarmMessage& message : sent) {
    CHECK(message.lines.size() <= AlarmMessage::kLinesMax);
    told += message.lines.size() + message.left_out;
    for (const AlarmMessage::Line& line : message.lines) most = std::max(most, line.times);
  }
  CHECK(raised == 10'000);
  CHECK(sent.size() <= 12 + 6);
  CHECK(told >= 100);
  CHECK(most > 5);
  CHECK(sent.back().kind == MessageKind::all_clear);
}

TEST_CASE(
    "half of an hour's messages may follow each other, and the next warning waits for five minutes at most") {
  Desk desk;
  for (int i = 0; i < 6; ++i) {
    desk.pass(20 * kSecond, {cause("warning " + std::to_string(i))});
    CHECK(desk.take().size() == 1);
  }
  desk.pass(20 * kSecond, {cause("the seventh")});
  CHECK(desk.take().empty());
  desk.pass(290 * kSecond, {cause("the seventh")});
  CHECK_THAT(desk.take_text(), ContainsSubstring("the seventh"));
}

TEST_CASE("an error is sent at once although warnings have used all messages, and errors are bounded too") {
  Desk desk;
  for (int i = 0; i < 10; ++i) desk.pass(20 * kSecond, {cause("warning " + std::to_string(i))});
  CHECK(desk.take().size() == 6);
  desk.pass(10 * kSecond, {cause("blocked", Gravity::error)});
  CHECK_THAT(desk.take_text(), ContainsSubstring("alarm blocked"));
  for (int i = 0; i < 100; ++i)
    desk.pass(36 * kSecond, {cause("error " + std::to_string(i), Gravity::error)});
  CHECK(desk.take().size() <= 12 + 3);
}

TEST_CASE("an all-clear is one, however many alarms ended, and none while one is active") {
  Desk desk;
  desk.pass(60 * kSecond, {cause("a"), cause("b"), cause("c")});
  CHECK(desk.take_text() == "alarm a b c");
  desk.pass(60 * kSecond, {cause("a"), cause("b")});
  desk.pass(60 * kSecond, {cause("b")});
  CHECK(desk.take_text().empty());
  desk.pass(600 * kSecond);
  CHECK(desk.take_text() == "all clear a(over) b(over) c(over)");
}

TEST_CASE("a channel gets the alarms of its severity, and one for being alive gets only that") {
  Desk desk(settings(
      {{"chat", Gravity::warning, 0}, {"siren", Gravity::error, 0}, {"watch", Gravity::good, 60 * kSecond}}));
  desk.pass(100 * kSecond, {cause("silent")});
  desk.pass(20 * kSecond, {cause("silent"), cause("no DCM", Gravity::error)});
  std::map<std::size_t, std::string> told;
  for (const AlarmMessage& message : desk.take()) {
    told[message.channel] += std::string(name(message.kind)) + " ";
    for (const AlarmMessage::Line& line : message.lines) told[message.channel] += line.name + " ";
  }
  CHECK(told[0] == "alarm silent alarm no DCM ");
  CHECK(told[1] == "alarm no DCM ");
  CHECK(told[2] == "alive alive ");
}

TEST_CASE("a dead channel is tried again ever more rarely, is an alarm of the others, and loses nothing") {
  Desk desk(settings({{"chat", Gravity::warning, 0}, {"mail", Gravity::warning, 0}}));
  desk.dead = {0};
  std::vector<AlarmCause> causes = {cause("blocked")};
  const auto hours = [&](int count) {
    for (int i = 0; i < 3600 * count; ++i) {
      std::vector<AlarmCause> all = causes;
      for (AlarmCause& one : desk.book.dead_channels()) all.push_back(one);
      desk.pass(kSecond, all);
    }
  };
  hours(2);
  CHECK(desk.failed.size() >= 6);
  CHECK(desk.failed.size() <= 20);
  CHECK(desk.take_text() ==
        "alarm blocked; alarm alarm channel down; reminder blocked; reminder alarm channel down");
  const auto down = desk.book.dead_channels();
  REQUIRE(down.size() == 1);
  CHECK_THAT(down[0].reason, ContainsSubstring("chat does not deliver, after ") &&
                                 ContainsSubstring("1 alarm waiting: connection refused: mend it"));
  CHECK(desk.book.channels()[0].failed() == desk.failed.size());
  desk.dead.clear();
  hours(1);
  CHECK(desk.book.dead_channels().empty());
  // The channel tells the alarm that it could not, and nothing of itself.
  bool chat = false;
  for (const AlarmMessage& message : desk.take()) {
    if (message.channel != 0) continue;
    chat = true;
    CHECK(message.lines.front().name == "blocked");
  }
  CHECK(chat);
}

TEST_CASE("an alarm that began and ended while its channel was dead is told once it is back") {
  Desk desk;
  desk.dead = {0};
  desk.pass(60 * kSecond, {cause("blocked")});
  desk.pass(60 * kSecond);
  CHECK(desk.take_text().empty());
  desk.dead.clear();
  desk.pass(kOneHour);
  CHECK(desk.take_text() == "all clear blocked(over)");
}

TEST_CASE("a test goes to every channel at once, also a dead one, and not twice in ten seconds") {
  Desk desk(settings({{"chat", Gravity::error, 0}, {"watch", Gravity::warning, kOneHour}}));
  desk.pass(kSecond);
  (void)desk.take();
  REQUIRE(desk.book.test("Ada", desk.at()));
  CHECK_FALSE(desk.book.test("Bob", desk.at()));
  desk.pass(2 * kSecond);
  const auto sent = desk.take();
  REQUIRE(sent.size() == 2);
  CHECK(subject_of(sent[0], {"lab", 0, "idle"}) == "[lab] test of the alarms by Ada");
  CHECK(body_of(sent[0], {"lab", 0, "idle"}) == "farm lab: idle\n");
  desk.pass(10 * kSecond);
  CHECK(desk.book.test("Bob", desk.at()));
  CHECK_FALSE(Desk(settings({})).book.test("Ada", {}));
}

TEST_CASE("active, acknowledged, shelved and told alarms survive a restart") {
  Desk desk;
  desk.pass(60 * kSecond, {cause("blocked", Gravity::error, "full", {"writer-0"}), cause("silent")});
  CHECK(desk.take_text() == "alarm blocked silent");
  REQUIRE(desk.book.acknowledge("blocked", "Ada", desk.at()));
  REQUIRE(desk.book.shelve("silent", kOneHour, "Bob", desk.at()));
  const AlarmBook::Remembered kept = desk.book.remembered();
  CHECK(kept.active.size() == 2);

  Desk next;
  next.now = desk.now;
  next.book.recall(kept, next.at());
  next.pass(30 * kSecond);  // its processes have not reported yet
  next.pass(600 * kSecond, {cause("blocked", Gravity::error, "full", {"writer-0"}), cause("silent")});
  CHECK(next.take_text().empty());
  CHECK(next.book.alarms().front().acked_by == "Ada");
  CHECK(next.book.shelves() == desk.book.shelves());
  next.pass(60 * kSecond);
  CHECK(next.take_text() == "all clear blocked(over) silent(over)");

  Desk gone;  // the cause ended while run control was away
  gone.now = desk.now;
  gone.book.recall(kept, gone.at());
  gone.pass(80 * kSecond);
  CHECK(gone.take_text().empty());
  gone.pass(60 * kSecond);
  CHECK(gone.take_text() == "all clear blocked(over) silent(over)");
}

TEST_CASE("causes beyond the limit are counted, and known alarms are not forgotten for them") {
  Desk desk;
  std::vector<AlarmCause> causes;
  for (std::size_t i = 0; i < AlarmBook::kAlarmsMax + 5; ++i)
    causes.push_back(cause(std::to_string(1000 + i)));
  desk.pass(10 * kSecond, causes);
  CHECK(desk.book.alarms().size() == AlarmBook::kAlarmsMax);
  CHECK(desk.book.untracked() == 50);
}

TEST_CASE("the history has each event with its person") {
  Desk desk;
  desk.pass(20 * kSecond, {cause("blocked")});
  REQUIRE(desk.book.acknowledge("blocked", "Ada", desk.at()));
  desk.pass(60 * kSecond);
  std::string text;
  for (const AlarmEvent& event : desk.book.take_events())
    text += std::string(name(event.what)) + (event.by.empty() ? "" : " by " + event.by) + " ";
  CHECK(text == "raised sent acknowledged by Ada ended sent ");
  CHECK(desk.book.take_events().empty());
}

// Random causes, persons, restarts and failing channels: messages stay bounded, every active alarm is told,
// and each channel that told an alarm gives one all-clear after the last.
TEST_CASE("any order of causes, persons and failures tells every alarm, and ends with one all-clear") {
  const auto seed = GENERATE(range(1U, 41U));
  std::mt19937 random(seed);
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  Desk desk(settings({{"chat", Gravity::warning, 0}, {"siren", Gravity::error, 0}}));
  std::map<std::string, AlarmCause> present;
  int restarts = 0;
  for (int step = 0; step < 2'000; ++step) {
    if (chance(10)) {
      const std::string name = std::to_string(random() % 12);
      if (present.erase(name) == 0)
        present[name] = cause(name, chance(50) ? Gravity::error : Gravity::warning, "why",
                              {"p" + std::to_string(random() % 3)});
    }
    if (chance(1)) desk.dead = chance(50) ? std::set<std::size_t>{random() % 2} : std::set<std::size_t>{};
    if (chance(1)) (void)desk.book.acknowledge("", "Ada", desk.at());
    if (chance(1)) (void)desk.book.shelve(std::to_string(random() % 12), kOneHour / 10, "Bob", desk.at());
    if (chance(1)) {
      const AlarmBook::Remembered kept = desk.book.remembered();
      desk.book = AlarmBook(settings({{"chat", Gravity::warning, 0}, {"siren", Gravity::error, 0}}));
      desk.book.recall(kept, desk.at());
      ++restarts;
    }
    std::vector<AlarmCause> causes;
    for (const auto& [name, one] : present) causes.push_back(one);
    desk.pass((1 + random() % 5) * kSecond, causes);
  }
  desk.dead.clear();
  std::vector<AlarmCause> causes;
  for (const auto& [name, one] : present) causes.push_back(one);
  desk.pass(2 * kOneHour, causes);
  for (const Alarm& alarm : desk.book.alarms()) {
    CAPTURE(alarm.name);
    for (const auto& kept : desk.book.remembered().active) {
      if (kept.alarm.name != alarm.name) continue;
      const std::size_t channels = alarm.gravity == Gravity::error ? 2 : 1;
      CHECK(kept.told.size() >= channels);
    }
  }
  const double hours = static_cast<double>(desk.now) / static_cast<double>(kOneHour);
  CHECK(static_cast<double>(desk.sent.size()) <= 2 * (6 * (1 + restarts) + 12 * hours) + 1);
  (void)desk.take();
  desk.pass(2 * kOneHour);
  std::map<std::size_t, int> all_clear;
  for (const AlarmMessage& message : desk.take()) {
    CHECK(message.kind != MessageKind::alarm);
    if (message.kind == MessageKind::all_clear) ++all_clear[message.channel];
  }
  for (const auto& [channel, count] : all_clear) CHECK(count == 1);
  if (!present.empty()) CHECK(all_clear[0] == 1);
  CHECK(desk.book.alarms().empty());
}

}  // namespace weir::control
