#pragma once

#include <weir/assignment/words.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/hash.hpp>
#include <weir/base/time.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weir::assignment {

// Counts of one group of DCMs, in a farm with several groups.
struct GroupLedger {
  SliceSum arrived;   // forwarded to the group; unused in the first group, where it is the triggered slices
  SliceSum assigned;  // of `arrived`: assigned for the first time in this group
  SliceSum settled_waiting;      // of `arrived`: settled before that
  SliceSum stored;               // this and the following: settled while the slice belonged to the group
  SliceSum rejected;             //
  SliceSum discarded;            //
  SliceSum forwarded;            // onward
  SliceSum fetched;              // of `arrived`: whole from the DCM that forwarded them
  std::uint64_t reassigned = 0;  // assignments of attempts after a failed one
  std::string name;
};

// Counters of the supervisor.
struct SupervisorLedger {
  std::uint64_t offered = 0;
  std::array<std::uint64_t, kVetoReasons> vetoed{};  // by VetoReason
  SliceSum triggered;
  SliceSum stored;                  // in total
  std::vector<SliceSum> stored_by;  // `stored`, by the writer that acknowledged it
  SliceSum stored_incomplete;       // of `stored`: with missing fragments
  SliceSum rejected;
  std::array<SliceSum, kDiscardReasons> discarded{};  // by DiscardReason
  std::uint64_t open = 0;                             // unsettled slices

  std::uint64_t assignments = 0;
  std::uint64_t unfiltered = 0;  // assignments that bypass the filter because of poison
  std::uint64_t reopened = 0;    // attempts that were followed by another
  std::uint64_t suspected = 0;   // attempts that ran alone in a filter after a DCM's death
  std::uint64_t leases_expired = 0;
  std::uint64_t reconfirmed = 0;         // accepts confirmed once more, to another writer
  std::uint64_t decisions_refused = 0;   // for an attempt that is no longer open
  std::uint64_t decisions_repeated = 0;  // for an accept that was already confirmed
  std::uint64_t copies_taken =
      0;                        // copies on disk of an attempt that had been given up, which count after all
  std::uint64_t acks_dead = 0;  // for copies that do not count
  std::uint64_t acks_repeated = 0;
  std::uint64_t acks_unknown = 0;     // for forgotten slices
  std::uint64_t records_refused = 0;  // refused by writers: damaged, or implausible
  std::uint64_t handed_back = 0;    // attempts that a DCM returned: cut off from a readout, or out of memory
  std::uint64_t strangers = 0;      // batches from nodes that had not joined
  std::uint64_t restarts = 0;       // of the supervisor itself, in this run
  std::vector<GroupLedger> groups;  // by GroupIndex; empty in a farm with one group

  [[nodiscard]] std::uint64_t vetoed_total() const;
  [[nodiscard]] SliceSum discarded_total() const;
};

// Counters of one process since its start. `final`: its final report after the end of the run; otherwise the
// last report of a dead process, which is a lower bound. One entry per process start (incarnation).
struct DcmLedger {
  NodeIndex index;
  bool final = true;
  std::uint64_t assigned = 0;  // assignments received
  SliceSum rejected;           // confirmed rejects
  SliceSum stored;             // accepts acknowledged by a writer
  SliceSum discarded;          // confirmed failures, and accepts that no writer stores
  SliceSum forwarded = {};     // confirmed forwards
  GroupIndex group = {};
  std::uint64_t unheard = 0;  // sent to a writer, and unacknowledged when the process ended
  // Fragments. Every requested fragment ends as received, missing or cancelled; the other counters are in
  // addition (a corrupt fragment is also received).
  std::uint64_t requested = 0;
  std::uint64_t received = 0;
  std::array<std::uint64_t, kMissingReasons> missing{};  // by MissingReason
  std::uint64_t cancelled = 0;
  // Part of `requested`: requested before the step that may need them.
  std::uint64_t prefetched = 0;
  std::uint64_t prefetch_used = 0;
  std::uint64_t prefetch_unused = 0;
  std::uint64_t late = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t unknown = 0;
  std::uint64_t corrupt = 0;
  // Fragments that DCMs send each other. `fetch_broken`: connections that ended meanwhile, and slices that
  // were built from the readouts instead.
  std::uint64_t fetch_sent = 0;
  std::uint64_t fetch_arrived = 0;
  std::uint64_t fetch_broken = 0;
  std::string name = {};  // in the farm file; empty: plain_name()
};

