#include "../src/journal.hpp"

#include "weir_catch.hpp"
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/hash.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <tuple>
#include <type_traits>
#include <unistd.h>

using namespace weir;
using namespace weir::assignment;
using weir::supervisor::Journal;
using weir::supervisor::JournalledRun;
using weir::supervisor::read_journal;

namespace {

class MemoryStore final : public supervisor::JournalStore {
 public:
  Expected<std::vector<std::byte>, std::string> read() override { return bytes; }
  Expected<void, std::string> append(ConstBytes more) override {
    if (full) return Unexpected<std::string>(error);
    bytes.insert(bytes.end(), more.begin(), more.end());
    ++appends;
    return {};
  }
  Expected<void, std::string> replace(ConstBytes all) override {
    ++replaces;
    if (full) return Unexpected<std::string>(error);
    bytes.assign(all.begin(), all.end());
    return {};
  }
  bool no_room() const override { return full && room_may_come; }
  void remove() override { bytes.clear(); }
  void abandon() override { abandoned = true; }

  std::vector<std::byte> bytes;
  int appends = 0;
  int replaces = 0;
  bool full = false;
  bool room_may_come = false;
  std::string error = "no space";
  bool abandoned = false;
};

constexpr std::uint16_t kDcms = 3;
constexpr std::uint16_t kWriters = 2;

std::vector<GroupSettings> two_groups() {
  return {{"first", NodeIndex(0), 2, {GroupIndex(1)}}, {"second", NodeIndex(2), 1, {}, false, true}};
}

SupervisorSettings settings(bool split) {
  SupervisorSettings settings;
  settings.readouts = 1;
  settings.dcms = kDcms;
  settings.writers = kWriters;
  settings.in_flight_max = 40;
  settings.pending_max = 10;
  settings.lease_ns = 200;
  settings.drain_ns = 30 * kSecond;
  settings.first_slice = SliceId(7);
  settings.attempts_max = 20;
  if (split) settings.groups = two_groups();
  return settings;
}

SupervisorMachine make_machine(bool split = false) {
  TriggerSettings triggers;
  triggers.mode = "network";
  DcmGroups::Policies policies;
  for (int i = 0; i < (split ? 2 : 1); ++i) policies.push_back(make_policy("credits").value());
  return {settings(split), make_trigger_source(triggers).value(), std::move(policies)};
}

// A supervisor with inputs drawn from a seed, recorded pass by pass.
class WrittenRun {
 public:
  explicit WrittenRun(std::uint64_t seed)
      : machine(make_machine(seed % 2 == 1)), random_(seed), journal_(&store) {
    machine.start(now_);
    journal_.write_state({RunNumber(3), "farm", 1234, machine.state(0), {}, {}, "", false, {}}, &alerts);
    for (std::uint16_t i = 0; i < kDcms; ++i) dcm(i, true);
    for (std::uint16_t i = 0; i < kWriters; ++i) writer(i, true);
  }

  void step() {
    now_.mono += static_cast<TimeNs>(below(20));
    now_.utc = now_.mono;
    switch (below(10)) {
      case 9:
        fetch();
        break;
      case 8:
        kill();
        break;
      case 0:
        dcm(static_cast<std::uint16_t>(below(kDcms)), below(2) == 0);
        break;
      case 1:
        writer(static_cast<std::uint16_t>(below(kWriters)), below(3) > 0);
        break;
      case 2:
      case 3:
        offer();
        break;
      case 4:
      case 5:
        decide();
        break;
      default:
        acknowledge();
    }
    pass();
    if (below_for_alerts(3) == 0) alert();
  }

  MemoryStore store;
  SupervisorMachine machine;
  supervisor::RunAlerts alerts{burst::AlertBook(kDcms)};

 private:
  std::uint64_t below(std::uint64_t n) { return (random_ = mix64(random_)) % n; }

  // Numbers of their own: the rest of a run is the same with and without alerts.
  std::uint64_t below_for_alerts(std::uint64_t n) { return (random_alerts_ = mix64(random_alerts_)) % n; }

