#include <weir/assignment/ledger.hpp>
#include <weir/base/figures.hpp>

#include <algorithm>
#include <numeric>

namespace weir::assignment {
namespace {

template <class Ledger>
std::string ledger_name(Role role, const Ledger& ledger) {
  return ledger.name.empty() ? plain_name(role, ledger.index) : ledger.name;
}

using Relation = Equation::Relation;

LedgerSide count_of(std::uint64_t count) { return {{count, 0}, false}; }
LedgerSide sum_of(const SliceSum& sum) { return {sum, true}; }

template <class Ledgers, class Member>
SliceSum total(const Ledgers& ledgers, Member member) {
  SliceSum sum;
  for (const auto& each : ledgers) sum += each.*member;
  return sum;
}

template <class Counts>
std::uint64_t sum_all(const Counts& counts) {
  return std::accumulate(std::begin(counts), std::end(counts), std::uint64_t{0});
}

class Book {
 public:
  void equal(std::string name, const LedgerSide& left, const LedgerSide& right, std::string note = {}) {
    const bool hashes_agree = !left.hashed || !right.hashed || left.sum.hash_sum == right.sum.hash_sum;
    const bool counts_agree = left.sum.count == right.sum.count;
    if (counts_agree && !hashes_agree) note = "as many, but not the same slices";
    add({std::move(name), left, right, Relation::equal, counts_agree && hashes_agree, std::move(note)});
  }
  void at_most(std::string name, const LedgerSide& left, const LedgerSide& right, std::string note) {
    add({std::move(name), left, right, Relation::at_most, left.sum.count <= right.sum.count,
         std::move(note)});
  }
  // Requires equality if all processes lived to report, otherwise an upper limit.
  void equal_unless(const std::string& reason, std::string name, const LedgerSide& left,
                    const LedgerSide& right) {
    if (reason.empty()) {
      equal(std::move(name), left, right);
    } else {
      at_most(std::move(name), left, right, reason);
    }
  }
  std::vector<Equation> take() { return std::move(equations_); }

