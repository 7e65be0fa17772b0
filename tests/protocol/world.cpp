// The supervisor's side of a World, its faults, and the invariants.
#include "world.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace weir::protocol_test {
namespace {

using namespace assignment;
using Kind = Move::Kind;

constexpr DurationNs kTick = 1;
constexpr DurationNs kPatience = 2 * kTick;  // for a lease, and for a writer

NodeIndex node(std::uint8_t index) { return NodeIndex(index); }
std::uint8_t small(auto id) { return static_cast<std::uint8_t>(id.value); }
std::uint8_t small_node(NodeIndex index) { return index == kNoNode ? kNobody : small(index); }

// Chooses the live DCM with most free credits: a pure function of its input, which a search needs.
class MostCredits final : public AssignmentPolicy {
 public:
  std::string_view name() const override { return "most credits"; }
  std::optional<NodeIndex> choose(SliceId slice, std::span<const DcmView> dcms, TimeNs) override {
    std::optional<NodeIndex> best;
    for (std::size_t step = 0; step < dcms.size(); ++step) {
      const std::size_t place = (slice.value + step) % dcms.size();
      if (dcms[place].credits_free == 0) continue;
      if (best && dcms[best->value].credits_free >= dcms[place].credits_free) continue;
      best = NodeIndex(static_cast<std::uint16_t>(place));
    }
    return best;
  }
};

SupervisorSettings settings(const Scenario& scenario) {
  SupervisorSettings settings;
  settings.readouts = scenario.readouts;
  settings.dcms = scenario.dcms;
  settings.writers = scenario.writers;
  settings.in_flight_max = scenario.slices;
  settings.pending_max = scenario.slices;
  settings.remembered_slices = 4;
  settings.lease_ns = kPatience;
  settings.writer_ack_ns = kPatience;
  settings.drain_ns = 30 * kSecond;
  return settings;
}

std::unique_ptr<TriggerSource> from_outside() {
  TriggerSettings triggers;
  triggers.mode = "network";
  return make_trigger_source(std::move(triggers)).value();
}

Row row_of(const Assignment& assignment) {
  Row row{Row::Kind::assign, small(assignment.slice), small(assignment.attempt)};
  row.code = assignment.unfiltered ? 1 : assignment.suspect ? 2 : 0;  // World::How
  return row;
}

Row row_of(const Confirmation& confirmation) {
  return {Row::Kind::confirm,
          small(confirmation.slice),
          small(confirmation.attempt),
          small(confirmation.epoch),
          small_node(confirmation.writer),
          static_cast<std::uint8_t>(confirmation.answer)};
}

Row row_of(const Cleared& cleared) {
  return {Row::Kind::settled,   small(cleared.slice),       small(cleared.attempt),
          small(cleared.epoch), small_node(cleared.writer), static_cast<std::uint8_t>(cleared.outcome)};
}

Row row_of(const CopyNotice& notice) {
  return {Row::Kind::copy,
          small(notice.slice),
          small(notice.attempt),
          small(notice.epoch),
          kNobody,
          static_cast<std::uint8_t>(notice.live ? 1 : 0)};
}

}  // namespace

World::World(const Scenario& scenario)
    : machine_(std::make_unique<SupervisorMachine>(settings(scenario), from_outside(),
                                                   std::make_unique<MostCredits>())) {
  farm_.left = scenario;
  const Now now{0, 1};
  machine_->start(now);
  for (std::uint8_t i = 0; i < scenario.readouts; ++i) machine_->readout_joined(node(i), Incarnation(1), 0);
  for (std::uint8_t i = 0; i < scenario.dcms; ++i) {
    machine_->dcm_joined(node(i), Incarnation(1), scenario.credits, 0, farm_.actions);
  }
  for (std::uint8_t i = 0; i < scenario.writers; ++i) {
    machine_->writer_joined(node(i), Incarnation(1), 0, farm_.actions);
  }
  for (std::uint8_t i = 0; i < scenario.slices; ++i) {
    if (!machine_->offer({SliceId(i), {}, {}}, now, farm_.actions).taken) breaks("a trigger was not taken");
  }
}