  SliceSum some_slices() { return {below_for_alerts(50), below_for_alerts(1000)}; }
  burst::Account some_account() {
    return {some_slices(), some_slices(), some_slices(), some_slices(),
            some_slices(), some_slices(), some_slices()};
  }
  void alert() {
    burst::AlertBook& book = alerts.book;
    const auto number = static_cast<std::uint32_t>(1 + below_for_alerts(20));  // perhaps of no alert
    const NodeIndex dcm(static_cast<std::uint16_t>(below_for_alerts(kDcms)));
    switch (below_for_alerts(5)) {
      case 0: {
        const UtcNs from = static_cast<UtcNs>(below_for_alerts(1000)) * burst::kQuantum + 3;
        std::string error;
        const auto given = book.ask(from, from + 100 * burst::kQuantum, "by hand", error);
        if (!given) return journal_.write_alerts_refused(++alerts.refused);
        if (below_for_alerts(2) == 0) alerts.filter_alert_from = from;
        journal_.write_alert(*given, "by hand", alerts.filter_alert_from);
        return;
      }
      case 1: {
        const burst::Account account = some_account();
        book.told(dcm, number, account);
        return journal_.write_alert_account(dcm, number, account);
      }
      case 2: {
        const auto found = book.alerts().find(number);
        if (found == book.alerts().end()) return;
        burst::AlertAccount account = found->second;
        account.ended = true;
        account.lost = below_for_alerts(9);
        book.end(number, account);
        return journal_.write_alert_end(account);
      }
      case 3:
        processes_[dcm.value] = ++process_;
        book.dcm_replaced(dcm);
        return journal_.write_join(Role::dcm, dcm, {process_, 0, false, {}});
      default:  // the process is told to end
        if (processes_[dcm.value] == 0) return;
        journal_.write_join(Role::dcm, dcm, {processes_[dcm.value], 0, true, {}});
    }
  }

  void offer() {
    const std::vector<std::byte> payload(below(2) == 0 ? 0 : 5, std::byte(below(256)));
    TriggerOffer trigger;
    if (below(2) == 0) trigger.slice = SliceId(below(2) == 0 ? below(500) : below(500) << 16U);
    trigger.info = {static_cast<UtcNs>(100 + below(1000)) * burst::kQuantum, 50,
                    TriggerType(static_cast<std::uint32_t>(below(3)))};
    trigger.payload = payload;
    machine.offer(trigger, now_, actions_);
    pass();
    machine.tick(now_, actions_);
  }
  void dcm(std::uint16_t index, bool joins) {
    if (joins) {
      machine.dcm_joined(NodeIndex(index), Incarnation(1), 5, now_.mono, actions_);
    } else {
      machine.dcm_left(NodeIndex(index), now_.mono, actions_);
    }
    std::erase_if(with_dcm_, [&](const auto& one) { return one.first.value == index; });
    pass();
    machine.tick(now_, actions_);
  }
  void writer(std::uint16_t index, bool joins) {
    if (joins) {
      machine.writer_joined(NodeIndex(index), Incarnation(1), now_.mono, actions_);
    } else {
      machine.writer_left(NodeIndex(index), now_.mono, actions_);
    }
  }
  void decide() {
    if (with_dcm_.empty()) return;
    const auto [dcm, assignment] = with_dcm_[below(with_dcm_.size())];
    AttemptDecision decision{assignment.slice, assignment.attempt, Verdict::accept, DiscardReason::none,
                             below(3) == 0};
    const std::uint64_t choice = below(8);
    if (choice == 0) decision.verdict = Verdict::reject;
    if (choice == 1) {
      decision.verdict = Verdict::failed;
      decision.reason = below(2) == 0 ? DiscardReason::filter_failed : DiscardReason::too_large;
    }
    if (choice == 2) {
      decision.verdict = Verdict::failed;
      decision.reason = DiscardReason::writer_refused;
    }
    const std::vector<std::byte> bytes(below(3) * 7, static_cast<std::byte>(below(256)));
    if (choice > 4 && !machine.ledger().groups.empty() && dcm.value < 2) {
      decision.verdict = Verdict::forward;
      decision.group = GroupIndex(1);
      decision.bytes = bytes;
      decision.kept = below(2) == 0;
    }
    machine.decisions(dcm, {&decision, 1}, now_.mono, actions_);
  }
  // A filter worker of the DCM died in a slice that the DCM has, or had.
  void kill() {
    if (with_dcm_.empty()) return;
    const auto [dcm, assignment] = with_dcm_[below(with_dcm_.size())];
    const FilterKill kill{assignment.slice, assignment.attempt, 1 + static_cast<std::uint32_t>(below(2))};
    machine.filter_killed(dcm, {&kill, 1}, actions_);
  }
  // A DCM reports a slice as whole that it has, or had, from the DCM that keeps it.
  void fetch() {
    const std::size_t number = with_dcm_.size();
    const std::size_t first = below(number + 1);
    for (std::size_t i = 0; i < number; ++i) {
      const auto& [dcm, assignment] = with_dcm_[(first + i) % number];
      if (assignment.kept_by == kNoNode) continue;
      const Lease lease{assignment.slice, assignment.attempt};
      return machine.fetched(dcm, {&lease, 1}, actions_);
    }
  }
  void acknowledge() {
    if (confirmed_.empty()) return;
    const Confirmation one = confirmed_[below(confirmed_.size())];
    const CopyId ack{one.slice, one.attempt, one.epoch};
    machine.stored(one.writer, {&ack, 1}, actions_);
  }
  void pass() {
    machine.tick(now_, actions_);
    for (const NodeIndex dcm : actions_.touched) {
      for (const Assignment& one : actions_.dcms[dcm.value].assign) with_dcm_.emplace_back(dcm, one);
      for (const Confirmation& one : actions_.dcms[dcm.value].confirm) {
        if (one.answer == Answer::store) confirmed_.push_back(one);
      }
    }
    journal_.write_pass(actions_, machine.ledger());
    for (const Announcement& one : actions_.announce) alerts.book.announced(one.info.time);
    for (const Cleared& one : actions_.cleared) {
      const bool kept = one.kept_by != kNoNode;
      alerts.book.settled(one.slice, one.time, kept ? std::optional(one.kept_by) : std::nullopt);
    }
    actions_.clear();
  }