 private:
  void add(Equation equation) { equations_.push_back(std::move(equation)); }
  std::vector<Equation> equations_;
};

// Returns the reason why a role's counts are a lower bound; empty if they are exact.
template <class Ledgers>
std::string lost_counts(Role role, const Ledgers& ledgers, std::span<const Fault> faults) {
  const auto left = std::count_if(faults.begin(), faults.end(), [role](const Fault& fault) {
    return fault.kind == FaultKind::left && fault.role == role;
  });
  const auto not_final =
      std::count_if(ledgers.begin(), ledgers.end(), [](const auto& ledger) { return !ledger.final; });
  if (left == 0 && not_final == 0) return {};
  std::string note = counted(static_cast<std::uint64_t>(left), name(role)) + " lost";
  if (not_final > 0)
    note += ", " + counted(static_cast<std::uint64_t>(not_final), "last report") + " may be outdated";
  return note;
}

SliceSum discarded_by_dcms(const SupervisorLedger& supervisor) {
  SliceSum sum;
  for (std::size_t i = 0; i < kDiscardReasons; ++i) {
    const auto reason = static_cast<DiscardReason>(i);
    const bool own = reason == DiscardReason::drain_timeout || reason == DiscardReason::attempts_exhausted ||
                     reason == DiscardReason::supervisor_restart || reason == DiscardReason::writer_refused;
    if (!own) sum += supervisor.discarded[i];
  }
  return sum;
}

void own_equations(Book& book, const SupervisorLedger& supervisor) {
  book.equal("triggers: offered = triggered + vetoed", count_of(supervisor.offered),
             count_of(supervisor.triggered.count + supervisor.vetoed_total()));
  SliceSum settled = supervisor.stored;
  settled += supervisor.rejected;
  settled += supervisor.discarded_total();
  book.equal("slices: triggered = stored + rejected + discarded", sum_of(supervisor.triggered),
             sum_of(settled));
  book.equal("slices: none left open", count_of(supervisor.open), count_of(0));
}

struct Disk {
  SliceSum live;
  std::uint64_t dead = 0;
  std::uint64_t given_up = 0;  // copies that lost writers may have
  bool any_lost = false;       // a writer, for good
  std::string note;
};

// The content of a lost writer's disk is unknown; its acknowledged slices are counted, and named as such.
Disk on_disk(const SupervisorLedger& supervisor, std::span<const WriterLedger> writers) {
  Disk disk;
  std::uint64_t compared = 0;
  std::uint64_t left = 0;
  SliceSum verified;
  for (const WriterLedger& writer : writers) {
    compared += writer.files_compared;
    left += writer.files_left;
    if (writer.lost > 0) {
      disk.note +=
          std::to_string(writer.lost) + " of " + ledger_name(Role::writer, writer) + " vanished from disk; ";
    }
    disk.dead += writer.dead;
    const std::size_t index = writer.index.value;
    if (writer.final) {
      disk.live += writer.live;
      verified += writer.live;
      continue;
    }
    const SliceSum acknowledged =
        index < supervisor.stored_by.size() ? supervisor.stored_by[index] : SliceSum{};
    disk.live += acknowledged;
    disk.given_up += writer.given_up;
    disk.any_lost = true;
    disk.note += counted(acknowledged.count, "slice") + " only acknowledged, by " +
                 ledger_name(Role::writer, writer) + ", which was lost: its files were not read back";
    if (writer.given_up > 0)
      disk.note += ", and up to " + std::to_string(writer.given_up) + " copies that do not count";
    disk.note += "; ";
  }
  if (disk.any_lost) disk.note.insert(0, counted(verified.count, "slice") + " counted on disk; ");
  if (compared > 0) disk.note += "size, name and index of " + counted(compared, "file") + " read back; ";
  if (left > 0) disk.note += std::to_string(left) + " of them moved away after on_close; ";
  if (disk.dead > 0) disk.note += "and " + std::to_string(disk.dead) + " dead copies; ";
  if (!disk.note.empty()) disk.note.resize(disk.note.size() - 2);
  return disk;
}

void slice_equations(Book& book, const SupervisorLedger& supervisor, std::span<const DcmLedger> dcms,
                     std::span<const WriterLedger> writers, std::span<const Fault> faults) {
  const Disk disk = on_disk(supervisor, writers);
  const SliceSum& live = disk.live;
  const std::uint64_t dead = disk.dead;
  book.equal(disk.any_lost ? "slices: stored = live on disk + acknowledged by lost writers"
                           : "slices: stored = live on disk",
             sum_of(supervisor.stored), sum_of(live), disk.note);

  std::string lost = lost_counts(Role::dcm, dcms, faults);
  if (supervisor.restarts > 0) {
    lost += (lost.empty() ? "" : ", ") + counted(supervisor.restarts, "restart") + " of the supervisor";
  }
  std::uint64_t assigned = 0;
  for (const DcmLedger& dcm : dcms) assigned += dcm.assigned;
  book.equal_unless(lost, "slices: received by DCMs, assigned", count_of(assigned),
                    count_of(supervisor.assignments));
  book.equal_unless(lost, "slices: rejected by DCMs, rejected", sum_of(total(dcms, &DcmLedger::rejected)),
                    sum_of(supervisor.rejected));
  book.equal_unless(lost, "slices: discarded by DCMs, discarded", sum_of(total(dcms, &DcmLedger::discarded)),
                    sum_of(discarded_by_dcms(supervisor)));

  // A copy can be acknowledged to its DCM and still be dead: then it is in the DCMs' sum and on the disk.
  std::string copies = lost.empty() ? lost_counts(Role::writer, writers, faults) : lost;
  const auto drained_late =
      supervisor.discarded[static_cast<std::size_t>(DiscardReason::drain_timeout)].count;
  std::uint64_t unheard = 0;
  for (const DcmLedger& dcm : dcms) unheard += dcm.unheard;
  if (copies.empty() && unheard > 0) copies = counted(unheard, "acknowledgement") + " did not reach a DCM";
  if (copies.empty() && dead > 0) copies = "dead copies exist";
  if (copies.empty() && drained_late > 0) copies = "the drain timed out";
  const SliceSum acknowledged = total(dcms, &DcmLedger::stored);
  if (copies.empty()) {
    book.equal("slices: acknowledged to DCMs, stored", sum_of(acknowledged), sum_of(supervisor.stored));
  } else {
    book.at_most("slices: acknowledged to DCMs, on disk", count_of(acknowledged.count),
                 count_of(live.count + dead + disk.given_up), copies);
  }
}

void group_equations(Book& book, const SupervisorLedger& supervisor, std::span<const DcmLedger> dcms,
                     std::span<const Fault> faults) {
  std::string lost = supervisor.groups.empty() ? "" : lost_counts(Role::dcm, dcms, faults);
  if (supervisor.restarts > 0)
    lost += (lost.empty() ? "" : ", ") + std::string("the supervisor was restarted");
  for (std::size_t i = 0; i < supervisor.groups.size(); ++i) {
    const GroupLedger& group = supervisor.groups[i];
    const std::string of = "slices: group " + group.name + ": ";
    SliceSum ended = group.stored;
    ended += group.rejected;
    ended += group.discarded;
    ended += group.forwarded;
    book.equal(of + (i == 0 ? "triggered" : "arrived") + " = stored + rejected + discarded + forwarded",
               sum_of(i == 0 ? supervisor.triggered : group.arrived), sum_of(ended));
    if (i > 0) {
      SliceSum waited = group.assigned;
      waited += group.settled_waiting;
      book.equal(of + "arrived = assigned + settled while waiting", sum_of(group.arrived), sum_of(waited),
                 "and " + counted(group.reassigned, "reassignment"));
    }
    SliceSum by_dcms;
    for (const DcmLedger& dcm : dcms) {
      if (dcm.group.value == i) by_dcms += dcm.forwarded;
    }
    book.equal_unless(lost, of + "forwarded by DCMs, forwarded", sum_of(by_dcms), sum_of(group.forwarded));
  }
}

void fragment_equations(Book& book, std::span<const DcmLedger> dcms) {
  for (const DcmLedger& dcm : dcms) {
    const std::string of = "fragments: " + ledger_name(Role::dcm, dcm);
    const std::string name = of + ": received + missing + cancelled, requested";
    const auto ended = count_of(dcm.received + sum_all(dcm.missing) + dcm.cancelled);
    book.equal_unless(dcm.final ? "" : "its last report", name, ended, count_of(dcm.requested));
    if (dcm.prefetched == 0) continue;
    book.equal_unless(dcm.final ? "" : "its last report", of + ": used + unused, prefetched",
                      count_of(dcm.prefetch_used + dcm.prefetch_unused), count_of(dcm.prefetched));
  }
}

// After a broken connection fragments are sent again, or come from the readouts.
void fetch_equation(Book& book, const SupervisorLedger& supervisor, std::span<const DcmLedger> dcms,
                    std::span<const Fault> faults) {
  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;
  std::uint64_t broken = 0;
  for (const DcmLedger& dcm : dcms) {
    sent += dcm.fetch_sent;
    arrived += dcm.fetch_arrived;
    broken += dcm.fetch_broken;
  }
  if (sent + arrived == 0) return;
  std::string note;
  // The last report of a lost DCM may be older than its last fragments, and a supervisor that was away may
  // not have noticed the loss.
  if (supervisor.restarts > 0 || !lost_counts(Role::dcm, dcms, faults).empty()) return;
  // Fragments of an attempt that has ended may still be under way at the end of the run.
  std::uint64_t ended = supervisor.discarded[static_cast<std::size_t>(DiscardReason::drain_timeout)].count;
  for (const GroupLedger& group : supervisor.groups) ended += group.reassigned;
  if (broken > 0) note = counted(broken, "fetch") + " ended early";
  if (ended > 0) note += (note.empty() ? "" : ", ") + counted(ended, "attempt") + " ended early";
  book.equal_unless(note, "fragments: received from DCMs, sent by DCMs", count_of(arrived), count_of(sent));
}

void readout_equations(Book& book, std::span<const ReadoutLedger> readouts) {
  for (const ReadoutLedger& readout : readouts) {
    std::uint64_t dropped = 0;
    for (const auto& [reason, count] : readout.dropped) dropped += count;
    book.equal("fragments: " + ledger_name(Role::readout, readout) + ": produced = cleared + dropped + held",
               count_of(readout.produced), count_of(readout.cleared + dropped + readout.held),
               readout.final ? "" : "its last report; it took " + std::to_string(readout.held) + " with it");
  }
}

}  // namespace

std::uint64_t SupervisorLedger::vetoed_total() const { return sum_all(vetoed); }

SliceSum SupervisorLedger::discarded_total() const {
  SliceSum sum;
  for (const SliceSum& each : discarded) sum += each;
  return sum;
}

namespace {

std::string list_of(Role role, std::span<const NodeIndex> nodes, const NameOf& name_of) {
  constexpr std::size_t kNamedMax = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamedMax); ++i)
    text += (i == 0 ? "" : ", ") + name_of(role, nodes[i]);
  if (nodes.size() > kNamedMax) text += " and " + std::to_string(nodes.size() - kNamedMax) + " more";
  return text;
}

