#pragma once

#include <weir/assignment/run_state.hpp>
#include <weir/assignment/slice_book.hpp>
#include <weir/assignment/words.hpp>
#include <weir/slice_rows/absences.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace weir::assignment {

// The nodes' participation in the run, as ordered by run control, and each readout's absences. Whether a node
// is connected is a separate matter, passed as `live`. Pure; one thread.
class PartTable {
 public:
  PartTable(std::size_t readouts, std::size_t dcms, std::size_t writers);

  // Before the run: the readout is absent until it joins.
  void expect_later(NodeIndex readout);
  // Restores the state of an earlier supervisor process. Ignores nodes that the farm does not have.
  void restore(const FarmShape& shape);

  // Removes a node from the run, a readout from slice `next` on. A live node drains, and is checked from
  // `now` on. Returns true if it took part until now.
  [[nodiscard]] bool remove(NodeRef node, bool live, SliceOrder next, TimeNs now);
  // Returns a node to the run, a live readout from slice `next` on. Returns true if it takes part from now
  // on. A process that was ordered to end does not take part; its successor does.
  [[nodiscard]] bool add(NodeRef node, bool live, SliceOrder next);
  // A process of a readout joined; `next` is the next slice.
  void readout_joined(NodeIndex readout, SliceOrder next);
  // The node's process has left. Returns true if that is not a loss: it was leaving, or had no work. A node
  // that takes part, or still had work, is a loss.
  [[nodiscard]] bool left(NodeRef node);

  // Returns the draining nodes to check; the next check is `look_ns` later.
  [[nodiscard]] std::vector<NodeRef> look(TimeNs now, DurationNs look_ns);
  [[nodiscard]] TimeNs next_look() const { return next_look_; }  // INT64_MAX: no node drains
  // True if a draining node still has to finish this slice.
  [[nodiscard]] bool has_work(NodeRef node, const SliceEntry& entry) const;
  // The node has drained: it may end.
  void let_go(NodeRef node);
  // A process that was ordered to end has reconnected.
  void was_told_to_end(NodeRef node);

  [[nodiscard]] Part of(NodeRef node) const { return parts_[place_of(node.role)][node.node.value]; }
  [[nodiscard]] bool takes_part(Role role, NodeIndex node) const { return of({role, node}) == Part::in; }
  [[nodiscard]] const AbsenceTable& absences() const { return absences_; }
  [[nodiscard]] std::vector<NodeRef> removed()
      const;  // nodes that do not take part, and will not without a command
  // Visits each (NodeRef, Part).
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Role role : kNodeRoles) {
      const std::vector<Part>& parts = parts_[place_of(role)];
      for (std::size_t i = 0; i < parts.size(); ++i)
        visit(NodeRef{role, NodeIndex(static_cast<std::uint16_t>(i))}, parts[i]);
    }
  }
  // Version of removed() and absences().
  [[nodiscard]] std::uint32_t number() const { return number_ + absences_.number(); }
  // For SupervisorMachine::append_state().
  void append_state(TimeNs now, std::vector<std::uint64_t>& out) const;

 private:
  enum class Event : std::uint8_t { removed_live, removed, added, left, let_go, was_told };
  [[nodiscard]] static Part after(Part part, Event event);
  [[nodiscard]] Part& part_of(NodeRef node) { return parts_[place_of(node.role)][node.node.value]; }

  std::array<std::vector<Part>, std::size(kNodeRoles)> parts_;  // the role's index is place_of()
  AbsenceTable absences_;
  std::uint32_t number_ = 0;
  TimeNs next_look_ = INT64_MAX;
};

}  // namespace weir::assignment