  std::uint64_t random_;
  std::uint64_t random_alerts_ = mix64(random_ + 1);
  std::uint64_t process_ = 0;
  std::array<std::uint64_t, kDcms> processes_{};
  Now now_{1000, 1000};
  Actions actions_;
  Journal journal_;
  std::vector<std::pair<NodeIndex, Assignment>> with_dcm_;
  std::vector<Confirmation> confirmed_;
};

std::set<std::tuple<std::uint64_t, int, int, bool>> copies_of(const RunState& state) {
  std::set<std::tuple<std::uint64_t, int, int, bool>> copies;
  for (const GivenUpCopy& copy : state.given_up)
    copies.emplace(copy.slice.value, copy.writer.value, copy.epoch.value, copy.orphan);
  return copies;
}

void check_same_groups(const SupervisorLedger& read, const SupervisorLedger& real) {
  REQUIRE(read.groups.size() == real.groups.size());
  for (std::size_t i = 0; i < read.groups.size(); ++i) {
    const GroupLedger& a = read.groups[i];
    const GroupLedger& b = real.groups[i];
    CHECK(a.arrived == b.arrived);
    CHECK(a.assigned == b.assigned);
    CHECK(a.settled_waiting == b.settled_waiting);
    CHECK(a.stored == b.stored);
    CHECK(a.rejected == b.rejected);
    CHECK(a.discarded == b.discarded);
    CHECK(a.forwarded == b.forwarded);
    CHECK(a.fetched == b.fetched);
    CHECK(a.reassigned == b.reassigned);
  }
}

void check_same(const RunState& read, const RunState& real) {
  CHECK(read.begun_utc == real.begun_utc);
  check_same_groups(read.ledger, real.ledger);
  CHECK(read.next_slice == real.next_slice);
  CHECK(read.given == real.given);
  CHECK(read.ledger.triggered == real.ledger.triggered);
  CHECK(read.ledger.stored == real.ledger.stored);
  CHECK(read.ledger.stored_by == real.ledger.stored_by);
  CHECK(read.ledger.stored_incomplete == real.ledger.stored_incomplete);
  CHECK(read.ledger.rejected == real.ledger.rejected);
  CHECK(read.ledger.discarded == real.ledger.discarded);
  CHECK(read.ledger.offered == real.ledger.offered);
  CHECK(read.ledger.vetoed == real.ledger.vetoed);
  CHECK(copies_of(read) == copies_of(real));
  REQUIRE(read.open.size() == real.open.size());
  for (std::size_t i = 0; i < read.open.size(); ++i) {
    const OpenSlice& a = read.open[i];
    const OpenSlice& b = real.open[i];
    CHECK(a.slice == b.slice);
    CHECK(a.info.time == b.info.time);
    CHECK(a.info.duration == b.info.duration);
    CHECK(a.info.type == b.info.type);
    CHECK(a.payload == b.payload);
    CHECK(a.confirmations == b.confirmations);
    CHECK(a.order == b.order);
    CHECK(a.group == b.group);
    CHECK(a.arrived == b.arrived);
    CHECK(a.forwarded == b.forwarded);
    // A waiting slice has the number of its next attempt.
    CHECK(a.attempt.value <= b.attempt.value);
    CHECK(a.attempt.value + 1 >= b.attempt.value);
    // Known when it happens, and not when the next attempt is handed out.
    CHECK(a.kills == b.kills);
    CHECK(a.losses == b.losses);
    CHECK(a.refusals == b.refusals);
    CHECK((a.suspect || !b.suspect));
    if (a.confirmations == 0) continue;
    CHECK(a.epoch == b.epoch);
    CHECK(a.copy_attempt == b.copy_attempt);
    CHECK(a.copy_writer == b.copy_writer);
    CHECK(a.copy_incomplete == b.copy_incomplete);
  }
}

// Every number of a ledger in the order of its members: with a new one this does not compile.
std::vector<std::uint64_t*> numbers_of(SupervisorLedger& ledger) {
  std::vector<std::uint64_t*> numbers;
  const auto add = [&numbers](auto& member) {
    using Member = std::decay_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, std::uint64_t>) {
      numbers.push_back(&member);
    } else if constexpr (std::is_same_v<Member, SliceSum>) {
      numbers.insert(numbers.end(), {&member.count, &member.hash_sum});
    } else {
      for (auto& one : member) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, SliceSum>) {
          numbers.insert(numbers.end(), {&one.count, &one.hash_sum});
        } else if constexpr (std::is_same_v<std::decay_t<decltype(one)>, GroupLedger>) {
          auto& [arrived, assigned, settled_waiting, stored, rejected, discarded, forwarded, fetched,
                 reassigned, name] = one;
          for (SliceSum* sum :
               {&arrived, &assigned, &settled_waiting, &stored, &rejected, &discarded, &forwarded, &fetched})
            numbers.insert(numbers.end(), {&sum->count, &sum->hash_sum});
          numbers.push_back(&reassigned);
          name.clear();  // from the farm file
        } else {
          numbers.push_back(&one);
        }
      }
    }
  };
  auto& [offered, vetoed, triggered, stored, stored_by, stored_incomplete, rejected, discarded, open,
         assignments, unfiltered, reopened, suspected, leases_expired, reconfirmed, decisions_refused,
         decisions_repeated, copies_taken, acks_dead, acks_repeated, acks_unknown, records_refused,
         handed_back, strangers, restarts, groups] = ledger;
  const auto all = [&add](auto&... members) { (add(members), ...); };
  all(offered, vetoed, triggered, stored, stored_by, stored_incomplete, rejected, discarded, open,
      assignments, unfiltered, reopened, suspected, leases_expired, reconfirmed, decisions_refused,
      decisions_repeated, copies_taken, acks_dead, acks_repeated, acks_unknown, records_refused, handed_back,
      strangers, restarts, groups);
  return numbers;
}

