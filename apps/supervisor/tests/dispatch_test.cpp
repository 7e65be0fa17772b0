// Messages to each node: the machine's actions over connections in memory; watching clients.
#include "../src/dispatch.hpp"

#include "../src/run_journal.hpp"
#include "../src/settings.hpp"
#include "../src/watchers.hpp"
#include "memory_journal.hpp"
#include "memory_network.hpp"
#include "peer_identity.hpp"
#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/config/plan.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/listener.hpp>

#include <deque>
#include <string>

namespace weir::supervisor {
namespace {

struct HandClock final : ports::Clock {
  [[nodiscard]] TimeNs now_ns() const override { return now; }
  [[nodiscard]] UtcNs utc_ns() const override { return now + utc_offset; }
  TimeNs now = kSecond;
  DurationNs utc_offset = 0;
};

using test::process;

const assignment::AnsweredTriggers kUnanswered;

constexpr std::uint16_t kSizes[] = {4, 16, 64, 256};

// A node, or a watching client: records received messages.
struct Far final : sessions::PeerHandler {
  Far(sessions::PeerInfo self, const ports::Endpoint& to)
      : info(std::move(self)), link(info, *this, limits, counters, to, kSecond) {}
  void on_ready(sessions::Peer&) override {}
  void on_gone(sessions::Peer&, std::string_view) override {}
  Expected<void, wire::WireError> on_control(sessions::Peer&, const v1::Control& message) override {
    heard.push_back(message);
    return {};
  }
  sessions::PeerInfo info;
  sessions::PeerLimits limits;
  sessions::PeerCounters counters;
  std::vector<v1::Control> heard;
  sessions::Connector link;
};

// Two DCMs, two readouts and two writers, or more of each; a test chooses which of them join.
struct Farm : sessions::PeerHandler {
  explicit Farm(std::uint16_t each = 2, v1::TriggerSettings::Mode mode = v1::TriggerSettings::MODE_MAX) {
    setup.run = RunNumber(7);
    setup.farm.mutable_trigger()->set_mode(mode);
    setup.farm.set_farm("test farm");
    for (const Role role : {Role::readout, Role::dcm, Role::writer}) {
      for (std::uint16_t i = 0; i < each; ++i) {
        roster.plan(role, NodeIndex(i), process(role, i).name, "");
        config::NodePlan& plan = setup.plan.nodes.emplace_back();
        plan.role = role;
        plan.index = NodeIndex(i);
        plan.name = process(role, i).name;
      }
    }
    setup.whole_farm = std::make_shared<const v1::Farm>(setup.farm);
    machine.emplace(machine_settings(setup), make_triggers(setup), make_policies(setup));
    dispatch.emplace(dispatch_settings(setup), clock, roster, *machine);
    auto opened = listener.open(network, {"memory", 0});
    REQUIRE(opened.has_value());
    at = *opened;
  }
  Far& come(Role role, std::uint16_t index) {
    Far& far = all.emplace_back(process(role, index), at);
    pass();
    REQUIRE(far.link.ready());
    return far;
  }
  void pass() {
    for (int turn = 0; turn < 3; ++turn) {
      for (Far& far : all) far.link.tick(network, clock.now);
      network.run();
      listener.tick();
    }
  }
  void carry_out() {
    dispatch->carry_out(actions, course, ++passes, clock.now);
    pass();
  }
  void on_ready(sessions::Peer& peer) override {
    if (peer.info().role == Role::control) return watchers.add(peer);
    RosterMember& member = *roster.find(peer.info().role, peer.info().index);
    roster.connected(member, peer);
    member.was_there = true;
  }
  void on_gone(sessions::Peer& peer, std::string_view) override {
    watchers.remove(peer);
    if (RosterMember* member = roster.find(peer); member != nullptr) member->peer = nullptr;
  }
  Expected<void, wire::WireError> on_control(sessions::Peer&, const v1::Control&) override { return {}; }