void World::breaks(std::string what) {
  if (farm_.broken.empty()) farm_.broken = std::move(what);
}

std::string World::take(const Move& move) {
  switch (move.kind) {
    case Kind::supervisor_pass:
      pass();
      break;
    case Kind::decision_arrives:
      decision_arrives(move.a);
      break;
    case Kind::stored_arrives:
      stored_arrives(move.a);
      break;
    case Kind::orders_arrive:
      orders_arrive(move.a);
      break;
    case Kind::acknowledgement_arrives:
      acknowledgement_arrives(move.a, move.b);
      break;
    case Kind::record_arrives:
      record_arrives(move.a, move.b);
      break;
    case Kind::fates_arrive:
      fates_arrive(move.a);
      break;
    case Kind::writer_joins:
      join_writer(move.a);
      break;
    case Kind::dcm_reaches_writer:
      reach_writer(move.a, move.b);
      break;
    case Kind::filter_begins:
      begin_filter(move.a, move.b);
      break;
    case Kind::filter_decides:
      decide(move.a, move.b, static_cast<Verdict>(move.c));
      break;
    case Kind::hands_back:
      --farm_.left.hand_backs;
      decide(move.a, move.b, Verdict::failed, DiscardReason::unreachable);
      break;
    case Kind::filter_ends:
      free_slot(move.a, move.b);
      break;
    case Kind::writer_syncs: {
      std::vector<Ack> acks;
      farm_.writers[move.a].store.sync(acks);
      acknowledge(move.a, acks);
      break;
    }
    case Kind::dcm_starts:
      farm_.dcms[move.a] = {};
      break;
    case Kind::writer_starts:
      farm_.writers[move.a].alive = true;
      break;
    case Kind::time_passes:
      farm_.now += kTick;
      farm_.dirty = true;
      if (farm_.left.ticks > 0) --farm_.left.ticks;
      break;
    default:
      take_notice(move);
      take_fault(move);
      break;
  }
  check();
  return farm_.broken;
}

void World::take_notice(const Move& move) {
  switch (move.kind) {
    case Kind::supervisor_misses_dcm:
      farm_.to_dcm[move.a].lose_listener();
      machine_->dcm_left(node(move.a), farm_.now, farm_.actions);
      farm_.dirty = true;
      break;
    case Kind::supervisor_misses_writer:
      farm_.to_writer[move.a].lose_listener();
      machine_->writer_left(node(move.a), farm_.now, farm_.actions);
      farm_.dirty = true;
      break;
    case Kind::dcm_misses_supervisor:
      lose_supervisor(move.a);
      break;
    case Kind::writer_misses_supervisor:
      farm_.to_writer[move.a].lose_connector();
      break;
    case Kind::dcm_misses_writer:
      farm_.data[move.a][move.b].lose_connector();
      break;
    case Kind::writer_misses_dcm:
      writer_loses_dcm(move.a, move.b);
      break;
    case Kind::dcm_joins: {
      Connection& link = farm_.to_dcm[move.a];
      if (link.listener) machine_->dcm_left(node(move.a), farm_.now, farm_.actions);
      link = {};
      machine_->dcm_joined(node(move.a), Incarnation(1), farm_.left.credits, farm_.now, farm_.actions);
      farm_.dirty = true;
      break;
    }
    default:
      break;
  }
}

// ---- the supervisor

void World::pass() {
  machine_->tick({farm_.now, 1}, farm_.actions);
  farm_.dirty = false;
  for (const Announcement& announcement : farm_.actions.announce) {
    for (std::uint8_t i = 0; i < farm_.left.readouts; ++i) {
      Held& held = farm_.readouts[i][announcement.slice.value];
      if (held == Held::nothing) held = Held::fragment;
    }
  }
  for (const NodeIndex dcm : farm_.actions.touched) send_to_dcm(small(dcm));
  note_fates();
  send_fates();
  farm_.actions.clear();
}