std::vector<std::uint64_t> values_of(SupervisorLedger ledger) {
  std::vector<std::uint64_t> values;
  for (const std::uint64_t* number : numbers_of(ledger)) values.push_back(*number);
  return values;
}

// No two numbers are equal.
SupervisorLedger full_ledger() {
  SupervisorLedger ledger;
  ledger.stored_by.resize(2);
  ledger.groups.resize(2);
  std::uint64_t value = 0;
  for (std::uint64_t* number : numbers_of(ledger)) *number = ++value;
  ledger.open = 0;  // counted from the open slices
  ledger.stored = ledger.stored_by[0];
  ledger.stored += ledger.stored_by[1];
  return ledger;
}

}  // namespace

TEST_CASE("the journal has every number of the ledger: in a state all of them, in a pass the counts") {
  const SupervisorLedger full = full_ledger();
  MemoryStore store;
  Journal journal(&store);
  JournalledRun run;
  run.state.ledger = full;
  journal.write_state(run);
  CHECK(values_of(read_journal(store.bytes)->state.ledger) == values_of(full));

  journal.write_state({});
  journal.write_pass({}, full);
  SupervisorLedger counts = read_journal(store.bytes)->state.ledger;
  // Sums follow from the settled slices.
  counts.triggered = full.triggered;
  counts.stored = full.stored;
  counts.stored_by = full.stored_by;
  counts.stored_incomplete = full.stored_incomplete;
  counts.rejected = full.rejected;
  counts.discarded = full.discarded;
  counts.groups = full.groups;
  CHECK(values_of(counts) == values_of(full));
}

