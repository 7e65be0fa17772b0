#include "weir_catch.hpp"
#include <weir/control/preflight.hpp>

#include <algorithm>

using namespace weir;
using namespace weir::control;
using Catch::ContainsSubstring;

namespace {

constexpr DurationNs kDay = DurationNs{24} * 3600 * kSecond;

PreflightFacts healthy() {
  PreflightFacts facts;
  facts.own_software = "weir 1.0";
  facts.processes = {{"dcm-0", "daq-1", "weir 1.0", true, false, -2 * kMillisecond},
                     {"dcm-1", "daq-2", "weir 1.0", true, false, -80 * kMillisecond},
                     {"writer-0", "daq-2", "weir 1.0", true, false, 1 * kMillisecond}};
  facts.disks = {{{"writer-0"}, "daq-2", "/data", {500'000'000'000, 1'000'000'000'000}, 0, {}, false}};
  facts.is_configured = true;
  facts.parts = 2;
  facts.keys = {{"/etc/weir/keys/control.curve", 10 * kDay, false}};
  facts.channels = {{"shifter", "", true}};
  return facts;
}

std::vector<PreflightCheck> bad_ones(const PreflightFacts& facts) {
  std::vector<PreflightCheck> checks = preflight(facts);
  std::erase_if(checks, [](const PreflightCheck& one) { return one.gravity == Gravity::good; });
  return checks;
}

// The only check that is not good.
PreflightCheck only_bad(const PreflightFacts& facts) {
  const auto bad = bad_ones(facts);
  REQUIRE(bad.size() == 1);
  return bad.front();
}

}  // namespace

TEST_CASE("a farm that is fit has a good line for each subject") {
  const auto checks = preflight(healthy());
  std::vector<std::string> names;
  for (const PreflightCheck& one : checks) {
    CHECK(one.gravity == Gravity::good);
    names.push_back(one.name);
  }
  CHECK(names == std::vector<std::string>{"processes", "versions", "findings", "disks", "clocks", "checksums",
                                          "keys", "alarms"});
  CHECK(checks[4].text == "of 2 hosts within 2 ms");  // the best of a host's processes counts
  CHECK(checks[6].text == "/etc/weir/keys/control.curve is 10 days old");
}

TEST_CASE("each thing that is unfit is named with its gravity") {
  PreflightFacts facts = healthy();
  const auto expect = [&](Gravity gravity, const char* name, const char* text) {
    const PreflightCheck bad = only_bad(facts);
    CHECK(bad.gravity == gravity);
    CHECK(bad.name == name);
    CHECK_THAT(bad.text, ContainsSubstring(text));
  };
  SECTION("an absent process") {
    facts.processes[0].live = false;
    expect(Gravity::error, "processes", "not connected: dcm-0");
  }
  SECTION("a removed process") {
    facts.processes[0].removed = true;
    expect(Gravity::warning, "processes", "dcm-0");
  }
  SECTION("another version") {
    facts.processes[1].software = "weir 0.9";
    expect(Gravity::warning, "versions", "dcm-1 weir 0.9");
  }
  SECTION("a finding") {
    facts.findings = {{Gravity::good, "running", ""}, {Gravity::error, "blocked", "writer-0"}};
    expect(Gravity::error, "findings", "blocked: writer-0");
  }
  SECTION("a disk that fills") {
    facts.disks[0].is_short = true;
    expect(Gravity::warning, "disks", "daq-2");
  }
  SECTION("a full disk") {
    facts.disks[0].space.free_bytes = 0;
    expect(Gravity::error, "disks", "daq-2");
  }
  SECTION("a disk that is not mounted") {
    facts.missing_disks = {
        {"writer-0", {"run.out", "/data/out", "/", "/dev/sda1", ""}, "/data", "", RunNumber(3)}};
    expect(Gravity::error, "disks", "/data");
  }
  SECTION("a clock that is ahead") {
    facts.processes[0].clock_ahead = 1500 * kMillisecond;
    expect(Gravity::warning, "clocks", "daq-1 is 1500 ms ahead of");
  }
  SECTION("a clock that is behind") {
    facts.processes[0].clock_ahead = -101 * kMillisecond;
    expect(Gravity::warning, "clocks", "daq-1 is 101 ms behind");
  }
  SECTION("files that differ") {
    facts.conflict = "filter plugin 'mine' of dcm-0 has checksum 1, and dcm-1 has 2";
    expect(Gravity::error, "checksums", "'mine'");
  }
  SECTION("files that are not known yet") {
    facts.is_configured = false;
    expect(Gravity::warning, "checksums", "configure");
  }
  SECTION("old keys") {
    facts.keys[0].age = 366 * kDay;
    expect(Gravity::warning, "keys", "366 days old");
  }
  SECTION("open keys") {
    facts.keys[0].is_open = true;
    expect(Gravity::error, "keys", "read by others");
  }
  SECTION("no key file") {
    facts.keys[0].age.reset();
    expect(Gravity::error, "keys", "cannot be read");
  }
  SECTION("no channel") {
    facts.channels.clear();
    expect(Gravity::warning, "alarms", "reach no person");
  }
  SECTION("a channel that was never tried") {
    facts.channels.push_back({"chat", "", false});
    expect(Gravity::warning, "alarms", "not tried, use `weir alarm test`: chat");
  }
  SECTION("a dead channel") {
    facts.channels[0].error = "refused";
    expect(Gravity::error, "alarms", "channel shifter: refused");
  }
}

TEST_CASE("the offset of a clock is that of the least delayed message of the last minutes") {
  ClockOffset clock;
  CHECK_FALSE(clock.ahead());
  TimeNs now = kSecond;
  const auto take = [&](DurationNs ahead, DurationNs delay) {
    clock.take(now + ahead, now + delay, now);
    now += kSecond;
  };
  take(5 * kMillisecond, 40 * kMillisecond);
  CHECK(clock.ahead() == -35 * kMillisecond);
  take(5 * kMillisecond, kMillisecond);
  CHECK(clock.ahead() == 4 * kMillisecond);
  take(5 * kMillisecond, 300 * kMillisecond);
  CHECK(clock.ahead() == 4 * kMillisecond);
  // A clock that was set is seen when both windows are over.
  for (int i = 0; i < 125; ++i) take(-kSecond, 0);
  CHECK(clock.ahead() == -kSecond);
}
