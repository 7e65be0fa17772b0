// How long the end of a run waits for an alert's slices.
#include "../src/burst_alerts.hpp"

#include "../src/journal.hpp"
#include "../src/roster.hpp"
#include "../src/settings.hpp"
#include "weir_catch.hpp"
#include <weir/reports/numbers.hpp>

#include <memory>
#include <optional>

namespace weir::supervisor {
namespace {

// A DCM keeps two slices, of which an alert is about to be saved.
struct Saving {
  Saving() {
    setup.farm.mutable_burst()->set_buffer_bytes(1000);
    setup.farm.mutable_burst()->set_save_bytes_per_s(10);
    setup.whole_farm = std::make_shared<const v1::Farm>(setup.farm);
    setup.plan.nodes.emplace_back().role = Role::dcm;
    roster.plan(Role::dcm, NodeIndex(0), "dcm-0", "");
    alerts.emplace(burst_alert_settings(setup), roster, journal);
    assignment::Actions actions;
    for (const std::uint64_t id : {1U, 2U}) {
      assignment::Announcement& one = actions.announce.emplace_back();
      one.slice = SliceId(id);
      one.info.time = kTime;
      assignment::Cleared& cleared = actions.cleared.emplace_back();
      cleared.slice = SliceId(id);
      cleared.time = kTime;
      cleared.kept_by = NodeIndex(0);
    }
    alerts->note(actions);
    alerts->ask(1000, 1000, "by hand", kTime);
  }
  bool look(DurationNs after, bool at_end) {
    now += after;
    return alerts->look(2 * kTime, now, at_end, false);
  }
  void save(std::uint64_t slices) {
    v1::BurstAccount account;
    account.mutable_alert()->set_number(1);
    account.mutable_saved()->set_count(slices);
    alerts->told(roster.members().front(), account);
  }
  static constexpr UtcNs kTime = 100 * kSecond;
  static constexpr DurationNs kPatience = BurstAlerts::kPatience;

  node::Setup setup;
  Roster roster;
  Journal journal{nullptr};
  std::optional<BurstAlerts> alerts;
  TimeNs now = kSecond;
};

std::uint64_t refused(const BurstAlerts& alerts) {
  v1::Report report;
  alerts.add_to(report);
  return reports::counter_of(report, "burst.alerts_refused");
}

}  // namespace

TEST_CASE("an alert without a saved slice ends half a minute after the run, and its slices are lost") {
  Saving farm;
  CHECK_FALSE(farm.look(10 * Saving::kPatience, false));  // while the run lasts it waits
  CHECK_FALSE(farm.look(kSecond, true));
  CHECK_FALSE(farm.look(Saving::kPatience - kSecond, true));
  CHECK(farm.look(2 * kSecond, true));
  REQUIRE(farm.alerts->faults().size() == 1);
  CHECK(farm.alerts->faults().front() ==
        "burst 1: 2 of 2 slices not saved: 2 lost with their process, 0 refused by writers");
}

TEST_CASE("an alert that lost slices names the writers without a final report, which may have them") {
  const bool reported = GENERATE(true, false);
  CAPTURE(reported);
  Saving farm;
  for (const char* const name : {"writer-0", "writer-1", "writer-2"}) {
    const auto index = static_cast<std::uint16_t>(name[7] - '0');
    RosterMember& writer = farm.roster.plan(Role::writer, NodeIndex(index), name, "");
    writer.was_there = index < 2;
    writer.has_report = true;
    writer.report.set_final(index == 0 || reported);
  }
  farm.save(1);
  CHECK(farm.alerts->look(4 * Saving::kTime, farm.now, true, true));
  REQUIRE(farm.alerts->faults().size() == 1);
  CHECK(farm.alerts->faults().front() ==
        std::string("burst 1: 1 of 2 slices not saved: 1 lost with their process, 0 refused by writers") +
            (reported ? "" : "; writer-1 gave no final report: its files may have some of them"));
  const auto equations = farm.alerts->equations(false, 0);
  REQUIRE(equations.size() == 2);
  CHECK(equations[1].note == (reported ? "a process was lost, or slices were built again"
                                       : "writer-1 gave no final report: its files were not read back"));
}

TEST_CASE("each saved slice gives the others another half a minute, and the last ends the wait") {
  const bool all = GENERATE(true, false);
  CAPTURE(all);
  Saving farm;
  CHECK_FALSE(farm.look(kSecond, true));
  CHECK_FALSE(farm.look(Saving::kPatience - kSecond, true));
  farm.save(1);
  CHECK_FALSE(farm.look(kSecond, true));
  CHECK_FALSE(farm.look(Saving::kPatience, true));
  if (all) farm.save(2);
  CHECK(farm.look(kSecond, true));
  CHECK(farm.alerts->faults().size() == (all ? 0 : 1));
}

TEST_CASE(
    "the wait for an alert's next slice lasts half a minute beyond the time that the largest one takes") {
  struct Largest {
    double bytes;
    DurationNs takes;  // at 10 B/s
  };
  const Largest largest = GENERATE(Largest{0, 0}, Largest{400, 40 * kSecond},
                                   Largest{1e300, 100 * kSecond});  // more than the ring
  CAPTURE(largest.bytes);
  Saving farm;
  RosterMember& dcm = farm.roster.members().front();
  dcm.has_report = true;
  reports::Gauges(dcm.report)["burst_slice_bytes_max"] = largest.bytes;
  CHECK_FALSE(farm.look(kSecond, true));
  CHECK_FALSE(farm.look(Saving::kPatience + largest.takes - kSecond, true));
  farm.save(1);
  CHECK_FALSE(farm.look(kSecond, true));
  CHECK_FALSE(farm.look(Saving::kPatience + largest.takes - kSecond, true));
  CHECK(farm.look(2 * kSecond, true));
}

TEST_CASE("an alert by hand before the first slice of a replay is refused, because its time is unknown") {
  Saving farm;
  farm.alerts->ask(1000, 1000, "by hand", std::nullopt);
  CHECK(refused(*farm.alerts) == 1);
  CHECK(farm.alerts->state()->book.alerts().size() == 1);
}

}  // namespace weir::supervisor