TEST_CASE("a journal of an earlier version is read, with zeros for new counters") {
  v1::JournalEntry entry;
  entry.mutable_state()->set_run(3);
  v1::JournalState::Open& open = *entry.mutable_state()->add_open();
  open.set_slice(5);
  open.set_confirmations(1);
  for (std::uint64_t i = 0; i < 16; ++i) entry.mutable_state()->mutable_counts()->add_count(100 + i);
  v1::JournalEntry pass;
  pass.mutable_pass()->add_confirmed(5);
  pass.mutable_pass()->add_confirmed_attempt(1);
  pass.mutable_pass()->add_epoch(1);
  pass.mutable_pass()->add_writer(1);
  std::vector<std::byte> bytes;
  for (const v1::JournalEntry* one : {&entry, &pass}) {
    const std::string body = one->SerializeAsString();
    const auto* data = reinterpret_cast<const std::byte*>(body.data());
    std::byte head[8];
    store_le(head, static_cast<std::uint32_t>(body.size()));
    store_le(head + 4, crc32c({data, body.size()}));
    bytes.insert(bytes.end(), head, head + 8);
    bytes.insert(bytes.end(), data, data + body.size());
  }
  const auto read = read_journal(bytes);
  REQUIRE(read.has_value());
  CHECK(read->state.ledger.handed_back == 115);
  CHECK(read->state.ledger.records_refused == 0);
  REQUIRE(read->state.open.size() == 1);
  CHECK(read->state.open[0].epoch == StoreEpoch(1));
  CHECK_FALSE(read->state.open[0].copy_incomplete);
  CHECK(read->lost_times == LostTimes{});
}

TEST_CASE("a journal always yields the state that its supervisor had") {
  constexpr std::uint64_t kSeeds = 200;
  constexpr int kSteps = 340;
  std::uint64_t given_up = 0;
  std::int64_t orphans = 0;
  std::uint64_t stored = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t fetched = 0;
  std::int64_t killed = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    WrittenRun run(seed);
    for (int i = 0; i < kSteps; ++i) run.step();
    const auto read = read_journal(run.store.bytes);
    REQUIRE(read.has_value());
    CHECK(read->run == RunNumber(3));
    CHECK(read->farm == "farm");
    CHECK(read->begun_utc == 1234);
    check_same(read->state, run.machine.state(0));
    given_up += read->state.given_up.size();
    orphans += std::count_if(read->state.given_up.begin(), read->state.given_up.end(),
                             [](const GivenUpCopy& copy) { return copy.orphan; });
    killed += std::count_if(read->state.open.begin(), read->state.open.end(), [](const OpenSlice& slice) {
      return slice.kills > 0 && slice.attempt.value == 0;
    });
    stored += read->state.ledger.stored.count;
    for (const GroupLedger& group : read->state.ledger.groups) {
      forwarded += group.forwarded.count;
      fetched += group.fetched.count;
    }
  }
  CHECK(given_up > kSeeds);
  CHECK(orphans > 0);
  CHECK(killed > 0);
  CHECK(stored > 8 * kSeeds);
  CHECK(forwarded > 4 * kSeeds);
  CHECK(fetched > kSeeds / 4);
}

TEST_CASE("the journal has the answers to numbered triggers, from passes and in a state") {
  MemoryStore store;
  Journal journal(&store);
  SupervisorMachine machine = make_machine();
  machine.start({});
  JournalledRun run{RunNumber(3), "farm", 1234, machine.state(0), {}, {}, "", false, {}};
  journal.write_state(run);
  const auto answered = [](const NumberedAnswer& one, const AnsweredTriggers& in) {
    OfferResult answer;
    return in.find({one.client, one.session, one.number}, answer) == AnsweredTriggers::Found::answered &&
           answer == one.answer;
  };
  Actions actions;
  actions.answered = {{"tlu", 4, 1, {true, SliceId(7)}},
                      {"tlu", 4, 9, {}},
                      {"beam", 1, 1, {true, SliceId(8)}},
                      {"tlu", 4, 2, {false, {}, VetoReason::throttled}}};
  CHECK_FALSE(actions.empty());
  const std::vector<NumberedAnswer> given = actions.answered;
  journal.write_pass(actions, machine.ledger());
  auto read = read_journal(store.bytes);
  REQUIRE(read);
  for (const NumberedAnswer& one : given) CHECK(answered(one, read->answered));
  journal.write_state(*read);
  read = read_journal(store.bytes);
  REQUIRE(read);
  for (const NumberedAnswer& one : given) CHECK(answered(one, read->answered));
  CHECK(read->answered.state().size() == given.size());
  actions.clear();
  CHECK(actions.empty());
}

TEST_CASE("the journal has the front-ends' numbers, from passes and in a state") {
  MemoryStore store;
  Journal journal(&store);
  SupervisorLedger ledger;
  JournalledRun run;
  journal.write_state(run);
  CHECK_FALSE(read_journal(store.bytes)->numbers);
  const std::optional numbers = numbering::OrderState{SliceId(70), {1, 2, 3, 4}};
  journal.write_pass({}, ledger, numbers);
  journal.write_pass({}, ledger, numbers);
  CHECK(journal.serial() == 1);
  auto read = read_journal(store.bytes);
  CHECK(read->numbers == numbers);
  journal.write_state(*read);
  CHECK(read_journal(store.bytes)->numbers == numbers);
}

