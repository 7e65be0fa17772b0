#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/hash.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::assignment {

// Counts of one group of DCMs, in a farm with several groups.
struct GroupLedger {
  SliceSum arrived;              // forwarded to it; not of the first group, which has the triggered ones
  SliceSum assigned;             // of those: for the first time in this group
  SliceSum settled_waiting;      // of those: settled before that
  SliceSum stored;               // settled while the slice was the group's, and so are the others
  SliceSum rejected;             //
  SliceSum discarded;            //
  SliceSum forwarded;            // onward
  std::uint64_t reassigned = 0;  // assignments of attempts after a failed one
  std::string name;
};

// What the supervisor counted.
struct SupervisorLedger {
  std::uint64_t offered = 0;
  std::array<std::uint64_t, kVetoReasons> vetoed{};  // by VetoReason
  SliceSum triggered;
  SliceSum stored;                  // all of them
  std::vector<SliceSum> stored_by;  // the same, by the writer that acknowledged it
  SliceSum stored_incomplete;       // those among them with missing fragments
  SliceSum rejected;
  std::array<SliceSum, kDiscardReasons> discarded{};  // by DiscardReason
  std::uint64_t open = 0;                             // not settled

  std::uint64_t assignments = 0;
  std::uint64_t unfiltered = 0;  // assignments of slices held for poison
  std::uint64_t reopened = 0;    // attempts that were followed by another
  std::uint64_t suspected = 0;   // attempts that went through a filter alone, after a DCM's death
  std::uint64_t leases_expired = 0;
  std::uint64_t reconfirmed = 0;         // accepts confirmed once more, to another writer
  std::uint64_t decisions_refused = 0;   // of an attempt that was not open any more
  std::uint64_t decisions_repeated = 0;  // of an accept that was confirmed already
  std::uint64_t copies_taken = 0;  // of an attempt that had been given up, when they were on disk after all
  std::uint64_t acks_dead = 0;     // of copies that do not count
  std::uint64_t acks_repeated = 0;
  std::uint64_t acks_unknown = 0;     // of slices that are forgotten
  std::uint64_t records_refused = 0;  // by writers: damaged, or not to be believed
  std::uint64_t handed_back = 0;      // attempts that a DCM gave back which is cut off from a readout
  std::uint64_t strangers = 0;        // batches from nodes that had not joined
  std::uint64_t restarts = 0;         // of the supervisor itself, in this run
  std::vector<GroupLedger> groups;    // by GroupIndex; empty in a farm with one group

  [[nodiscard]] std::uint64_t vetoed_total() const;
  [[nodiscard]] SliceSum discarded_total() const;
};

// What a process counted on its own, since it started. `final`: its last words after the end of the run;
// otherwise the last report of a process that died, and a lower bound. One entry per process start
// (incarnation).
struct DcmLedger {
  NodeIndex index;
  bool final = true;
  std::uint64_t assigned = 0;  // assignments received
  SliceSum rejected;           // rejects that were confirmed
  SliceSum stored;             // accepts that a writer has acknowledged
  SliceSum discarded;          // confirmed failures, and accepts that no writer stores
  SliceSum forwarded = {};     // forwards that were confirmed
  GroupIndex group = {};
  std::uint64_t unheard = 0;  // sent to a writer whose word had not come when the process ended
  // Fragments. Every requested one ends as received, missing or cancelled; the others come on top (a corrupt
  // one is received, too).
  std::uint64_t requested = 0;
  std::uint64_t received = 0;
  std::array<std::uint64_t, kMissingReasons> missing{};  // by MissingReason
  std::uint64_t cancelled = 0;
  // Part of `requested`: ahead of the step that may need them.
  std::uint64_t prefetched = 0;
  std::uint64_t prefetch_used = 0;
  std::uint64_t prefetch_unused = 0;
  std::uint64_t late = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t unknown = 0;
  std::uint64_t corrupt = 0;
};

// From what is on disk. One entry per writer, whatever it died of.
struct WriterLedger {
  NodeIndex index;
  bool final = true;                 // false: lost for good; nothing else is known then
  SliceSum live;                     // of every life of this writer in the run: its last process has them all
  std::uint64_t dead = 0;            // copies that do not count
  std::uint64_t files_compared = 0;  // with what the file system says at the end; 0: it did not come to that
  std::uint64_t files_left = 0;      // of them, moved away by a person or a job that may
  std::uint64_t lost = 0;            // live copies that were on disk, and are gone
  std::uint64_t given_up = 0;        // of one that is lost: copies that it may have and that do not count
};

