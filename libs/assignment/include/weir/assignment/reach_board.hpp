#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir::assignment {

struct ReachSettings {
  // Two DCMs that lose the same readout notice it at different moments: what one alone has said for less than
  // this is not believed yet.
  DurationNs settle_ns = 400 * kMillisecond;
  DurationNs grace_ns = 2 * kSecond;  // a loss that is over before costs no fragment and moves no slice
  DurationNs return_ns = kSecond;     // what is back counts as back when it has been so for as long
};

// The farm's judgement of which nodes reach each other, from what each DCM says of itself. Pure; one thread.
// - A readout that no DCM reaches for grace_ns is down: its fragments are missing (`source_down`). That goes
//   for a farm with one DCM, too, and where the one that did reach it is gone.
// - A DCM that lacks more of the readouts that any DCM reaches than the best connected one of its group does
// is
//   cut off: it takes no slices, and gives back what it cannot build. So one DCM at least of each group goes
//   on.
// - Where the best connected lack something too (one reaches the first readout, another the second), they go
//   on, and mark what they lack once it has been lost for grace_ns.
// - A DCM that has not reached a writer for grace_ns is confirmed to another.
// Only DCMs that take part and have said anything count. Work is done when a DCM says something new, or a
// time is up; it costs a pass over the readouts, the DCMs and what is lost.
class ReachBoard {
 public:
  // `groups`: the group of each DCM. A DCM is compared with its own group only. Empty: one group of all.
  ReachBoard(std::size_t dcms, std::size_t readouts, const ReachSettings& settings,
             std::vector<GroupIndex> groups = {})
      : settings_(settings), dcms_(dcms), readouts_(readouts), groups_(std::move(groups)) {
    groups_.resize(dcms);
  }

  // Another process of the supervisor knew more DCMs than have come back yet: until then nothing is missing
  // because no DCM reaches it.
  void wait_for_dcms(TimeNs until) { waits_until_ = until; }
  // A new process, or none: nothing is known of it.
  void forget(NodeIndex dcm);
  // It is given slices, as far as run control is concerned.
  void set_part(NodeIndex dcm, bool takes_part);
  // All that this DCM does not reach, instead of what it said before. Each node once.
  void report(NodeIndex dcm, std::span<const NodeIndex> readouts, std::span<const NodeIndex> writers,
              TimeNs now);
  // A new process, which all have to connect to first.
  void readout_joined(NodeIndex readout, TimeNs now) {
    begin_anew(&Dcm::readouts, readout, now);
    readouts_[readout.value].changed = now;
  }
  void writer_joined(NodeIndex writer, TimeNs now) { begin_anew(&Dcm::writers, writer, now); }

  [[nodiscard]] bool is_due(TimeNs now) const { return dirty_ || now >= next_ns_; }
  [[nodiscard]] TimeNs next_ns() const { return dirty_ ? 0 : next_ns_; }
  void judge(TimeNs now);

  // As last judged:
  // DCMs of which something below has changed by that judgement.
  [[nodiscard]] std::span<const NodeIndex> changed() const { return changed_; }
  [[nodiscard]] bool is_cut_off(NodeIndex dcm) const { return dcms_[dcm.value].cut_off; }
  // Readouts whose fragments this DCM marks missing without waiting for its deadline, ascending.
  [[nodiscard]] std::span<const NodeIndex> missing(NodeIndex dcm) const { return dcms_[dcm.value].missing; }
  // Readouts that it does not reach and others do, ascending.
  [[nodiscard]] std::span<const NodeIndex> lacking(NodeIndex dcm) const { return dcms_[dcm.value].lacking; }
  // Writers that it does not reach.
  [[nodiscard]] std::span<const NodeIndex> writers_lost(NodeIndex dcm) const {
    return dcms_[dcm.value].writers_lost;
  }
  // No DCM reaches it, for grace_ns.
  [[nodiscard]] bool is_down(NodeIndex readout) const { return readouts_[readout.value].down; }
  // Returns the turns of the loops over nodes and losses.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Loss {
    NodeIndex node;
    TimeNs told = 0;   // when it first said so, or that it is over
    bool lost = true;  // false: is over, and is not yet believed to be
    bool believed = false;
  };
  struct Dcm {
    bool known = false;
    bool takes_part = true;
    bool cut_off = false;
    TimeNs let_go = 0;           // when it was cut off no more
    std::vector<Loss> readouts;  // sorted by node
    std::vector<Loss> writers;
    std::vector<NodeIndex> missing;
    std::vector<NodeIndex> lacking;
    std::vector<NodeIndex> writers_lost;
    [[nodiscard]] bool counts() const { return known && takes_part; }
  };
  struct Readout {
    bool reached = true;  // by some DCM that counts
    bool down = false;
    TimeNs changed = 0;  // when `reached` did
    std::size_t losses = 0;
  };

  void begin_anew(std::vector<Loss> Dcm::*losses, NodeIndex node, TimeNs now);
  void merge(std::vector<Loss>& losses, std::span<const NodeIndex> said, TimeNs now);
  void look_at_readouts(TimeNs now);
  void believe(Dcm& dcm, TimeNs now);
  void believe_writers(Dcm& dcm, TimeNs now);
  [[nodiscard]] std::vector<NodeIndex> marked(const Dcm& dcm, bool cut_off, TimeNs now);
  // Whether that moment has come; if not, there is a look at it then.
  [[nodiscard]] bool has_come(TimeNs moment, TimeNs now);

  ReachSettings settings_;
  std::vector<Dcm> dcms_;
  std::vector<Readout> readouts_;
  std::vector<GroupIndex> groups_;
  std::vector<NodeIndex> changed_;
  TimeNs next_ns_ = INT64_MAX;
  TimeNs waits_until_ = INT64_MIN;
  bool dirty_ = false;
  std::vector<NodeIndex> said_;  // of one report, sorted
  std::vector<Loss> merged_;
  std::uint64_t steps_ = 0;
};

}  // namespace weir::assignment