void World::send_to_dcm(std::uint8_t dcm) {
  const DcmActions& actions = farm_.actions.dcms[dcm];
  std::vector<Row> orders;
  for (const Assignment& assignment : actions.assign) {
    Fate& fate = farm_.fates[assignment.slice.value];
    if (fate.settled) breaks("a settled slice was assigned");
    if (assignment.attempt.value > 0 && small(assignment.attempt) <= fate.assigned_attempt) {
      breaks("an attempt was assigned twice");
    }
    if (assignment.unfiltered && !fate.told) breaks("a slice is poison that was alone in no filter");
    fate.assigned_attempt = small(assignment.attempt);
    orders.push_back(row_of(assignment));
  }
  std::vector<Row> answers;
  for (const Confirmation& confirmation : actions.confirm) {
    Fate& fate = farm_.fates[confirmation.slice.value];
    if (confirmation.answer == Answer::store) {
      if (fate.settled) breaks("a settled slice was confirmed");
      if (fate.confirmed && fate.confirmed_epoch > small(confirmation.epoch)) breaks("a store epoch fell");
      fate.confirmed = true;
      fate.confirmed_epoch = small(confirmation.epoch);
    }
    answers.push_back(row_of(confirmation));
  }
  Connection& link = farm_.to_dcm[dcm];
  if (!link.listener) return breaks("something was meant for a DCM that is not there");
  if (!link.connector) return;
  if (!orders.empty()) link.to_connector.send(std::move(orders));
  if (!answers.empty()) link.to_connector.send(std::move(answers));
}

// Readouts receive fates immediately: the sooner they clear, the harder for an attempt that still needs their
// data.
void World::note_fates() {
  for (const Cleared& cleared : farm_.actions.cleared) {
    Fate& fate = farm_.fates[cleared.slice.value];
    if (fate.settled) breaks("a slice was settled twice");
    fate.settled = true;
    fate.outcome = cleared.outcome;
    fate.writer = small_node(cleared.writer);
    fate.copy = {small(cleared.slice), small(cleared.attempt), small(cleared.epoch)};
    if (cleared.outcome == Outcome::rejected && (fate.rejected_attempts >> fate.copy.attempt & 1) == 0) {
      breaks("a slice was cleared as rejected without a rejection");
    }
    for (std::uint8_t i = 0; i < farm_.left.readouts; ++i) farm_.readouts[i][fate.copy.slice] = Held::cleared;
  }
}

void World::send_fates() {
  for (std::uint8_t writer = 0; writer < farm_.left.writers; ++writer) {
    std::vector<Row> rows;
    for (const Cleared& cleared : farm_.actions.cleared) rows.push_back(row_of(cleared));
    for (const CopyNotice& notice : farm_.actions.copies) {
      if (notice.writer == node(writer)) rows.push_back(row_of(notice));
    }
    Connection& link = farm_.to_writer[writer];
    if (!rows.empty() && link.up()) link.to_connector.send(std::move(rows));
  }
}

void World::decision_arrives(std::uint8_t dcm) {
  std::vector<AttemptDecision> batch;
  for (const Row& row : farm_.to_dcm[dcm].to_listener.receive()) {
    if (row.kind == Row::Kind::filtering) return filtering_arrives(dcm, row);
    const auto verdict = static_cast<Verdict>(row.code);
    if (verdict == Verdict::reject) {
      Fate& fate = farm_.fates[row.slice];
      fate.rejected_attempts = static_cast<std::uint8_t>(fate.rejected_attempts | 1U << row.attempt);
    }
    batch.push_back(
        {SliceId(row.slice), Attempt(row.attempt), verdict, static_cast<DiscardReason>(row.reason), false});
  }
  machine_->decisions(node(dcm), batch, farm_.now, farm_.actions);
  farm_.dirty = true;
}

void World::filtering_arrives(std::uint8_t dcm, const Row& row) {
  FilterNote note;
  if (row.code != 0) note.suspect = Lease{SliceId(row.slice), Attempt(row.attempt)};
  machine_->filtering(node(dcm), note, farm_.now);
  Connection& link = farm_.to_dcm[dcm];
  if (row.code != 0 && link.connector) link.to_connector.send({row});
}

