// Headlines that stay for a minimum time, and triggers that are refused, on simulated time.
#include "healthy_farm.hpp"
#include "weir_catch.hpp"
#include <weir/control/headline.hpp>

#include <string>
#include <vector>

namespace weir::control {
namespace {

using namespace test;
using Catch::Matchers::StartsWith;

const Finding kGood{Gravity::good, "running", ""};
const Finding kCause{Gravity::warning, "cause", "why"};
const Finding kConsequence{Gravity::warning, "consequence", "so"};
const Finding kGrave{Gravity::error, "grave", "at once"};

std::vector<Finding> seen(Headline& headline, const std::vector<Finding>& findings, TimeNs now) {
  headline.look(findings, now);
  return headline.keep(findings, now);
}

}  // namespace

TEST_CASE("a headline that comes and goes stays for its time, and a graver one leads at once") {
  Headline headline;
  TimeNs now = kSecond;
  CHECK(seen(headline, {kGood}, now) == std::vector<Finding>{kGood});
  CHECK(seen(headline, {kCause, kConsequence}, now)[0] == kCause);
  now += kSecond;
  CHECK(seen(headline, {kConsequence}, now) == std::vector<Finding>{kCause, kConsequence});
  CHECK(seen(headline, {kGood}, now) == std::vector<Finding>{kCause});
  CHECK(seen(headline, {kGrave, kConsequence}, now)[0] == kGrave);
  now += Headline::kStays - 1;
  CHECK(seen(headline, {kConsequence}, now)[0] == kGrave);
  now += 1;
  CHECK(seen(headline, {kConsequence}, now)[0] == kConsequence);
  now += Headline::kStays;
  CHECK(seen(headline, {kGood}, now) == std::vector<Finding>{kGood});
}

TEST_CASE("a cause that is found later takes the lead from its consequence at once") {
  Headline headline;
  CHECK(seen(headline, {kConsequence}, kSecond)[0] == kConsequence);
  CHECK(seen(headline, {kCause, kConsequence}, 2 * kSecond)[0] == kCause);
}

TEST_CASE("a headline shows its newest reason, and the number of changes in a minute of flapping is small") {
  Headline headline;
  std::string last;
  int changes = 0;
  for (int i = 0; i < 60; ++i) {
    Finding cause = kCause;
    cause.reason = std::to_string(i);
    const auto findings =
        i % 2 == 0 ? std::vector<Finding>{cause, kConsequence} : std::vector<Finding>{kConsequence};
    const auto shown = seen(headline, findings, (i + 1) * kSecond);
    changes += shown[0].word == last ? 0 : 1;
    last = shown[0].word;
    if (i % 2 == 0) CHECK(shown[0].reason == cause.reason);
  }
  CHECK(changes <= 20);
}

TEST_CASE("a record that is not written leads over a run's good end, and follows what stops the data") {
  HealthView view = in_state(State::ready);
  view.records.folder = "/x";
  view.records.free_bytes = 12'400;
  CHECK(health_of(view)[0] ==
        Finding{Gravity::warning, "disk of records", "/x has 12 kB left: make room for the next records"});
  view.records.unwritten = {"the end record of run 5"};
  view.records.why = "cannot write '/x/run-000005-end.json': No space left on device";
  for (const bool over : {false, true}) {
    view.over = over;
    const auto health = health_of(view);
    CHECK_THAT(
        sentence(health[0]),
        StartsWith("records not written: the end record of run 5: cannot write '/x/run-000005-end.json': No "
                   "space left on device: make room, and run control writes them"));
    CHECK(health[0].gravity == Gravity::error);
    CHECK_THAT(all_of(health), !Catch::Matchers::ContainsSubstring("its ledger balances"));
  }
  // In a run with one disk for data and records, the blocked writers come first.
  HealthView run = running();
  run.records = view.records;
  for (const char* writer : {"writer-0", "writer-1"})
    hold(run, writer, Hold::blocked, "WRITER_DISK_FULL", writer);
  CHECK(health_of(run)[0].word == "blocked");
  CHECK(health_of(run)[1].word == "records not written");
  run.records.unwritten.clear();
  CHECK(health_of(run)[1].word == "disk of records");
  lose(run, "supervisor");
  CHECK(health_of(run)[0].word == "no supervisor");
}

TEST_CASE("refused triggers are an error in the front-end's words, and a few of them a warning") {
  HealthView view = running();
  view.lost = {{std::string(kOffered), 400}, {"vetoed.duplicate_id", 400}};
  view.flow.silent_ns = 12 * kSecond;
  auto health = health_of(view);
  CHECK(health[0].gravity == Gravity::error);
  CHECK_THAT(
      sentence(health[0]),
      StartsWith("triggers refused: 400 of 400 in the last 10 s (duplicate_id): the front-end repeats"));
  CHECK(health[1].word == "no triggers");
  view.lost[1].count = 3;
  view.flow = {};
  CHECK(health_of(view).front().gravity == Gravity::warning);
  for (const char* veto : {"bad_id", "too_large", "closed", "id_memory_full", "not_ascending"}) {
    view.lost[1] = {"vetoed." + std::string(veto), 400};
    CHECK(health_of(view).front().word == "triggers refused");
  }
  for (const char* veto : {"throttled", "in_flight", "paused", "draining", "busy_pending", "stalled"})
    CHECK(!is_refusal(veto));
}

}  // namespace weir::control
