#include "model_farm.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <utility>

using namespace weir;
using namespace weir::assignment;

namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(mix64(seed) | 1) {}
  std::uint64_t below(std::uint64_t n) {
    state_ = mix64(state_);
    return state_ % n;
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

// A farm with random behaviour: nodes die, restart, stall, answer late, twice or never, and lose messages
// that were in flight when a connection ended; run control pauses the run, removes nodes and
// adds them again.
class RandomFarm {
 public:
  static constexpr std::uint16_t kDcms = 3;
  static constexpr std::uint16_t kWriters = 2;
  static constexpr std::uint16_t kReadouts = 2;

  explicit RandomFarm(std::uint64_t seed)
      : dice_(seed),
        with_writers_(!dice_.one_in(8)),
        settings_(settings()),
        triggers_(triggers()),
        policies_(policies()) {
    machine_ = machine();
    machine_->start(now_);
    join_readouts();
    told_ = machine_->state(now_.mono);
  }

  [[nodiscard]] std::uint64_t forwards() const { return forwards_; }
  // An empty string when all went well.
  std::string run(int steps) {
    for (int i = 0; i < steps && failure_.empty(); ++i) {
      step();
    }
    if (!failure_.empty()) return failure_;
    return drain();
  }

 private:
  struct Copy {
    Attempt attempt;
    StoreEpoch epoch;
    bool operator==(const Copy&) const = default;
  };
  struct Job {
    Assignment assignment;
    bool stuck = false;
  };
  struct Sending {
    SliceId slice;
    Attempt attempt;
    StoreEpoch epoch;
    NodeIndex writer;
  };
  struct Dcm {
    bool live = false;
    std::uint32_t credits = 0;
    std::uint32_t in_use = 0;
    std::vector<Job> jobs;
    std::vector<Sending> sending;
  };
  struct Writer {
    bool live = false;
    std::map<std::uint64_t, std::vector<Copy>> disk;
    std::vector<CopyId> unsent;  // on disk, but not reported to the supervisor
  };

  SupervisorSettings settings() {
    SupervisorSettings settings;
    settings.readouts = kReadouts;
    settings.dcms = kDcms;
    settings.writers = with_writers_ ? kWriters : 0;
    settings.in_flight_max = static_cast<std::uint32_t>(4 + dice_.below(30));
    settings.pending_max = static_cast<std::uint32_t>(1 + dice_.below(8));
    settings.remembered_slices = 4096;
    settings.lease_ns = 40;
    settings.writer_ack_ns = dice_.one_in(2) ? 60 : 0;
    settings.drain_ns = kSecond;
    settings.attempts_max = 100;
    settings.drain_look_ns = 10;
    settings.reach = {10, 20, 15};
    if (dice_.one_in(2)) {
      settings.groups = {{"first", NodeIndex(0), 1, {GroupIndex(1)}}, {"second", NodeIndex(1), 2, {}}};
      if (dice_.one_in(2))
        settings.groups = {{"first", NodeIndex(0), 1, {GroupIndex(1), GroupIndex(2)}},
                           {"second", NodeIndex(1), 1, {GroupIndex(2)}},
                           {"third", NodeIndex(2), 1, {}}};
    }
    return settings;
  }
  std::vector<std::string_view> policies() {
    std::vector<std::string_view> chosen;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, settings_.groups.size()); ++i)
      chosen.push_back(policy_names()[dice_.below(policy_names().size())]);
    return chosen;
  }
  TriggerSettings triggers() {
    TriggerSettings triggers;
    constexpr std::string_view kModes[] = {"max", "rate", "poisson", "network"};
    triggers.mode = kModes[dice_.below(4)];
    triggers.rate_hz = kRateMaxHz;
    triggers.seed = dice_.below(1000);
    return triggers;
  }
  std::unique_ptr<SupervisorMachine> machine() const {
    return std::make_unique<SupervisorMachine>(settings_, make_trigger_source(triggers_).value(),
                                               test::Farm::made(policies_));
  }
  void join_readouts() {
    for (std::uint16_t i = 0; i < kReadouts; ++i)
      machine_->readout_joined(NodeIndex(i), Incarnation(1), now_.mono);
  }

  // The supervisor's process dies and another resumes from the journal, which contains everything that was
  // announced. DCMs drop their slices; writers repeat the copies on disk that they do not know to be settled.
  void restart() {
    machine_ = machine();
    actions_.clear();
    again_.clear();
    just_given_.clear();
    for (const OpenSlice& open : told_.open) again_.insert(open.slice.value);
    machine_->resume(told_, now_.mono - kBegin, now_, actions_);
    join_readouts();
    for (std::uint16_t i = 0; i < kDcms; ++i) {
      const bool was_live = dcms_[i].live;
      dcms_[i] = {};
      if (was_live) join_dcm(i);
    }
    for (std::uint16_t i = 0; i < kWriters; ++i) {
      Writer& writer = writers_[i];
      writer.unsent.clear();
      for (const auto& [slice, copies] : writer.disk) {
        if (settled_.count(slice) > 0) continue;
        for (const Copy& copy : copies) writer.unsent.push_back({SliceId(slice), copy.attempt, copy.epoch});
      }
      if (writer.live) join_writer(i);
    }
    // Nodes that were to leave and have not left are removed once more.
    for (const NodeRef node : told_.shape.removed) machine_->remove(node, now_.mono);
  }

  void step() {
    now_.mono += static_cast<TimeNs>(dice_.below(8));
    now_.utc = now_.mono;
    if (dice_.one_in(2)) offer();
    for (std::uint16_t i = 0; i < kDcms; ++i) work_dcm(i);
    for (std::uint16_t i = 0; i < kWriters; ++i) work_writer(i);
    if (faulty_ && dice_.one_in(12)) fault();  // answers may be on their way
    if (faulty_ && dice_.one_in(15)) change_farm();
    machine_->tick(now_, actions_);
    carry_out();
    check();
  }

  // Returns an id: none, or an external one that is dense, sparse, descending, or repeated.
  std::optional<SliceId> offered_id() {
    if (dice_.one_in(3)) return std::nullopt;
    if (!offered_.empty() && dice_.one_in(4)) return SliceId(offered_[dice_.below(offered_.size())]);
    std::uint64_t id = 0;
    switch (order_of_ids_) {
      case 0:
        id = dice_.below(2000);
        break;
      case 1:
        id = (1 + offered_.size()) << 16U;
        break;
      default:
        id = 1'000'000 - 3 * offered_.size();
    }
    offered_.push_back(id);
    return SliceId(id);
  }

  // Every id that was given before, in this process or an earlier one, is a duplicate, and no other is.
  void offer() {
    const std::optional<SliceId> id = offered_id();
    const bool given = id && (announced_.contains(id->value) || just_given_.contains(id->value));
    const OfferResult result = machine_->offer({id, {}, {}}, now_, actions_);
    if (result.taken && given) fail("an id was given twice");
    if (result.reason == VetoReason::duplicate_id && !given) fail("an id that was not given is a duplicate");
    if (result.taken) just_given_.insert(result.slice.value);
  }

  void work_dcm(std::uint16_t index) {
    Dcm& dcm = dcms_[index];
    if (!dcm.live) return;
    std::vector<AttemptDecision> decisions;
    std::erase_if(dcm.jobs, [&](const Job& job) {
      if (job.stuck || dice_.one_in(2)) return false;
      const std::uint64_t choice = dice_.below(10);
      AttemptDecision decision{job.assignment.slice, job.assignment.attempt, Verdict::accept,
                               DiscardReason::none, false};
      decision.incomplete = dice_.one_in(5);
      check_forwarded(job.assignment);
      if (!job.assignment.unfiltered && choice < 4) decision.verdict = Verdict::reject;
      if (machine_->reach().is_cut_off(NodeIndex(index)) && choice < 8) {
        decision.verdict = Verdict::failed;
        decision.reason = DiscardReason::unreachable;
      }
      if (choice == 9) {
        constexpr DiscardReason kReasons[] = {DiscardReason::no_buffer, DiscardReason::filter_failed,
                                              DiscardReason::lost, DiscardReason::drain_timeout};
        decision.verdict = Verdict::failed;
        decision.reason = kReasons[dice_.below(4)];
      }
      if (!job.assignment.unfiltered && decision.verdict == Verdict::accept) forward(index, decision);
      decisions.push_back(decision);
      --dcm.in_use;
      return true;
    });
    if (faulty_ && dice_.one_in(10)) {  // of an attempt that never existed
      decisions.push_back({SliceId(dice_.below(500)), Attempt(UINT16_MAX), Verdict::reject, {}, false});
    }
    if (!decisions.empty()) machine_->decisions(NodeIndex(index), decisions, now_.mono, actions_);
    send(dcm, index);
  }

  void send(Dcm& dcm, std::uint16_t index) {
    std::erase_if(dcm.sending, [&](const Sending& sending) {
      Writer& writer = writers_[sending.writer.value];
      if (faulty_ && dice_.one_in(40)) {  // no longer has it
        const AttemptDecision gone{sending.slice, sending.attempt, Verdict::failed, DiscardReason::lost,
                                   false};
        machine_->decisions(NodeIndex(index), {&gone, 1}, now_.mono, actions_);
        return true;
      }
      if (!writer.live || dice_.one_in(3)) return false;
      writer.disk[sending.slice.value].push_back({sending.attempt, sending.epoch});
      writer.unsent.push_back({sending.slice, sending.attempt, sending.epoch});
      return true;
    });
  }

  // A copy that the writer was not asked for: under a wrong epoch, or another writer's.
  void acknowledge_wrongly(std::uint16_t index) {
    if (confirmed_.empty()) return;
    const auto& [slice, latest] =
        *std::next(confirmed_.begin(), static_cast<std::ptrdiff_t>(dice_.below(confirmed_.size())));
    CopyId ack{SliceId(slice), latest.attempt, latest.epoch};
    if (latest.writer == NodeIndex(index) || dice_.one_in(2)) ack.epoch = ack.epoch.next();
    machine_->stored(NodeIndex(index), {&ack, 1}, actions_);
  }

  void work_writer(std::uint16_t index) {
    Writer& writer = writers_[index];
    if (writer.live && faulty_ && dice_.one_in(10)) acknowledge_wrongly(index);
    if (!writer.live || writer.unsent.empty() || dice_.one_in(2)) return;
    std::vector<CopyId> acks;
    const std::size_t n = 1 + dice_.below(writer.unsent.size());
    acks.assign(writer.unsent.begin(), writer.unsent.begin() + static_cast<std::ptrdiff_t>(n));
    writer.unsent.erase(writer.unsent.begin(), writer.unsent.begin() + static_cast<std::ptrdiff_t>(n));
    if (dice_.one_in(10)) acks.push_back(acks.front());
    machine_->stored(NodeIndex(index), acks, actions_);
  }

  void change_farm() {
    if (dice_.one_in(4)) {
      dice_.one_in(2) ? machine_->pause(now_.mono) : machine_->continue_run(now_.mono);
      return;
    }
    constexpr std::uint16_t kPlaces[] = {kReadouts, kDcms, kWriters};
    const Role role = kNodeRoles[dice_.below(with_writers_ ? 3 : 2)];
    const NodeRef node{role, NodeIndex(static_cast<std::uint16_t>(dice_.below(kPlaces[place_of(role)])))};
    if (dice_.one_in(2)) {
      machine_->remove(node, now_.mono);
      if (machine_->part(node) == Part::in) fail("a node that was removed takes part");
    } else {
      add(node);
    }
  }

  // Restarts its process if that has ended.
  void add(NodeRef node) {
    machine_->add(node, now_.mono, actions_);
    if (node.role == Role::dcm && !dcms_[node.node.value].live) join_dcm(node.node.value);
    if (node.role == Role::writer && !writers_[node.node.value].live) join_writer(node.node.value);
    if (node.role == Role::readout && machine_->absences().is_out(node.node))
      machine_->readout_joined(node.node, Incarnation(2), now_.mono);
    if (machine_->part(node) != Part::in) fail("a node that was added takes no part");
  }

  // The node ends as ordered.
  void end(NodeRef node) {
    if (node.role == Role::dcm) {
      if (!dcms_[node.node.value].sending.empty()) fail("a DCM was let go that has something to send");
      leave_dcm(node.node.value);
    } else if (node.role == Role::writer) {
      leave_writer(node.node.value);
    } else {
      machine_->readout_left(node.node, now_.mono);
    }
  }

  void fault() {
    const auto dcm = static_cast<std::uint16_t>(dice_.below(kDcms));
    const auto writer = static_cast<std::uint16_t>(dice_.below(kWriters));
    switch (dice_.below(9)) {
      case 0:
      case 1:
        dcms_[dcm].live&& dice_.one_in(2) ? leave_dcm(dcm) : join_dcm(dcm);
        break;
      case 2:
        if (with_writers_)
          writers_[writer].live&& dice_.one_in(2) ? leave_writer(writer) : join_writer(writer);
        break;
      case 3:
        for (Job& job : dcms_[dcm].jobs) job.stuck = true;
        break;
      case 4:
        for (Job& job : dcms_[dcm].jobs) job.stuck = false;
        break;
      case 5:
        machine_->throttle(Role::readout, NodeIndex(0), dice_.one_in(3), "readout_buffer_full");
        break;
      case 6:
        now_.mono += static_cast<TimeNs>(dice_.below(100));
        break;
      case 7:
        restart();
        break;
      case 8:
        lose_some(dcm);
        break;
    }
  }

  // A DCM loses or regains connections to other nodes, or reports for the first time that it has all.
  void lose_some(std::uint16_t dcm) {
    std::vector<NodeIndex> lost[2];
    const std::uint16_t there[] = {kReadouts, static_cast<std::uint16_t>(with_writers_ ? kWriters : 0)};
    for (std::size_t role = 0; role < 2; ++role) {
      for (std::uint16_t i = 0; i < there[role]; ++i) {
        if (dice_.one_in(3)) lost[role].push_back(NodeIndex(i));
      }
    }
    machine_->reach(NodeIndex(dcm), lost[0], lost[1], now_.mono);
  }

  void join_dcm(std::uint16_t index) {
    Dcm& dcm = dcms_[index];
    const auto credits = static_cast<std::uint32_t>(1 + dice_.below(6));
    dcm = {};
    dcm.live = true;
    dcm.credits = credits;
    machine_->dcm_joined(NodeIndex(index), Incarnation(dice_.below(1000)), credits, now_.mono, actions_);
  }
  void leave_dcm(std::uint16_t index) {
    dcms_[index].live = false;
    machine_->dcm_left(NodeIndex(index), now_.mono, actions_);
  }
  void join_writer(std::uint16_t index) {
    writers_[index].live = true;
    machine_->writer_joined(NodeIndex(index), Incarnation(dice_.below(1000)), now_.mono, actions_);
  }
  void leave_writer(std::uint16_t index) {
    writers_[index].live = false;
    machine_->writer_left(NodeIndex(index), now_.mono, actions_);
  }

  void carry_out() {
    for (const Announcement& announcement : actions_.announce) {
      if (!announced_.insert(announcement.slice.value).second && again_.erase(announcement.slice.value) == 0)
        fail("a slice was announced twice");
    }
    for (const NodeIndex index : actions_.touched) {
      Dcm& dcm = dcms_[index.value];
      if (!dcm.live) fail("something was sent to a DCM that is not there");
      if (machine_->part({Role::dcm, index}) != Part::in && !actions_.dcms[index.value].assign.empty())
        fail("a DCM that was removed was given a slice");
      if (machine_->reach().is_cut_off(index) && !actions_.dcms[index.value].assign.empty())
        fail("a DCM that is cut off was given a slice");
      for (const Assignment& assignment : actions_.dcms[index.value].assign) {
        if (++dcm.in_use > dcm.credits) fail("a DCM was given more slices than it has credits");
        if (announced_.count(assignment.slice.value) == 0)
          fail("a slice was assigned before it was announced");
        check_group(index.value, assignment);
        dcm.jobs.push_back({assignment, faulty_ && dice_.one_in(15)});
      }
      for (const Confirmation& confirmation : actions_.dcms[index.value].confirm) take(dcm, confirmation);
    }
    for (const Cleared& cleared : actions_.cleared) {
      if (!settled_.emplace(cleared.slice.value, cleared).second) fail("a slice was settled twice");
      if (cleared.outcome == Outcome::stored && !on_disk(cleared))
        fail("a slice was cleared before it was on disk");
    }
    for (const CopyNotice& notice : actions_.copies) check_notice(notice);
    const std::vector<NodeRef> leaving = std::exchange(actions_.leaving, {});
    actions_.clear();
    for (const NodeRef node : leaving) end(node);
    just_given_.clear();
    told_ = machine_->state(now_.mono);
  }

  template <class Row>
  bool on_disk(const Row& row) {
    const auto& copies = writers_[row.writer.value].disk[row.slice.value];
    return std::find(copies.begin(), copies.end(), Copy{row.attempt, row.epoch}) != copies.end();
  }

  // Checks a writer's notice about its copy: the copy that settled its slice is live, any other is dead.
  void check_notice(const CopyNotice& notice) {
    if (!on_disk(notice)) return;
    const auto fate = settled_.find(notice.slice.value);
    const bool lives = fate != settled_.end() && fate->second.outcome == Outcome::stored &&
                       fate->second.writer == notice.writer && fate->second.attempt == notice.attempt &&
                       fate->second.epoch == notice.epoch;
    if (notice.live != lives) fail("a writer was told the wrong fate of its copy");
  }

  // Of every second slice that a DCM would accept, where its group has another behind it.
  void forward(std::uint16_t index, AttemptDecision& decision) {
    const std::uint8_t group = group_of(index);
    if (settings_.groups.empty() || settings_.groups[group].forwards_to.empty() || dice_.one_in(2)) return;
    const auto& to = settings_.groups[group].forwards_to;
    decision.verdict = Verdict::forward;
    decision.group = to[dice_.below(to.size())];
    auto& bytes = sent_[decision.slice.value];
    bytes.assign(dice_.below(3) * 100, static_cast<std::byte>(decision.slice.value));
    decision.bytes = bytes;
  }

  [[nodiscard]] std::uint8_t group_of(std::uint16_t dcm) const {
    for (std::size_t i = 0; i < settings_.groups.size(); ++i) {
      const GroupSettings& group = settings_.groups[i];
      if (dcm >= group.first.value && dcm < group.first.value + group.count)
        return static_cast<std::uint8_t>(i);
    }
    return 0;
  }

  // A slice goes forward only, and each attempt in a group has the bytes that brought it there.
  void check_group(std::uint16_t dcm, const Assignment& assignment) {
    if (settings_.groups.empty()) return;
    const auto [known, first] = groups_.emplace(assignment.slice.value, Arrival{});
    Arrival& arrival = known->second;
    const std::uint8_t group = group_of(dcm);
    const auto bytes = std::vector<std::byte>(
        actions_.payload.begin() + assignment.forwarded_offset,
        actions_.payload.begin() + assignment.forwarded_offset + assignment.forwarded_length);
    if (group < arrival.group) fail("a slice went back to an earlier group");
    if (group == arrival.group && !first && bytes != arrival.bytes) fail("an attempt had other bytes");
    if (first && (group != 0 || !bytes.empty())) fail("a slice began elsewhere than in the first group");
    arrival = {group, bytes};
  }
  void check_forwarded(const Assignment& assignment) {
    const auto arrival = groups_.find(assignment.slice.value);
    if (arrival == groups_.end()) return;
    for (const std::byte each : arrival->second.bytes) {
      if (each != static_cast<std::byte>(assignment.slice.value)) fail("a slice has another's bytes");
    }
  }

  void take(Dcm& dcm, const Confirmation& confirmation) {
    std::erase_if(dcm.sending, [&](const Sending& sending) {
      return sending.slice == confirmation.slice && sending.attempt == confirmation.attempt;
    });
    if (confirmation.answer != Answer::store) return;
    // At most one attempt of a slice is confirmed, and epochs only rise.
    if (settled_.count(confirmation.slice.value) > 0) fail("a settled slice was confirmed");
    const auto [latest, first] = confirmed_.emplace(confirmation.slice.value, confirmation);
    if (!first && latest->second.epoch >= confirmation.epoch) fail("a store epoch did not rise");
    latest->second = confirmation;
    dcm.sending.push_back(
        {confirmation.slice, confirmation.attempt, confirmation.epoch, confirmation.writer});
  }

  void check() {
    const std::string_view broken = machine_->broken_invariant();
    if (!broken.empty()) fail(std::string(broken));
    bool waits = false;
    bool goes_on = false;
    for (std::uint16_t i = 0; i < kDcms; ++i) {
      const DcmView& view = machine_->dcms()[i];
      if (view.live != dcms_[i].live) fail("the supervisor's list of connected nodes is wrong");
      const bool in = machine_->part({Role::dcm, NodeIndex(i)}) == Part::in;
      const bool cut_off = machine_->reach().is_cut_off(NodeIndex(i));
      if (view.live && in && !cut_off && view.credits_free + dcms_[i].in_use != view.credits)
        fail("a credit was lost or doubled");
      waits = waits || (view.live && in && cut_off);
      goes_on = goes_on || (view.live && in && !cut_off);
    }
    // Events since the last judgement are judged in the next tick.
    if (waits && !goes_on && settings_.groups.empty() && machine_->next_wakeup(now_) != 0)
      fail("every DCM is cut off");
  }

  // The faults stop: everything is settled, and the copies on disk match the ledger.
  std::string drain() {
    faulty_ = false;
    machine_->throttle(Role::readout, NodeIndex(0), false, "");
    for (std::uint16_t i = 0; i < kDcms; ++i) {
      for (Job& job : dcms_[i].jobs) job.stuck = false;
      if (!dcms_[i].live) join_dcm(i);
    }
    for (std::uint16_t i = 0; with_writers_ && i < kWriters; ++i) {
      if (!writers_[i].live) join_writer(i);
    }
    for (std::uint16_t i = 0; i < kDcms; ++i) add({Role::dcm, NodeIndex(i)});
    for (std::uint16_t i = 0; with_writers_ && i < kWriters; ++i) add({Role::writer, NodeIndex(i)});
    for (std::uint16_t i = 0; i < kDcms; ++i) machine_->reach(NodeIndex(i), {}, {}, now_.mono);
    machine_->request_stop(now_.mono);
    for (int i = 0; i < 2000 && failure_.empty() && !machine_->drained(); ++i) step();
    if (!failure_.empty()) return failure_;
    if (!machine_->drained()) return "the farm does not drain";
    for (int i = 0; i < 100 && failure_.empty(); ++i) step();  // late messages change nothing
    if (!failure_.empty()) return failure_;
    return compare();
  }

  std::string compare() {
    const SupervisorLedger& ledger = machine_->ledger();
    if (announced_.size() != ledger.triggered.count || settled_.size() != announced_.size()) {
      return "not every announced slice was settled";
    }
    WriterLedger writers[kWriters];
    for (std::uint16_t i = 0; i < kWriters; ++i) {
      for (const auto& [slice, copies] : writers_[i].disk) {
        const Cleared& fate = settled_.at(slice);
        for (const Copy& copy : copies) {
          const bool live = fate.outcome == Outcome::stored && fate.writer == NodeIndex(i) &&
                            copy == Copy{fate.attempt, fate.epoch};
          live ? writers[i].live.add(SliceId(slice)) : void(++writers[i].dead);
        }
      }
    }
    if (ledger.discarded[static_cast<std::size_t>(DiscardReason::drain_timeout)].count > 0) {
      return "something was discarded by the drain's deadline";
    }
    const Fault lost_dcm{FaultKind::left, Role::dcm, NodeIndex(0), {}, 0, 0};
    for (const GroupLedger& group : ledger.groups) forwards_ += group.forwarded.count;
    const LedgerResult result = reconcile(ledger, {}, writers, {}, {&lost_dcm, 1});
    return result.balanced ? "" : format_ledger(result);
  }

  void fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
  }

  Dice dice_;
  bool with_writers_;
  struct Arrival {
    std::uint8_t group = 0;
    std::vector<std::byte> bytes;
  };
  std::map<std::uint64_t, Arrival> groups_;  // the last that each slice was assigned in
  std::map<std::uint64_t, std::vector<std::byte>> sent_;
  bool faulty_ = true;
  static constexpr TimeNs kBegin = 1000;
  Now now_{kBegin, kBegin};
  const SupervisorSettings settings_;
  const TriggerSettings triggers_;
  const std::vector<std::string_view> policies_;
  std::unique_ptr<SupervisorMachine> machine_;
  RunState told_;                  // as of the last announcement
  std::set<std::uint64_t> again_;  // announced again after a restart
  const std::uint64_t order_of_ids_ = dice_.below(3);
  std::vector<std::uint64_t> offered_;  // ids from outside
  std::set<std::uint64_t> just_given_;  // and not announced yet
  Actions actions_;
  Dcm dcms_[kDcms];
  Writer writers_[kWriters];
  std::set<std::uint64_t> announced_;
  std::map<std::uint64_t, Cleared> settled_;
  std::map<std::uint64_t, Confirmation> confirmed_;  // the latest of each slice
  std::string failure_;
  std::uint64_t forwards_ = 0;
};

}  // namespace

TEST_CASE("slices and credits are conserved and everything drains, under random deaths, stalls and delays") {
  constexpr std::uint64_t kSeeds = 3000;
  constexpr int kSteps = 150;
  std::uint64_t forwards = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomFarm farm(seed);
    const std::string failure = farm.run(kSteps);
    forwards += farm.forwards();
    INFO("seed " << seed);
    REQUIRE(failure == "");
  }
  CHECK(forwards > kSeeds);
}