std::string duration_text(DurationNs duration) {
  return microseconds_text(static_cast<std::uint64_t>(duration / kMicrosecond));
}

std::string describe_reach(const Fault& fault, const NameOf& name_of) {
  const std::string node = name_of(fault.role, fault.node);
  const std::string slices = counted(fault.slices, "slice");
  switch (fault.kind) {
    case FaultKind::cut_off:
      return node + " does not reach " + list_of(Role::readout, fault.others, name_of) +
             (fault.slices > 0 ? ": its slices go to others" : ": it gets no slices");
    case FaultKind::restored:
      return node + " gets slices again: " + slices + " built by others meanwhile";
    case FaultKind::no_writer:
      return node + " does not reach " + list_of(Role::writer, fault.others, name_of) + ": " + slices +
             " stored elsewhere";
    case FaultKind::marked:
      return node + " does not reach " + list_of(Role::readout, fault.others, name_of) +
             ", and no DCM reaches more: their fragments are missing in its slices";
    default:
      return node + (fault.lasted > 0 ? " is reached again after " + duration_text(fault.lasted)
                                      : " is reached by no DCM: its fragments are missing");
  }
}

}  // namespace

std::string plain_name(Role role, NodeIndex index) {
  return std::string(name(role)) + "-" + std::to_string(index.value);
}