TEST_CASE("the journal has every alert, every account of it, and the slices of alerts to come") {
  std::uint64_t open = 0;
  std::uint64_t ended = 0;
  std::uint64_t asked = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    WrittenRun run(seed);
    for (int i = 0; i < 340; ++i) run.step();
    auto read = read_journal(run.store.bytes);
    REQUIRE(read.has_value());
    MemoryStore again;
    Journal(&again).write_state(*read, &*read->alerts);
    for (const auto& one : {read, read_journal(again.bytes)}) {
      REQUIRE(one->alerts.has_value());
      CHECK(one->alerts->book.state() == run.alerts.book.state());
      CHECK(one->alerts->refused == run.alerts.refused);
      CHECK(one->alerts->filter_alert_from == run.alerts.filter_alert_from);
    }
    refused += run.alerts.refused;
    for (const auto& [number, account] : run.alerts.book.alerts()) {
      ++(account.ended ? ended : open);
      asked += account.asked.count;
    }
  }
  CHECK(open > 60);
  CHECK(ended > 60);
  CHECK(asked > 1000);
  CHECK(refused > 0);
}

TEST_CASE("a pass costs the journal the same for any number of intervals of ids") {
  const auto bytes_of_pass = [](std::uint64_t intervals) {
    MemoryStore store;
    Journal journal(&store);
    JournalledRun run;
    for (std::uint64_t i = 0; i < intervals; ++i)
      run.state.given.push_back({SliceId(i << 16U), SliceId(i << 16U)});
    journal.write_state(run);
    const std::size_t state = store.bytes.size();
    Actions actions;
    actions.announce.push_back({SliceId(intervals << 16U), SliceOrder(intervals), {}, 0, 0});
    SupervisorLedger ledger;
    ledger.offered = 1;
    journal.write_pass(actions, ledger);
    const auto read = read_journal(store.bytes);
    REQUIRE(read.has_value());
    CHECK(read->state.given.size() == intervals + 1);
    return store.bytes.size() - state;
  };
  CHECK(bytes_of_pass(1) == bytes_of_pass(100'000));
}

TEST_CASE("a state made long by its intervals is rewritten only when the entries are longer still") {
  MemoryStore store;
  Journal journal(&store);
  JournalledRun run;
  // Each interval takes some 12 bytes.
  for (std::uint64_t i = 0; i < 3'000'000; ++i)
    run.state.given.push_back({SliceId(i << 40U), SliceId(i << 40U)});
  journal.write_state(run);
  const std::size_t state = store.bytes.size();
  REQUIRE(state > (17U << 20U));
  const std::string page(8U << 20U, 'x');
  while (!journal.is_long()) journal.write_fault(page);
  CHECK(store.bytes.size() - state >= 4 * state);
}

TEST_CASE("passes are numbered over the whole run, and the journal ends with the last number") {
  MemoryStore store;
  Journal journal(&store);
  JournalledRun run;
  run.serial = 40;
  journal.resume(40);
  journal.write_state(run);
  SupervisorLedger ledger;
  Actions actions;
  journal.write_pass(actions, ledger);  // an empty pass
  CHECK(journal.serial() == 40);
  for (std::uint64_t pass = 41; pass < 45; ++pass) {
    ++ledger.offered;
    journal.write_pass(actions, ledger);
    CHECK(journal.serial() == pass);
    CHECK(read_journal(store.bytes)->serial == pass);
  }
}

TEST_CASE("a supervisor that resumes from the journal has the same run, and assigns no slice twice") {
  WrittenRun run(98);
  for (int i = 0; i < 400; ++i) run.step();
  const auto read = read_journal(run.store.bytes);
  REQUIRE(read.has_value());
  SupervisorMachine next = make_machine();
  Actions actions;
  next.resume(read->state, 500, {5000, 5000}, actions);
  CHECK(next.broken_invariant() == "");
  CHECK(next.in_flight() == run.machine.in_flight());
  CHECK(actions.announce.size() == next.in_flight());
  CHECK(next.ledger().restarts == 1);
  next.dcm_joined(NodeIndex(0), Incarnation(2), 100, 5000, actions);
  const std::size_t in_flight = next.in_flight();
  std::vector<Assignment> assigned;
  for (bool more = true; more; actions.clear()) {
    next.tick({5001, 5001}, actions);
    const std::vector<Assignment> now = actions.of(NodeIndex(0)).assign;
    more = !now.empty();
    assigned.insert(assigned.end(), now.begin(), now.end());
    for (const Assignment& one : now) {
      const AttemptDecision decision{one.slice, one.attempt, Verdict::reject, DiscardReason::none, false};
      if (one.suspect) next.decisions(NodeIndex(0), {&decision, 1}, 5001, actions);
    }
  }
  REQUIRE(assigned.size() == in_flight);
  const RunState before = run.machine.state(0);
  for (const Assignment& one : assigned) {
    const auto old = std::find_if(before.open.begin(), before.open.end(),
                                  [&](const OpenSlice& open) { return open.slice == one.slice; });
    REQUIRE(old != before.open.end());
    CHECK(one.attempt >= old->attempt);
    CHECK(one.attempt.value > 0);
  }
}

TEST_CASE("a journal that ends anywhere is read up to its last whole entry") {
  WrittenRun run(5);
  for (int i = 0; i < 60; ++i) run.step();
  const std::vector<std::byte>& bytes = run.store.bytes;
  std::uint64_t triggered = 0;
  bool begun = false;
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto read = read_journal(ConstBytes(bytes).first(length));
    if (!read) {
      CHECK(!begun);
      continue;
    }
    begun = true;
    CHECK(read->state.ledger.triggered.count >= triggered);
    triggered = read->state.ledger.triggered.count;
  }
  CHECK(begun);
  CHECK(triggered == run.machine.ledger().triggered.count);
}

TEST_CASE("a flipped bit ends the journal before the entry that has it") {
  WrittenRun run(6);
  for (int i = 0; i < 60; ++i) run.step();
  const std::size_t before = run.store.bytes.size();
  const std::uint64_t offered = read_journal(run.store.bytes)->state.ledger.offered;
  while (read_journal(run.store.bytes)->state.ledger.offered == offered) run.step();
  std::size_t entry = before;
  for (std::size_t at = before; at < run.store.bytes.size(); ++at) {
    const std::size_t end = entry + 8 + load_le<std::uint32_t>(run.store.bytes.data() + entry);
    if (at == end) entry = end;
    std::vector<std::byte> bytes = run.store.bytes;
    bytes[at] ^= std::byte{4};
    const auto read = read_journal(bytes);
    REQUIRE(read.has_value());
    CHECK(read->serial == read_journal(ConstBytes(run.store.bytes).first(entry))->serial);
  }
}

TEST_CASE(
    "joins, final reports, the stop and faults are read back, and are in the state that replaces them") {
  MemoryStore store;
  Journal journal(&store);
  journal.write_join(Role::dcm, NodeIndex(1), {9, 0, false, {}});
  CHECK(store.bytes.empty());  // the run has not begun
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "", false, {}});
  journal.write_join(Role::dcm, NodeIndex(1), {10, 25, true, SliceOrder(24)});
  v1::Report report;
  report.set_name("dcm-1");
  report.set_final(true);
  journal.write_report(report);
  journal.write_stop("enough", 3 * kSecond);
  journal.write_fault("something");
  journal.write_reporting();
  for (int round = 0; round < 2; ++round) {
    const auto read = read_journal(store.bytes);
    REQUIRE(read.has_value());
    CHECK(read->joined.at({static_cast<int>(Role::dcm), 1U}).incarnation == 10);
    CHECK(read->joined.at({static_cast<int>(Role::dcm), 1U}).first_slice == 25);
    CHECK(read->joined.at({static_cast<int>(Role::dcm), 1U}).told_to_end);
    REQUIRE(read->reports.size() == 1);
    CHECK(read->reports[0].final());
    CHECK(read->stop == "enough");
    CHECK(read->running_ns == 3 * kSecond);
    CHECK(read->reporting);
    CHECK(read->faults == std::vector<std::string>{"something"});
    journal.write_state(*read);
  }
}

