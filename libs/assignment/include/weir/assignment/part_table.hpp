#pragma once

#include <weir/assignment/absences.hpp>
#include <weir/assignment/run_state.hpp>
#include <weir/assignment/slice_book.hpp>
#include <weir/assignment/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace weir::assignment {

// Which nodes take part in the run, as run control wants it, and which slices each readout has a part in.
// Whether a node is there is another matter: the caller says that (`live`). Pure; one thread.
class PartTable {
 public:
  PartTable(std::size_t readouts, std::size_t dcms, std::size_t writers);

  // Before the run: its slices are without this readout until it joins.
  void expect_later(NodeIndex readout);
  // As another process of the supervisor left it. Nodes that the farm does not have are passed over.
  void restore(const FarmShape& shape);

  // Takes a node out, a readout from slice `next` on. One that is live drains, and is looked at from `now`
  // on. True: it took part until now.
  [[nodiscard]] bool remove(NodeRef node, bool live, SliceOrder next, TimeNs now);
  // True: it takes part again from here on, a live readout from slice `next` on. One that was told to end
  // does not: its next process will.
  [[nodiscard]] bool add(NodeRef node, bool live, SliceOrder next);
  // A process of a readout is there, with slice `next` to come.
  void readout_joined(NodeIndex readout, SliceOrder next);
  // Its process is gone. True: in peace, for it was to go, or it had nothing. One that takes part, or still
  // had to finish, is a loss.
  [[nodiscard]] bool left(NodeRef node);

  // Those that drain, to be looked at; the next look is `look_ns` later.
  [[nodiscard]] std::vector<NodeRef> look(TimeNs now, DurationNs look_ns);
  [[nodiscard]] TimeNs next_look() const { return next_look_; }  // INT64_MAX: no node drains
  // A node that drains has this slice to finish.
  [[nodiscard]] bool has_work(NodeRef node, const SliceEntry& entry) const;
  // It drained and has nothing left: it is told to end.
  void let_go(NodeRef node);
  // A process of it that was told to end comes back, for its connection broke.
  void was_told_to_end(NodeRef node);

  [[nodiscard]] Part of(NodeRef node) const { return parts_[place_of(node.role)][node.node.value]; }
  [[nodiscard]] bool takes_part(Role role, NodeIndex node) const { return of({role, node}) == Part::in; }
  [[nodiscard]] const AbsenceTable& absences() const { return absences_; }
  [[nodiscard]] std::vector<NodeRef> removed() const;  // those that take no part, and will not by themselves
  // Visits each (NodeRef, Part).
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Role role : kNodeRoles) {
      const std::vector<Part>& parts = parts_[place_of(role)];
      for (std::size_t i = 0; i < parts.size(); ++i)
        visit(NodeRef{role, NodeIndex(static_cast<std::uint16_t>(i))}, parts[i]);
    }
  }
  // Changes with removed() and absences().
  [[nodiscard]] std::uint32_t number() const { return number_ + absences_.number(); }
  // SupervisorMachine::append_state()
  void append_state(TimeNs now, std::vector<std::uint64_t>& out) const;

 private:
  enum class Event : std::uint8_t { removed_live, removed, added, left, let_go, was_told };
  [[nodiscard]] static Part after(Part part, Event event);
  [[nodiscard]] Part& part_of(NodeRef node) { return parts_[place_of(node.role)][node.node.value]; }

  std::array<std::vector<Part>, std::size(kNodeRoles)> parts_;  // by place_of() the role
  AbsenceTable absences_;
  std::uint32_t number_ = 0;
  TimeNs next_look_ = INT64_MAX;
};

}  // namespace weir::assignment