std::string describe(const Fault& fault, const NameOf& name_of) {
  const std::string node = name_of(fault.role, fault.node);
  const std::string slices = counted(fault.slices, "slice");
  if (fault.kind == FaultKind::stalled) {
    return node + " stalled: " + slices + " taken from it";
  }
  if (fault.kind > FaultKind::stalled) return describe_reach(fault, name_of);
  if (fault.role == Role::readout) return node + " was lost: its fragments are missing";
  if (fault.role == Role::writer) return node + " was lost: " + slices + " stored again by others";
  return node + " was lost: " + slices + " given to others";
}

std::string describe_in_record(const Fault& fault, UtcNs at, const NameOf& name_of) {
  const std::string node = name_of(fault.role, fault.node);
  switch (fault.kind) {
    case FaultKind::cut_off:
      return node + " did not reach " + list_of(Role::readout, fault.others, name_of) +
             ": its slices went to others";
    case FaultKind::restored:
      return node + " got slices again: " + counted(fault.slices, "slice") + " built by others meanwhile";
    case FaultKind::no_writer:
      return node + " did not reach " + list_of(Role::writer, fault.others, name_of) + ": " +
             counted(fault.slices, "slice") + " stored elsewhere";
    case FaultKind::marked:
      return node + " did not reach " + list_of(Role::readout, fault.others, name_of) +
             ", and no DCM reached more: their fragments are missing in its slices";
    case FaultKind::down: {
      constexpr std::size_t kTimeAt = 11;  // in 2024-05-31T12:00:00.000Z
      constexpr std::size_t kTimeSize = 8;
      return node + "'s fragments are missing: it was reached by no DCM from " +
             utc_text(at).substr(kTimeAt, kTimeSize) + " UTC" +
             (fault.lasted > 0 ? " for " + duration_text(fault.lasted) : "");
    }
    default:
      return describe(fault, name_of);
  }
}

std::vector<std::string> describe_losses(const SupervisorLedger& ledger) {
  std::vector<std::string> losses;
  for (std::size_t i = 0; i < kDiscardReasons; ++i) {
    const auto reason = static_cast<DiscardReason>(i);
    if (!is_loss(reason) || ledger.discarded[i].count == 0) continue;
    losses.push_back(counted(ledger.discarded[i].count, "slice") +
                     " discarded: " + std::string(name(reason)));
  }
  if (const std::uint64_t full = ledger.vetoed[static_cast<std::size_t>(VetoReason::id_memory_full)];
      full > 0)
    losses.push_back(counted(full, "trigger") +
                     " vetoed: id_memory_full, more gaps between slice ids than "
                     "supervisor.id_intervals_max");
  if (ledger.records_refused > 0) {
    losses.push_back(counted(ledger.records_refused, "record") +
                     " refused by writers: the slices were rebuilt or discarded");
  }
  return losses;
}

LedgerResult reconcile(const SupervisorLedger& supervisor, std::span<const DcmLedger> dcms,
                       std::span<const WriterLedger> writers, std::span<const ReadoutLedger> readouts,
                       std::span<const Fault> faults) {
  Book book;
  own_equations(book, supervisor);
  slice_equations(book, supervisor, dcms, writers, faults);
  group_equations(book, supervisor, dcms, faults);
  fragment_equations(book, dcms);
  fetch_equation(book, supervisor, dcms, faults);
  readout_equations(book, readouts);

  LedgerResult result;
  result.equations = book.take();
  result.balanced = std::all_of(result.equations.begin(), result.equations.end(),
                                [](const Equation& equation) { return equation.ok; });
  const auto old = [](const auto& ledgers) {
    return std::any_of(ledgers.begin(), ledgers.end(), [](const auto& ledger) { return !ledger.final; });
  };
  const bool any = std::any_of(faults.begin(), faults.end(), [](const Fault& one) { return one.counts(); });
  result.faults = supervisor.restarts > 0 || any || !describe_losses(supervisor).empty() || old(dcms) ||
                  old(writers) || old(readouts);
  return result;
}

}  // namespace weir::assignment