TEST_CASE("a journal that cannot be written is abandoned with its reason, and resumes when there is room") {
  MemoryStore store;
  Journal journal(&store);
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "", false, {}});
  store.full = true;
  journal.write_stop("a", 0);
  CHECK(store.abandoned);
  CHECK(journal.take_failure() == "no space");
  CHECK(journal.take_failure() == "");
  CHECK(journal.lost());
  const auto size = store.bytes.size();
  store.full = false;
  journal.write_stop("b", 0);
  CHECK(store.bytes.size() == size);  // a gap is not written over
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "b", false, {}});
  CHECK(!journal.lost());
  CHECK(read_journal(store.bytes)->stop == "b");
}

TEST_CASE("a journal without room keeps everything that was sent, and resumes when there is some") {
  MemoryStore store;
  store.room_may_come = true;
  Journal journal(&store);
  const bool begun = GENERATE(false, true);  // or read from an earlier process, which is not written over
  if (begun) journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "", false, {}});
  const auto before = store.bytes;
  store.full = true;
  if (begun) journal.write_stop("a", 0);
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "a", false, {}});
  CHECK(journal.waits());
  CHECK_FALSE(journal.lost());
  CHECK_FALSE(store.abandoned);
  CHECK(store.bytes == before);
  CHECK(journal.take_failure() == "no space");
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "a", false, {}});
  CHECK(journal.take_failure() == "");
  SECTION("room") {
    store.full = false;
    journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "a", false, {}});
    CHECK_FALSE(journal.waits());
    CHECK(read_journal(store.bytes)->stop == "a");
  }
  SECTION("no patience") {
    journal.give_up_waiting();
    CHECK_FALSE(journal.waits());
    CHECK(journal.lost());
    CHECK(store.abandoned);
  }
}