void World::stored_arrives(std::uint8_t writer) {
  std::vector<CopyId> batch;
  for (const Row& row : farm_.to_writer[writer].to_listener.receive()) {
    batch.push_back({SliceId(row.slice), Attempt(row.attempt), StoreEpoch(row.epoch)});
  }
  machine_->stored(node(writer), batch, farm_.actions);
  farm_.dirty = true;
}

// ---- faults

void World::take_fault(const Move& move) {
  Scenario& left = farm_.left;
  switch (move.kind) {
    case Kind::dcm_crashes:
      --left.dcm_crashes;
      return crash_dcm(move.a);
    case Kind::writer_crashes:
      --left.writer_crashes;
      return crash_writer(move.a, move.b);
    case Kind::readout_crashes:
      --left.readout_crashes;
      return crash_readout(move.a);
    case Kind::supervisor_crashes:
      --left.supervisor_crashes;
      return crash_supervisor(move.a != 0);
    case Kind::link_breaks:
      --left.links_lost;
      return take_notice({move.b == 0 ? Kind::supervisor_misses_dcm : Kind::dcm_misses_supervisor, move.a});
    case Kind::writer_link_breaks:
      --left.writer_links_lost;
      return take_notice(
          {move.b == 0 ? Kind::supervisor_misses_writer : Kind::writer_misses_supervisor, move.a});
    case Kind::data_link_breaks:
      --left.data_links_lost;
      return take_notice({move.c == 0 ? Kind::dcm_misses_writer : Kind::writer_misses_dcm, move.a, move.b});
    default:
      return;
  }
}

void World::crash_readout(std::uint8_t readout) {
  for (Held& held : farm_.readouts[readout]) held = held == Held::fragment ? Held::lost : held;
  machine_->readout_left(node(readout), farm_.now);
  machine_->readout_joined(node(readout), Incarnation(2), farm_.now);
  farm_.dirty = true;
}

// The journal has the actions of a pass before any message is sent.
void World::crash_supervisor(bool loses_sent) {
  const RunState journal = machine_->state(farm_.now);
  machine_ = std::make_unique<SupervisorMachine>(settings(farm_.left), from_outside(),
                                                 std::make_unique<MostCredits>());
  farm_.actions = {};
  machine_->resume(journal, 0, {farm_.now, 1}, farm_.actions);
  farm_.dirty = true;
  const auto lose = [loses_sent](Connection& link) {
    link.lose_listener();
    if (loses_sent) link.to_connector.clear();
  };
  for (std::uint8_t i = 0; i < farm_.left.dcms; ++i) lose(farm_.to_dcm[i]);
  for (std::uint8_t i = 0; i < farm_.left.writers; ++i) lose(farm_.to_writer[i]);
  for (std::uint8_t i = 0; i < farm_.left.readouts; ++i) {
    machine_->readout_joined(node(i), Incarnation(1), farm_.now);
  }
}

// ---- promises

void World::check() {
  const std::string_view broken = machine_->broken_invariant();
  if (!broken.empty()) breaks(std::string(broken));
  for (const Fate& fate : farm_.fates) {
    if (!fate.settled || fate.outcome != Outcome::stored) continue;
    if (!farm_.writers[fate.writer].store.holds(fate.copy))
      breaks("a slice counts as stored and is not on disk");
  }
}

std::string World::unsettled() const {
  if (machine_->in_flight() > 0) return "a slice is never settled";
  for (std::uint8_t slice = 0; slice < farm_.left.slices; ++slice) {
    const Fate& fate = farm_.fates[slice];
    if (!fate.settled) return "a slice has no fate";
    if (fate.outcome == Outcome::discarded) return "a slice was discarded";
    for (std::uint8_t writer = 0; writer < farm_.left.writers; ++writer) {
      const bool live = farm_.writers[writer].store.is_live(slice);
      const bool wanted = fate.outcome == Outcome::stored && fate.writer == writer;
      if (live && !wanted) return "a copy that does not count is live";
      if (!live && wanted) return "the copy that counts is not live";
    }
    for (std::uint8_t dcm = 0; dcm < farm_.left.dcms; ++dcm) {
      if (farm_.dcms[dcm].slots[slice].phase != Slot::Phase::none) return "a DCM holds a slice for ever";
    }
  }
  for (const DcmView& dcm : machine_->dcms()) {
    if (dcm.credits_free != dcm.credits) return "a credit does not come back";
  }
  return {};
}