// Counted from the files on disk. One entry per writer, for all its processes.
struct WriterLedger {
  NodeIndex index;
  bool final = true;       // false: lost for good, and the other counters are unknown
  SliceSum live;           // of all processes of this writer in the run: its last process counts them all
  std::uint64_t dead = 0;  // copies that do not count
  std::uint64_t files_compared =
      0;  // with the file system's state at the end; 0: the comparison did not take place
  std::uint64_t files_left = 0;  // of `files_compared`: moved away by a person or an authorised job
  std::uint64_t lost = 0;        // live copies that were on disk and are missing now
  std::uint64_t given_up = 0;    // for a lost writer: copies that it may have and that do not count
  std::string name = {};         // as of a DCM
};

struct ReadoutLedger {
  NodeIndex index;
  bool final = true;
  std::uint64_t produced = 0;
  std::uint64_t cleared = 0;
  std::uint64_t held = 0;
  std::vector<std::pair<std::string, std::uint64_t>> dropped;  // by reason
  std::string name = {};                                       // as of a DCM
};

enum class FaultKind : std::uint8_t {
  left,       // died, or its connection ended, during the run
  stalled,    // its lease expired, or its acknowledgement is overdue
  cut_off,    // a DCM that cannot reach `others`, which other DCMs can: it gets no slices. Noted again with
              // the first slice that it returns
  restored,   // reaches them again
  no_writer,  // a DCM that cannot reach the writer `others`: another one stores its slices
  down,       // a live readout that no DCM reaches
  marked      // a DCM that cannot reach `others`, and builds without them, because no DCM is better connected
};

struct Fault {
  FaultKind kind = FaultKind::left;
  Role role = Role::dcm;
  NodeIndex node;
  Incarnation incarnation;
  TimeNs at = 0;
  std::uint64_t slices = 0;            // taken from it, or returned by it
  std::vector<NodeIndex> others = {};  // readouts or writers
  DurationNs lasted = 0;               // of `down`; 0: it lasts
  // False for a DCM's outage that moved no slice: an event for the log, not a fault of the run.
  [[nodiscard]] bool counts() const {
    return slices > 0 ||
           (kind != FaultKind::cut_off && kind != FaultKind::restored && kind != FaultKind::no_writer);
  }
};
constexpr std::size_t kFaultsMax = 10'000;  // kept by name; the counters include the rest

// Returns the name of a node.
using NameOf = std::function<std::string(Role, NodeIndex)>;
// Returns "dcm-1": the name of a node that has no other one in the farm file.
[[nodiscard]] std::string plain_name(Role role, NodeIndex index);

// Describes the fault at its moment, for the log.
[[nodiscard]] std::string describe(const Fault& fault, const NameOf& name_of);
// Describes it afterwards, for the run's record. `at`: the moment of fault.at. The text of a `down` that is
// over continues that of its start with " for" and the time that it lasted.
[[nodiscard]] std::string describe_in_record(const Fault& fault, UtcNs at, const NameOf& name_of);
// Describes faults of data, not of processes: a sentence for each reason for which slices were lost, rebuilt
// or not triggered.
[[nodiscard]] std::vector<std::string> describe_losses(const SupervisorLedger& ledger);

struct LedgerSide {
  SliceSum sum;
  bool hashed = false;  // true if the sum of the ids' hashes is known
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
  balanced = 0,              // every equation holds, without faults
  balanced_with_faults = 1,  // every equation holds within the bounds left by lost processes
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

// Compares the processes' independent counters.
//   offered = triggered + vetoed                      supervisor
//   triggered = stored + rejected + discarded         supervisor; ids as well
//   0 = open                                          supervisor
//   stored = live on disk                             writers; ids as well. Holds despite any loss; for a
//                                                     writer lost at the end its acknowledgements count
//   assignments, rejected, discarded = sum of DCMs    ids as well. At most, if a DCM died
//   stored = sum of DCMs' acknowledged                ids as well. If a DCM died, or the drain timed out:
//                                                     acknowledged <= live + dead copies on disk, plus
//                                                     the possible copies of a lost writer
//   prefetched = used + unused                        each DCM that prefetched
//   requested = received + missing + cancelled        each DCM. The last report of a dead one: at least that
//   produced = cleared + dropped + held               each readout
// In a farm with several groups of DCMs, for each of them, ids as well:
//   arrived = stored + rejected + discarded + forwarded       the first group: triggered = ...
//   arrived = assigned for the first time + settled waiting   not the first group
//   forwarded = sum of its DCMs                               at most, if a DCM died
// Discards that the supervisor itself decided (drain_timeout, attempts_exhausted, supervisor_restart) are not
// compared with the DCMs' counters.
[[nodiscard]] LedgerResult reconcile(const SupervisorLedger& supervisor, std::span<const DcmLedger> dcms,
                                     std::span<const WriterLedger> writers,
                                     std::span<const ReadoutLedger> readouts, std::span<const Fault> faults);

// Formats the equations as a table, one line each, columns aligned; the last line gives the result.
[[nodiscard]] std::string format_ledger(const LedgerResult& result);

}  // namespace weir::assignment