  node::Setup setup;
  HandClock clock;
  test::MemoryNetwork network;
  Roster roster;
  std::optional<assignment::SupervisorMachine> machine;
  std::optional<Dispatch> dispatch;
  RunWatchers watchers;
  RunStages course{0, kSecond};
  assignment::Actions actions;
  std::uint64_t passes = 0;
  sessions::PeerInfo self = process(Role::supervisor, 0);
  sessions::PeerLimits limits;
  sessions::PeerCounters counters;
  sessions::SessionListener listener{self, *this, limits, counters, clock.now};
  ports::Endpoint at;
  std::deque<Far> all;
};

assignment::Announcement announced(std::uint64_t id) {
  assignment::Announcement one;
  one.slice = SliceId(id);
  return one;
}

v1::Control some_status() {
  v1::Control message;
  message.mutable_status()->set_state("running");
  return message;
}

}  // namespace

TEST_CASE("each node is sent its own part: readouts announcements and clears, DCMs slices, writers copies") {
  Farm farm;
  Far& readout = farm.come(Role::readout, 0);
  Far& dcm = farm.come(Role::dcm, 1);
  Far& writer = farm.come(Role::writer, 0);
  Far& other = farm.come(Role::writer, 1);
  farm.actions.announce = {announced(5), announced(9)};
  assignment::Assignment assigned;
  assigned.slice = SliceId(5);
  farm.actions.of(NodeIndex(1)).assign.push_back(assigned);
  farm.actions.of(NodeIndex(0)).assign.push_back(assigned);  // is not there
  farm.actions.cleared.push_back({SliceId(3), SliceOrder(3), Attempt(0), StoreEpoch(1), NodeIndex(0)});
  farm.actions.copies.push_back({NodeIndex(1), SliceId(2), Attempt(0), StoreEpoch(1), true, true});
  farm.clock.now = 5 * kSecond;
  farm.carry_out();
  REQUIRE(readout.heard.size() == 2);
  CHECK(readout.heard[0].announce().slice_size() == 2);
  CHECK(readout.heard[1].clear().slice(0) == 3);
  REQUIRE(dcm.heard.size() == 1);
  CHECK(dcm.heard[0].assign().slice(0) == 5);
  REQUIRE(writer.heard.size() == 1);
  CHECK(writer.heard[0].settled().slice(0) == 3);
  CHECK(writer.heard[0].settled().copies_size() == 0);
  REQUIRE(other.heard.size() == 1);
  CHECK(other.heard[0].settled().copies(0).slice() == 2);
  CHECK(other.heard[0].settled().copies(0).settled());
  CHECK(farm.actions.empty());
  CHECK(farm.dispatch->next_slice() == 10);
  CHECK(farm.course.has_triggered());
  farm.carry_out();
  CHECK(readout.heard.size() == 2);
}

TEST_CASE("DCMs receive changed addresses, and their shares of ports that others use too") {
  Farm farm;
  Far& first = farm.come(Role::dcm, 0);
  farm.come(Role::writer, 1);
  farm.dispatch->tell_directory();
  farm.dispatch->directory_changed();
  farm.dispatch->ports_changed();
  farm.dispatch->tell_directory();
  farm.dispatch->tell_ports();
  farm.dispatch->tell_directory();
  farm.pass();
  REQUIRE(first.heard.size() == 1);
  const v1::Directory& directory = first.heard.front().directory();
  REQUIRE(directory.nodes_size() == 4);  // DCMs do not communicate with each other
  CHECK_FALSE(directory.nodes(2).present());
  CHECK(directory.nodes(3).present());
  Far& second = farm.come(Role::dcm, 1);
  farm.dispatch->ports_changed();
  farm.dispatch->tell_ports();
  farm.dispatch->tell_ports();
  farm.pass();
  REQUIRE(second.heard.size() == 1);
  CHECK(second.heard.front().port_share().members() == 2);
  CHECK(first.heard.size() == 2);
}

TEST_CASE("the shares of a port are computed in one walk over the farm, for any number of DCMs") {
  for (const std::uint16_t each : kSizes) {
    CAPTURE(each);
    Farm farm(each);
    farm.come(Role::dcm, 0);
    sessions::Peer& peer = *farm.roster.find(Role::dcm, NodeIndex(0))->peer;
    for (RosterMember& member : farm.roster.members()) {
      if (member.role == Role::dcm) member.peer = &peer;
    }
    const std::uint64_t before = farm.roster.steps();
    farm.dispatch->ports_changed();
    farm.dispatch->tell_ports();
    CHECK(farm.roster.steps() - before <= farm.roster.members().size());
  }
}

TEST_CASE("a node that joins a run receives its begin, and a reconnected readout the open slices") {
  Farm farm;
  Far& readout = farm.come(Role::readout, 0);
  Far& dcm = farm.come(Role::dcm, 0);
  RosterMember& member = *farm.roster.find(Role::readout, NodeIndex(0));
  member.first_slice = 77;
  farm.course.begin(farm.clock.now, 9);
  for (RosterMember& each : farm.roster.members()) farm.dispatch->came(each, Welcome::open_slices);
  farm.dispatch->tell_destinations();
  farm.dispatch->tell_absences();
  farm.pass();
  CHECK(readout.heard.empty());
  farm.carry_out();
  farm.carry_out();
  REQUIRE(readout.heard.size() == 2);
  CHECK(readout.heard[0].begin_run().run() == 7);
  CHECK(readout.heard[0].begin_run().utc_ns() == 9);
  CHECK(readout.heard[0].begin_run().first_slice() == 77);
  CHECK(readout.heard[0].begin_run().on());
  CHECK(readout.heard[1].has_open_slices());
  CHECK(dcm.heard.size() == 1);
}

TEST_CASE("a readout that joins late receives the earlier open slices as missed, whatever their ids") {
  Farm farm(2, v1::TriggerSettings::MODE_NETWORK);
  Far& readout = farm.come(Role::readout, 0);
  farm.machine->start({farm.clock.now, farm.clock.now});
  farm.course.begin(farm.clock.now, 9);
  const auto offer = [&](std::uint64_t id) {
    const assignment::TriggerOffer trigger{SliceId(id), {}, {}};
    REQUIRE(farm.machine->offer(trigger, {farm.clock.now, farm.clock.now}, farm.actions).taken);
  };
  offer(5000);
  offer(7);
  farm.carry_out();
  RosterMember& member = *farm.roster.find(Role::readout, NodeIndex(0));
  member.first_order = farm.dispatch->announced();
  readout.heard.clear();
  farm.dispatch->came(member, Welcome::begin);
  offer(3);
  farm.carry_out();
  REQUIRE(readout.heard.size() == 2);
  const v1::BeginRun& begin = readout.heard[0].begin_run();
  CHECK(begin.first_slice() == 0);
  CHECK(begin.on());
  REQUIRE(begin.before_size() == 2);
  CHECK(begin.before(0) == 5000);
  CHECK(begin.before(1) == 7);
  CHECK(readout.heard[1].announce().slice(0) == 3);
  CHECK(readout.heard[1].pass() == farm.passes);
}

TEST_CASE("a newcomer receives this pass's slices once: after the run's begin, or with the open ones") {
  Farm farm;
  Far& fresh = farm.come(Role::readout, 0);
  Far& back = farm.come(Role::readout, 1);
  farm.dispatch->came(*farm.roster.find(Role::readout, NodeIndex(0)), Welcome::begin);
  farm.dispatch->came(*farm.roster.find(Role::readout, NodeIndex(1)), Welcome::open_slices);
  farm.actions.announce = {announced(5)};
  farm.carry_out();
  REQUIRE(fresh.heard.size() == 2);
  CHECK(fresh.heard[0].has_begin_run());
  CHECK(fresh.heard[1].announce().slice(0) == 5);
  REQUIRE(back.heard.size() == 2);
  CHECK(back.heard[1].has_open_slices());
  farm.actions.announce = {announced(6)};
  farm.carry_out();
  CHECK(back.heard.size() == 3);
}

TEST_CASE("a node of any role with too much unread data is disconnected, and no other is") {
  const Role role = GENERATE(Role::readout, Role::dcm, Role::writer);
  constexpr std::size_t kMax = 1000;
  Farm farm;
  Dispatch dispatch(dispatch_settings(farm.setup), farm.clock, farm.roster, *farm.machine, kMax);
  farm.come(role, 0);
  farm.come(role, 1);
  RosterMember& slow = *farm.roster.find(role, NodeIndex(1));
  slow.peer->stream().append(std::vector<std::byte>(kMax));
  dispatch.drop_nodes_that_do_not_read();
  CHECK(slow.peer != nullptr);
  slow.peer->stream().append(std::vector<std::byte>(1));
  dispatch.drop_nodes_that_do_not_read();
  CHECK(slow.peer == nullptr);
  CHECK(farm.roster.find(role, NodeIndex(0))->peer != nullptr);
}

TEST_CASE("a node of any role that sends nothing while reports are due is dropped, and no other is") {
  const Role role = GENERATE(Role::readout, Role::dcm, Role::writer);
  Farm farm(3);
  const DurationNs most = farm.dispatch->silence_max();
  CHECK(most == 11 * kSecond);
  const auto listen = [&](DurationNs passed) {
    for (TimeNs until = farm.clock.now + passed; farm.clock.now < until; farm.clock.now += kSecond)
      farm.dispatch->drop_nodes_that_say_nothing(farm.clock.now);
  };
  listen(kSecond);
  for (std::uint16_t i = 0; i < 3; ++i) {
    farm.come(role, i);
    farm.roster.find(role, NodeIndex(i))->heard_ns = farm.clock.now;
  }
  RosterMember& speaks = *farm.roster.find(role, NodeIndex(0));
  RosterMember& silent = *farm.roster.find(role, NodeIndex(1));
  RosterMember& done = *farm.roster.find(role, NodeIndex(2));
  done.has_report = true;
  done.report.set_final(true);
  listen(most);
  speaks.heard_ns = farm.clock.now;
  CHECK(silent.peer != nullptr);
  SECTION("it is") {
    listen(2 * kSecond);
    CHECK(silent.peer == nullptr);
  }
  SECTION("but not for a time in which the supervisor itself stood still") {
    farm.clock.now += 100 * kSecond;
    listen(most);
    CHECK(silent.peer != nullptr);
    CHECK(speaks.peer != nullptr);
    speaks.heard_ns = farm.clock.now;
    listen(2 * kSecond);
    CHECK(silent.peer == nullptr);
  }
  CHECK(speaks.peer != nullptr);
  CHECK(done.peer != nullptr);
}

TEST_CASE("a DCM of a remote group is sent announced addresses, and may be silent for its group's lease") {
  Farm farm;
  farm.roster.find(Role::writer, NodeIndex(0))->announce = "gate:7001";
  farm.roster.find(Role::dcm, NodeIndex(1))->remote = true;
  Far& near = farm.come(Role::dcm, 0);
  Far& far = farm.come(Role::dcm, 1);
  farm.come(Role::writer, 0);
  farm.dispatch->directory_to_all();
  farm.pass();
  const auto writer = [](const Far& dcm) { return dcm.heard.back().directory().nodes(2); };
  CHECK(writer(near).host() != "gate");
  CHECK(writer(far).host() == "gate");
  CHECK(writer(far).port() == 7001);

  farm.setup.farm.mutable_dcm()->add_groups()->set_name("near");
  farm.setup.farm.mutable_dcm()->add_groups()->set_lease_ms(60'000);
  config::NodePlan plan;
  plan.role = Role::dcm;
  CHECK(silence_of_group(farm.setup, plan) == 0);
  plan.group = 1;
  CHECK(silence_of_group(farm.setup, plan) == 61 * kSecond);
}

TEST_CASE("reports that are seldom make no node silent") {
  Farm farm;
  farm.setup.farm.mutable_supervisor()->set_status_interval_ms(60'000);
  const Dispatch dispatch(dispatch_settings(farm.setup), farm.clock, farm.roster, *farm.machine);
  CHECK(dispatch.silence_max() == 600 * kSecond);
}

TEST_CASE("only the node that is let go is told to end") {
  Farm farm;
  Far& first = farm.come(Role::dcm, 0);
  Far& second = farm.come(Role::dcm, 1);
  farm.actions.leaving.push_back({Role::dcm, NodeIndex(1)});
  farm.actions.leaving.push_back({Role::readout, NodeIndex(1)});  // is not there
  farm.carry_out();
  CHECK(first.heard.empty());
  REQUIRE(second.heard.size() == 1);
  CHECK(second.heard.front().end_run().shutdown());
}

TEST_CASE("watchers receive the account, late ones too, and it is awaited until one acknowledges it") {
  Farm farm;
  Far& first = farm.come(Role::control, 0);
  CHECK(farm.watchers.was_one());
  farm.watchers.say(some_status());
  v1::Control account;
  account.mutable_summary()->set_run(7);
  farm.watchers.give_account(account, false, farm.clock.now);
  CHECK(farm.watchers.account_awaited());
  CHECK_FALSE(farm.watchers.wait_no_longer(farm.clock.now + RunWatchers::kThere - 1));
  Far& second = farm.come(Role::control, 1);
  farm.pass();
  REQUIRE(first.heard.size() == 2);
  CHECK(first.heard[1].summary().run() == 7);
  REQUIRE(second.heard.size() == 1);
  CHECK(second.heard[0].summary().run() == 7);
  farm.watchers.account_taken(farm.clock.now);
  CHECK_FALSE(farm.watchers.account_awaited());
  CHECK(farm.watchers.wait_no_longer(farm.clock.now));
}

TEST_CASE("an account without expected clients is given up immediately, otherwise it is awaited") {
  RunWatchers nobody;
  nobody.account_taken(kSecond);  // no account exists yet
  CHECK_FALSE(nobody.have_account());
  nobody.give_account({}, false, kSecond);
  CHECK_FALSE(nobody.account_awaited());
  CHECK(nobody.wait_no_longer(kSecond));
  RunWatchers somebody;
  somebody.give_account({}, true, kSecond);
  CHECK(somebody.account_awaited());
  CHECK_FALSE(somebody.wait_no_longer(kSecond + RunWatchers::kWatcherPatience - 1));
  CHECK(somebody.wait_no_longer(kSecond + RunWatchers::kWatcherPatience));
}

TEST_CASE("a journal is read by a process of the same run, farm and claim, and by no other") {
  Farm farm;
  test::MemoryJournal store;
  SupervisorEnvironment environment{farm.network, farm.clock, {}, {}, &store};
  environment.claim = 3;
  const assignment::ThrottleTimes lost_times;
  const HistogramBoard histograms;
  Journal no_entries(nullptr);
  const BurstAlerts bursts(burst_alert_settings(farm.setup), farm.roster, no_entries);
  RunJournal journal(journal_settings(farm.setup), environment, *farm.machine, farm.roster, histograms,
                     bursts, lost_times, kUnanswered);
  CHECK_FALSE(journal.read());
  farm.course.begin(farm.clock.now, 9);
  farm.machine->start({farm.clock.now, 9});
  farm.roster.find(Role::dcm, NodeIndex(1))->was_there = true;
  farm.roster.find(Role::dcm, NodeIndex(1))->first_slice = 77;
  journal.note_fault("a fault before the state");
  journal.write_state(farm.course, farm.clock.now);
  journal.note_fault("a fault after it");
  farm.course.drain("stopped", 0);
  journal.entries().write_stop("stopped", 0);
  const auto found = journal.read();
  REQUIRE(found);
  CHECK(found->begun_utc == 9);
  CHECK(found->stop == "stopped");
  CHECK_FALSE(found->reporting);
  CHECK(found->faults == std::vector<std::string>{"a fault before the state", "a fault after it"});
  CHECK(found->joined.at({static_cast<int>(Role::dcm), 1}).first_slice == 77);
  environment.claim = 4;
  CHECK_THROWS_WITH(journal.read(), Catch::ContainsSubstring("another run"));
  environment.claim = 3;
  farm.setup.run = RunNumber(8);
  const RunJournal next(journal_settings(farm.setup), environment, *farm.machine, farm.roster, histograms,
                        bursts, lost_times, kUnanswered);
  CHECK_THROWS_WITH(next.read(), Catch::ContainsSubstring("not of this one"));
}

TEST_CASE("faults and lost livetime outlive the supervisor's process, and count once") {
  Farm farm;
  test::MemoryJournal store;
  SupervisorEnvironment environment{farm.network, farm.clock, {}, {}, &store};
  assignment::ThrottleTimes lost_times;
  const HistogramBoard histograms;
  Journal no_entries(nullptr);
  const BurstAlerts bursts(burst_alert_settings(farm.setup), farm.roster, no_entries);
  RunJournal first(journal_settings(farm.setup), environment, *farm.machine, farm.roster, histograms, bursts,
                   lost_times, kUnanswered);
  farm.course.begin(farm.clock.now, 9);
  farm.machine->start({farm.clock.now, 9});
  const auto lose_dcm = [](assignment::SupervisorMachine& machine, std::uint16_t dcm) {
    assignment::Actions actions;
    machine.dcm_joined(NodeIndex(dcm), Incarnation(1), 4, 5, actions);
    machine.dcm_left(NodeIndex(dcm), 6, actions);
  };
  const std::string lost = " was lost: 0 slices given to others";
  lose_dcm(*farm.machine, 0);
  first.note_machine_faults(farm.clock.now);
  first.write_state(farm.course, farm.clock.now);
  lose_dcm(*farm.machine, 1);
  first.note_machine_faults(farm.clock.now);
  first.note_machine_faults(farm.clock.now);
  const assignment::LostTimes before{7, {{"RUN_PAUSED", 5}, {"WRITER_DISK_FULL", 4}}};
  lost_times.resume(before);
  first.write_lost_times(farm.clock.now);
  const auto found = first.read();
  REQUIRE(found);
  CHECK(found->faults == std::vector<std::string>{"dcm-0" + lost, "dcm-1" + lost});
  CHECK(found->lost_times == before);

  assignment::SupervisorMachine machine(machine_settings(farm.setup), make_triggers(farm.setup),
                                        make_policies(farm.setup));
  machine.start({farm.clock.now, 9});
  RunJournal second(journal_settings(farm.setup), environment, machine, farm.roster, histograms, bursts,
                    lost_times, kUnanswered);
  second.resumed(*found);
  lose_dcm(machine, 0);
  second.note_machine_faults(farm.clock.now);
  for (const bool anew : {false, true}) {
    if (anew) second.write_state(farm.course, farm.clock.now);
    const auto again = second.read();
    REQUIRE(again);
    CHECK(again->lost_times == before);
    if (!anew) continue;
    REQUIRE(second.faults().size() == 4);
    CHECK(second.faults()[1] == "dcm-1" + lost);
    CHECK_THAT(second.faults()[2], Catch::ContainsSubstring("the supervisor was restarted"));
    CHECK(second.faults()[3] == "dcm-0" + lost);
    CHECK(again->faults == second.faults());
  }
}

TEST_CASE(
    "the end of an outage replaces its start in faults and journal; one that moved no slice is in neither") {
  const std::string start = "readout-1's fragments are missing: it was reached by no DCM from 12:01:04 UTC";
  const std::vector<std::string> over{"dcm-0 was lost", start + " for 3.20 s", "dcm-0 was lost"};
  FaultTexts faults({"dcm-0 was lost"});
  for (const char* const one : {start.c_str(), "dcm-0 was lost"}) faults.add(one);
  CHECK(faults.continues(over[1]));
  CHECK_FALSE(faults.continues(start));
  faults.add(over[1]);
  CHECK(faults.all() == over);
  Farm farm;
  test::MemoryJournal store;
  SupervisorEnvironment environment{farm.network, farm.clock, {}, {}, &store};
  const assignment::ThrottleTimes lost_times;
  const HistogramBoard histograms;
  Journal no_entries(nullptr);
  const BurstAlerts bursts(burst_alert_settings(farm.setup), farm.roster, no_entries);
  RunJournal journal(journal_settings(farm.setup), environment, *farm.machine, farm.roster, histograms,
                     bursts, lost_times, kUnanswered);
  farm.course.begin(farm.clock.now, 9);
  farm.machine->start({farm.clock.now, 9});
  journal.write_state(farm.course, farm.clock.now);
  assignment::Actions actions;
  farm.machine->writer_joined(NodeIndex(0), Incarnation(1), 5, actions);
  farm.machine->dcm_joined(NodeIndex(0), Incarnation(1), 4, 5, actions);
  const NodeIndex lost(0);
  farm.machine->reach(NodeIndex(0), {}, {&lost, 1}, 5);
  TimeNs now = 5;
  for (; now < 9 * kSecond && farm.machine->faults().empty(); now += 100 * kMillisecond)
    farm.machine->tick({now, now}, actions);
  REQUIRE(farm.machine->faults().size() == 1);
  journal.note_machine_faults(now);
  CHECK(journal.faults().empty());
  journal.note_fault("dcm-0 was lost");
  journal.note_fault(start);
  journal.note_fault("dcm-0 was lost");
  journal.note_fault(over[1]);
  CHECK(journal.faults() == over);
  const auto found = journal.read();
  REQUIRE(found);
  CHECK(found->faults == over);
}

TEST_CASE("a journal with a value that no supervisor writes is refused with its entry and column") {
  Farm farm;
  SupervisorEnvironment environment{farm.network, farm.clock, {}, {}, nullptr};
  const assignment::ThrottleTimes lost_times;
  const HistogramBoard histograms;
  Journal no_entries(nullptr);
  const BurstAlerts bursts(burst_alert_settings(farm.setup), farm.roster, no_entries);
  farm.course.begin(farm.clock.now, 9);
  farm.machine->start({farm.clock.now, 9});
  constexpr std::uint32_t kBeyond = UINT16_MAX + 1;
  struct Entry {
    const char* column;
    v1::JournalEntry entry;
  };
  std::vector<Entry> entries;
  const auto add = [&](const char* column) -> v1::JournalEntry& {
    return entries.emplace_back(Entry{column, {}}).entry;
  };
  add("").mutable_farm()->mutable_absences()->add_ranges()->set_readout(1);
  add("ranges.readout").mutable_farm()->mutable_absences()->add_ranges()->set_readout(kBeyond + 1);
  add("removed.index").mutable_farm()->add_removed()->set_index(kBeyond);
  add("removed.role").mutable_farm()->add_removed()->set_role(77);
  for (const char* const column : {"given_up.writer", "given_up.epoch", "open.attempt", "open.copy_writer"}) {
    v1::JournalState& state = *add(column).mutable_state();
    state.set_run(7);
    state.set_farm("test farm");
    if (column[0] == 'g') {
      v1::JournalState::GivenUp& copy = *state.add_given_up();
      copy.set_writer(column == std::string("given_up.writer") ? kBeyond : 0);
      copy.set_epoch(column == std::string("given_up.epoch") ? kBeyond : 0);
    } else {
      v1::JournalState::Open& open = *state.add_open();
      open.set_attempt(column == std::string("open.attempt") ? kBeyond : 0);
      open.set_copy_writer(column == std::string("open.copy_writer") ? kBeyond : 0);
    }
  }
  for (const Entry& one : entries) {
    CAPTURE(one.column);
    test::MemoryJournal store;
    environment.journal = &store;
    RunJournal journal(journal_settings(farm.setup), environment, *farm.machine, farm.roster, histograms,
                       bursts, lost_times, kUnanswered);
    journal.write_state(farm.course, farm.clock.now);
    const std::string body = one.entry.SerializeAsString();
    const auto* bytes = reinterpret_cast<const std::byte*>(body.data());
    std::vector<std::byte> framed(2 * sizeof(std::uint32_t));
    store_le(framed.data(), static_cast<std::uint32_t>(body.size()));
    store_le(framed.data() + sizeof(std::uint32_t), crc32c({bytes, body.size()}));
    framed.insert(framed.end(), bytes, bytes + body.size());
    REQUIRE(store.append(framed));
    if (one.column[0] == '\0') {
      CHECK(journal.read()->state.shape.absences.size() == 1);
    } else {
      CHECK_THROWS_WITH(journal.read(),
                        Catch::ContainsSubstring("(entry 2, " + std::string(one.column) + ")"));
    }
  }
}

TEST_CASE("an outage is one line of the record, though the clock is set before it ends") {
  Farm farm;
  test::MemoryJournal store;
  SupervisorEnvironment environment{farm.network, farm.clock, {}, {}, &store};
  const assignment::ThrottleTimes lost_times;
  const HistogramBoard histograms;
  Journal no_entries(nullptr);
  const BurstAlerts bursts(burst_alert_settings(farm.setup), farm.roster, no_entries);
  RunJournal journal(journal_settings(farm.setup), environment, *farm.machine, farm.roster, histograms,
                     bursts, lost_times, kUnanswered);
  assignment::Actions actions;
  farm.machine->start({farm.clock.now, 9});
  farm.machine->dcm_joined(NodeIndex(0), Incarnation(1), 4, 5, actions);
  const NodeIndex down(1);
  farm.machine->readout_joined(down, Incarnation(1), 5);
  const auto reports = [&](std::span<const NodeIndex> missing) {
    const std::size_t before = farm.machine->faults().size();
    farm.machine->reach(NodeIndex(0), missing, {}, farm.clock.now);
    const TimeNs until = farm.clock.now + 60 * kSecond;
    while (farm.clock.now < until && farm.machine->faults().size() == before) {
      farm.clock.now += 100 * kMillisecond;
      farm.machine->tick({farm.clock.now, farm.clock.now}, actions);
    }
    REQUIRE(farm.machine->faults().size() == before + 1);
    journal.note_machine_faults(farm.clock.now);
  };
  for (const int outage : {1, 2}) {
    CAPTURE(outage);
    reports({&down, 1});
    REQUIRE(journal.faults().size() == static_cast<std::size_t>(outage));
    const std::string begun = journal.faults().back();
    farm.clock.utc_offset += 17 * kSecond;
    reports({});
    REQUIRE(journal.faults().size() == static_cast<std::size_t>(outage));
    CHECK(journal.faults().back().starts_with(begun + " for "));
  }
}

TEST_CASE("a record with thousands of faults takes no time for each beyond its own") {
  FaultTexts faults;
  constexpr std::size_t kMany = 200'000;
  for (std::size_t i = 0; i < kMany; ++i) faults.add("fault " + std::to_string(i));
  for (std::size_t i = 0; i < kMany; ++i) faults.add("fault " + std::to_string(i) + " for 2 s");
  CHECK(faults.all().size() == kMany);
  CHECK(faults.all().back() == "fault 199999 for 2 s");
}

TEST_CASE("a journal with nodes that the farm file no longer has is refused with an error that names one") {
  Farm farm;
  test::MemoryJournal store;
  SupervisorEnvironment environment{farm.network, farm.clock, {}, {}, &store};
  const assignment::ThrottleTimes lost_times;
  const HistogramBoard histograms;
  Journal no_entries(nullptr);
  const BurstAlerts bursts(burst_alert_settings(farm.setup), farm.roster, no_entries);
  RunJournal journal(journal_settings(farm.setup), environment, *farm.machine, farm.roster, histograms,
                     bursts, lost_times, kUnanswered);
  farm.course.begin(farm.clock.now, 9);
  farm.machine->start({farm.clock.now, 9});
  farm.roster.find(Role::writer, NodeIndex(1))->was_there = true;
  journal.write_state(farm.course, farm.clock.now);
  CHECK(journal.read());
  std::erase_if(farm.roster.members(), [](const RosterMember& member) {
    return member.role == Role::writer && member.index.value == 1;
  });
  CHECK_THROWS_WITH(journal.read(), Catch::ContainsSubstring("has writer-1, which the farm file lacks"));
}

}  // namespace weir::supervisor