// ---- the fingerprint

void World::append_state(std::vector<std::uint64_t>& out) const {
  machine_->append_state(farm_.now, out);
  const Scenario& left = farm_.left;
  out.insert(out.end(), {left.dcm_crashes, left.writer_crashes, left.readout_crashes, left.links_lost,
                         left.writer_links_lost, left.data_links_lost, left.supervisor_crashes, left.ticks,
                         left.hand_backs, farm_.dirty ? 1U : 0U});
  Pipe actions;
  std::vector<Row> rows;
  for (const NodeIndex dcm : farm_.actions.touched) {
    for (const Assignment& one : farm_.actions.dcms[dcm.value].assign) rows.push_back(row_of(one));
    for (const Confirmation& one : farm_.actions.dcms[dcm.value].confirm) rows.push_back(row_of(one));
    rows.push_back({Row::Kind::decide, small(dcm)});
  }
  for (const Cleared& one : farm_.actions.cleared) rows.push_back(row_of(one));
  for (const CopyNotice& one : farm_.actions.copies) {
    rows.push_back(row_of(one));
    rows.back().node = small(one.writer);
  }
  if (!rows.empty()) actions.send(std::move(rows));
  actions.append_state(out);
  out.push_back(farm_.actions.announce.size());
  for (std::uint8_t i = 0; i < left.dcms; ++i) {
    out.push_back(farm_.dcms[i].alive ? 1U : 0U);
    for (const Slot& slot : farm_.dcms[i].slots) {
      out.push_back(static_cast<std::uint64_t>(slot.phase) | std::uint64_t{slot.attempt} << 8U |
                    std::uint64_t{slot.epoch} << 16U | std::uint64_t{slot.writer} << 24U |
                    static_cast<std::uint64_t>(slot.how) << 32U | std::uint64_t{slot.blocked} << 34U |
                    static_cast<std::uint64_t>(slot.blocked_how) << 35U | std::uint64_t{slot.told} << 37U |
                    std::uint64_t{slot.answered} << 38U | std::uint64_t{slot.blocked_attempt} << 40U);
    }
    const auto connection = [&out](const Connection& link) {
      out.push_back(std::uint64_t{link.listener} | std::uint64_t{link.connector} << 1U);
      link.to_listener.append_state(out);
      link.to_connector.append_state(out);
    };
    connection(farm_.to_dcm[i]);
    for (std::uint8_t writer = 0; writer < left.writers; ++writer) connection(farm_.data[i][writer]);
    if (i != 0) continue;
    for (std::uint8_t writer = 0; writer < left.writers; ++writer) {
      connection(farm_.to_writer[writer]);
      out.push_back(farm_.writers[writer].alive ? 1U : 0U);
      farm_.writers[writer].store.append_state(out);
    }
  }
  for (std::uint8_t slice = 0; slice < left.slices; ++slice) {
    for (std::uint8_t i = 0; i < left.readouts; ++i)
      out.push_back(static_cast<std::uint64_t>(farm_.readouts[i][slice]));
    const Fate& fate = farm_.fates[slice];
    out.push_back(std::uint64_t{fate.settled} | std::uint64_t{fate.assigned_attempt} << 8U |
                  std::uint64_t{fate.rejected_attempts} << 16U | std::uint64_t{fate.confirmed} << 24U |
                  std::uint64_t{fate.confirmed_epoch} << 32U | std::uint64_t{fate.told} << 40U);
  }
}

}  // namespace weir::protocol_test
