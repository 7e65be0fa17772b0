#pragma once

#include <weir/assignment/words.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir::assignment {

struct ReachSettings {
  // Two DCMs that lose the same readout notice it at different times: a loss that only one has reported is
  // not believed before this time.
  DurationNs settle_ns = 400 * kMillisecond;
  DurationNs grace_ns = 2 * kSecond;  // a loss that ends earlier costs no fragment and moves no slice
  DurationNs return_ns = kSecond;     // a node counts as reachable again after this time without a loss
};

// Judges which nodes of the farm can reach each other, from the DCMs' reports. Pure; one thread.
// - A readout that no DCM reaches for grace_ns is down: its fragments are missing (`source_down`). This
//   includes farms with one DCM, and a readout after its only connected DCM has left.
// - A DCM is cut off if it lacks more of the reachable readouts than the best connected DCM of its group: it
//   gets no slices, and returns those that it cannot build. So at least one DCM of each group continues.
//   All DCMs of a remote group may be cut off: its slices wait for the line.
// - If the best connected DCMs also lack readouts (one the first, another the second), they continue, and
//   mark their missing readouts after grace_ns.
// - A DCM that has not reached a writer for grace_ns is assigned another writer.
// Only DCMs that take part and have reported count. Work is done after a new report or an expiry; it costs a
// pass over the readouts, the DCMs and the losses.
class ReachBoard {
 public:
  // `groups`: the group of each DCM. A DCM is only compared with its own group. Empty: one group of all.
  // `remote`: by group, whether it is remote.
  ReachBoard(std::size_t dcms, std::size_t readouts, const ReachSettings& settings,
             std::vector<GroupIndex> groups = {}, std::vector<bool> remote = {})
      : settings_(settings),
        dcms_(dcms),
        readouts_(readouts),
        groups_(std::move(groups)),
        remote_(std::move(remote)) {
    groups_.resize(dcms);
    remote_.resize(kGroupsMax);
  }

  // An earlier supervisor process had more DCMs than have rejoined: until `until` no readout counts as
  // unreachable by all DCMs.
  void wait_for_dcms(TimeNs until) { waits_until_ = until; }
  // The DCM has a new process, or none: forgets its reports.
  void forget(NodeIndex dcm);
  // Sets whether run control lets the DCM take slices.
  void set_part(NodeIndex dcm, bool takes_part);
  // Records all nodes that this DCM cannot reach, in place of its previous report. Each node at most once.
  void report(NodeIndex dcm, std::span<const NodeIndex> readouts, std::span<const NodeIndex> writers,
              TimeNs now);
  // A new process of a readout, to which all DCMs have to connect first.
  void readout_joined(NodeIndex readout, TimeNs now) {
    begin_anew(&Dcm::readouts, readout, now);
    readouts_[readout.value].changed = now;
  }
  void writer_joined(NodeIndex writer, TimeNs now) { begin_anew(&Dcm::writers, writer, now); }

  [[nodiscard]] bool is_due(TimeNs now) const { return dirty_ || now >= next_ns_; }
  [[nodiscard]] TimeNs next_ns() const { return dirty_ ? 0 : next_ns_; }
  void judge(TimeNs now);

  // DCMs for which the last judgement changed one of the values below.
  [[nodiscard]] std::span<const NodeIndex> changed() const { return changed_; }
  [[nodiscard]] bool is_cut_off(NodeIndex dcm) const { return dcms_[dcm.value].cut_off; }
  // Readouts that this DCM marks missing without waiting for its deadline, ascending.
  [[nodiscard]] std::span<const NodeIndex> missing(NodeIndex dcm) const { return dcms_[dcm.value].missing; }
  // Readouts that it cannot reach and others can, ascending.
  [[nodiscard]] std::span<const NodeIndex> lacking(NodeIndex dcm) const { return dcms_[dcm.value].lacking; }
  // Writers that it cannot reach.
  [[nodiscard]] std::span<const NodeIndex> writers_lost(NodeIndex dcm) const {
    return dcms_[dcm.value].writers_lost;
  }
  // True if no DCM has reached it for grace_ns.
  [[nodiscard]] bool is_down(NodeIndex readout) const { return readouts_[readout.value].down; }
  // When the last DCM stopped reaching it, or one reached it again, or its process joined.
  [[nodiscard]] TimeNs changed_at(NodeIndex readout) const { return readouts_[readout.value].changed; }
  // Number of loop iterations over nodes and losses: the cost so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Loss {
    NodeIndex node;
    TimeNs told = 0;   // when the loss, or its end, was first reported
    bool lost = true;  // false: reported as over, and not yet believed
    bool believed = false;
  };
  struct Dcm {
    bool known = false;
    bool takes_part = true;
    bool cut_off = false;
    TimeNs let_go = 0;           // when it stopped being cut off
    std::vector<Loss> readouts;  // sorted by node
    std::vector<Loss> writers;
    std::vector<NodeIndex> missing;
    std::vector<NodeIndex> lacking;
    std::vector<NodeIndex> writers_lost;
    [[nodiscard]] bool counts() const { return known && takes_part; }
  };
  struct Readout {
    bool reached = true;  // by a DCM that counts
    bool down = false;
    TimeNs changed = 0;  // when `reached` changed
    std::size_t losses = 0;
  };

  void begin_anew(std::vector<Loss> Dcm::*losses, NodeIndex node, TimeNs now);
  void merge(std::vector<Loss>& losses, std::span<const NodeIndex> said, TimeNs now);
  void look_at_readouts(TimeNs now);
  void believe(Dcm& dcm, TimeNs now);
  void believe_writers(Dcm& dcm, TimeNs now);
  [[nodiscard]] std::vector<NodeIndex> marked(const Dcm& dcm, bool cut_off, TimeNs now);
  // True if the moment has passed; otherwise schedules a check at that moment.
  [[nodiscard]] bool has_come(TimeNs moment, TimeNs now);

  ReachSettings settings_;
  std::vector<Dcm> dcms_;
  std::vector<Readout> readouts_;
  std::vector<GroupIndex> groups_;
  std::vector<bool> remote_;  // by group
  std::vector<NodeIndex> changed_;
  TimeNs next_ns_ = INT64_MAX;
  TimeNs waits_until_ = INT64_MIN;
  bool dirty_ = false;
  std::vector<NodeIndex> said_;  // scratch: one report, sorted
  std::vector<Loss> merged_;
  std::uint64_t steps_ = 0;
};

}  // namespace weir::assignment