struct ReadoutLedger {
  NodeIndex index;
  bool final = true;
  std::uint64_t produced = 0;
  std::uint64_t cleared = 0;
  std::uint64_t held = 0;
  std::vector<std::pair<std::string, std::uint64_t>> dropped;  // by reason
};

enum class FaultKind : std::uint8_t {
  left,       // died, or its connection ended, while the run went on
  stalled,    // its lease expired, or its acknowledgement did not come
  cut_off,    // a DCM that does not reach `others`, which other DCMs do: it is given no slices
  restored,   // it reaches them again
  no_writer,  // a DCM that does not reach the writer `others`: its slices are stored by another
  down,       // a readout that is there, and that no DCM reaches
  marked      // a DCM that does not reach `others`, and builds without them, for no DCM is better connected
};

struct Fault {
  FaultKind kind = FaultKind::left;
  Role role = Role::dcm;
  NodeIndex node;
  Incarnation incarnation;
  TimeNs at = 0;
  std::uint64_t slices = 0;            // that were taken from it, or that it gave back
  std::vector<NodeIndex> others = {};  // readouts or writers
};
constexpr std::size_t kFaultsMax = 10'000;  // kept by name; the counters go on

[[nodiscard]] std::string describe(const Fault& fault);
// Describes faults of data, not of processes: a sentence for each reason for which slices were lost, had to
// be built again, or could not be triggered.
[[nodiscard]] std::vector<std::string> describe_losses(const SupervisorLedger& ledger);

struct LedgerSide {
  SliceSum sum;
  bool hashed = false;  // the sum of ids' hashes is known as well
};

// One line of the ledger: left (relation) right.
struct Equation {
  enum class Relation : std::uint8_t { equal, at_most };
  std::string name;
  LedgerSide left;
  LedgerSide right;
  Relation relation = Relation::equal;
  bool ok = false;
  std::string note;
};

enum class LedgerStatus : std::uint8_t {
  balanced = 0,              // every equation holds, and nothing happened
  balanced_with_faults = 1,  // every equation holds as far as the dead left their counts
  unbalanced = 2
};

struct LedgerResult {
  bool balanced = false;
  bool faults = false;
  std::vector<Equation> equations;
  [[nodiscard]] LedgerStatus status() const {
    if (!balanced) return LedgerStatus::unbalanced;
    return faults ? LedgerStatus::balanced_with_faults : LedgerStatus::balanced;
  }
};

// Compares what the processes counted independently.
//   offered = triggered + vetoed                      supervisor
//   triggered = stored + rejected + discarded         supervisor; ids as well
//   0 = open                                          supervisor
//   stored = live on disk                             writers; ids as well. Holds whatever died; of a writer
//                                                     that is lost at the end counts what it acknowledged
//   assignments, rejected, discarded = sum of DCMs    ids as well. Where a DCM died the sum may be less
//   stored = sum of DCMs' acknowledged                ids as well. Where one died, or the drain timed out:
//                                                     acknowledged <= live + dead copies on disk, and those
//                                                     that a lost writer may have besides
//   prefetched = used + unused                        each DCM that prefetched
//   requested = received + missing + cancelled        each DCM. A last report of a dead one: at least that
//   produced = cleared + dropped + held               each readout
// In a farm with several groups of DCMs, for each of them, ids as well:
//   arrived = stored + rejected + discarded + forwarded       the first group: triggered = ...
//   arrived = assigned for the first time + settled waiting   not the first group
//   forwarded = sum of its DCMs                               where a DCM died the sum may be less
// A discard that the supervisor decided itself (drain_timeout, attempts_exhausted, supervisor_restart) is no
// DCM's.
[[nodiscard]] LedgerResult reconcile(const SupervisorLedger& supervisor, std::span<const DcmLedger> dcms,
                                     std::span<const WriterLedger> writers,
                                     std::span<const ReadoutLedger> readouts, std::span<const Fault> faults);

// The equations as a table for people, one line each, columns aligned; the last line says whether it
// balances.
[[nodiscard]] std::string format_ledger(const LedgerResult& result);
// `name = value` lines of what became of the triggers: only what is not zero.
[[nodiscard]] std::string format_outcomes(const SupervisorLedger& supervisor);

}  // namespace weir::assignment