TEST_CASE("a waiting journal that is lost for another reason reports that reason, once") {
  MemoryStore store;
  Journal journal(&store);
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "", false, {}});
  store.full = store.room_may_come = true;
  journal.write_stop("a", 0);
  REQUIRE(journal.waits());
  CHECK(journal.take_failure() == "no space");
  store.room_may_come = false;
  store.error = "I/O error";
  for (int i = 0; i < 2; ++i) journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "a", false, {}});
  CHECK(journal.lost());
  CHECK(store.abandoned);
  CHECK(journal.take_failure() == "I/O error");
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "a", false, {}});
  CHECK(journal.take_failure() == "");
}

TEST_CASE("a long journal without room is not rewritten at every pass") {
  MemoryStore store;
  store.room_may_come = GENERATE(true, false);  // otherwise the journal is lost
  Journal journal(&store);
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "", false, {}});
  const std::string page(8U << 20U, 'x');
  for (int i = 0; i < 9; ++i) journal.write_fault(page);
  REQUIRE(journal.is_long());
  store.full = true;
  const int before = store.replaces;
  for (int pass = 0; pass < 10; ++pass) {
    if (journal.is_long()) journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "", false, {}});
  }
  CHECK(store.replaces == before + 1);
  CHECK(journal.waits() == store.room_may_come);
  store.full = false;
  journal.write_state({RunNumber(1), "f", 5, {}, {}, {}, "", false, {}});
  CHECK_FALSE(journal.is_long());
  CHECK_FALSE(journal.waits());
}

TEST_CASE("a journal's file is replaced as a whole, appended to, and cannot be read once abandoned") {
  const std::string path = "journal_test_" + std::to_string(::getpid());
  const auto bytes_of = [](const std::string& text) {
    return std::vector<std::byte>(reinterpret_cast<const std::byte*>(text.data()),
                                  reinterpret_cast<const std::byte*>(text.data()) + text.size());
  };
  auto file = supervisor::make_journal_file(path);
  CHECK(file->read().value().empty());
  REQUIRE(file->replace(bytes_of("one")));
  REQUIRE(file->append(bytes_of("two")));
  CHECK(supervisor::make_journal_file(path)->read().value() == bytes_of("onetwo"));
  REQUIRE(file->replace(bytes_of("three")));
  CHECK(supervisor::make_journal_file(path)->read().value() == bytes_of("three"));
  file->abandon();
  CHECK(!supervisor::make_journal_file(path)->read());
  std::remove((path + ".broken").c_str());
  file->remove();
  CHECK(!supervisor::make_journal_file("no/such/folder/j")->replace(bytes_of("x")));
}

TEST_CASE("a journal contains the latest pause and removed nodes") {
  MemoryStore store;
  Journal journal(&store);
  SupervisorMachine machine = make_machine();
  const Now now{1000, 1000};
  machine.start(now);
  journal.write_state({RunNumber(3), "farm", 1234, machine.state(now.mono), {}, {}, "", false, {}, 1000, 77});
  machine.remove({Role::readout, NodeIndex(0)}, now.mono);
  machine.pause(now.mono);
  journal.write_shape(machine.shape(now.mono), 1000);
  machine.remove({Role::dcm, NodeIndex(1)}, now.mono);
  machine.continue_run(now.mono + 500);
  journal.write_shape(machine.shape(now.mono + 500), 1500);
  const auto read = read_journal(store.bytes);
  REQUIRE(read.has_value());
  const assignment::FarmShape& shape = read->state.shape;
  CHECK(read->shaped_utc == 1500);
  CHECK(read->claim == 77);  // whose it is
  CHECK_FALSE(shape.paused);
  CHECK(shape.paused_ns == 500);
  CHECK(shape.removed == machine.shape(now.mono).removed);
  CHECK(shape.absences == machine.absences().ranges());
}
