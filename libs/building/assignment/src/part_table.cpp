#include <weir/assignment/part_table.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::assignment {

PartTable::PartTable(std::size_t readouts, std::size_t dcms, std::size_t writers) {
  parts_[place_of(Role::readout)].resize(readouts);
  parts_[place_of(Role::dcm)].resize(dcms);
  parts_[place_of(Role::writer)].resize(writers);
}

Part PartTable::after(Part part, Event event) {
  using enum Part;
  constexpr std::size_t kEvents = 6;
  // clang-format off
  constexpr Part kAfter[kParts][kEvents] = {
      //              removed_live  removed  added      left  let_go     was_told
      /* in */       {draining,     out,     in,        in,   in,        returning},
      /* draining */ {draining,     out,     in,        out,  leaving,   leaving},
      /* leaving */  {leaving,      out,     returning, out,  leaving,   leaving},
      /* returning */{leaving,      out,     returning, in,   returning, returning},
      /* out */      {draining,     out,     in,        out,  out,       leaving}};
  // clang-format on
  return kAfter[static_cast<std::size_t>(part)][static_cast<std::size_t>(event)];
}

void PartTable::expect_later(NodeIndex readout) {
  if (!absences_.is_out(readout)) absences_.leave(readout, SliceOrder(0));
}

void PartTable::restore(const FarmShape& shape) {
  for (const NodeRef& node : shape.removed) {
    if (node.node.value < parts_[place_of(node.role)].size()) part_of(node) = Part::out;
  }
  (void)absences_.replace(shape.absences);
}

bool PartTable::remove(NodeRef node, bool live, SliceOrder next, TimeNs now) {
  Part& part = part_of(node);
  const Part before = part;
  WEIR_ASSERT(live || before == Part::in || before == Part::out);  // a node that died has left
  part = after(before, live ? Event::removed_live : Event::removed);
  if (before == part && part != Part::out) return false;
  ++number_;
  if (part == Part::draining) next_look_ = now;
  if (before != Part::in) return false;
  if (node.role == Role::readout && !absences_.is_out(node.node)) absences_.leave(node.node, next);
  return true;
}

bool PartTable::add(NodeRef node, bool live, SliceOrder next) {
  Part& part = part_of(node);
  const Part before = part;
  part = after(before, Event::added);
  if (before == part) return false;
  ++number_;
  if (part != Part::in) return false;
  if (node.role == Role::readout && live) absences_.join(node.node, next);
  return true;
}

void PartTable::readout_joined(NodeIndex readout, SliceOrder next) {
  if (takes_part(Role::readout, readout)) absences_.join(readout, next);
}

bool PartTable::left(NodeRef node) {
  Part& part = part_of(node);
  const bool is_loss = part == Part::in || part == Part::draining;
  part = after(part, Event::left);
  return !is_loss;
}

std::vector<NodeRef> PartTable::look(TimeNs now, DurationNs look_ns) {
  std::vector<NodeRef> draining;
  for_each([&](NodeRef node, Part part) {
    if (part == Part::draining) draining.push_back(node);
  });
  next_look_ = draining.empty() ? INT64_MAX : now + look_ns;
  return draining;
}

bool PartTable::has_work(NodeRef node, const SliceEntry& entry) const {
  switch (node.role) {
    case Role::readout:
      return !absences_.covers(node.node, entry.order);
    case Role::dcm:
      return entry.dcm == node.node;
    case Role::writer:
      return entry.state == SliceState::confirmed && entry.writer == node.node;
    default:
      break;
  }
  return false;
}

void PartTable::let_go(NodeRef node) {
  Part& part = part_of(node);
  WEIR_ASSERT(part == Part::draining);
  part = after(part, Event::let_go);
}

void PartTable::was_told_to_end(NodeRef node) {
  Part& part = part_of(node);
  WEIR_ASSERT(part == Part::in || part == Part::out);  // no process of it is there
  part = after(part, Event::was_told);
}

std::vector<NodeRef> PartTable::removed() const {
  std::vector<NodeRef> nodes;
  for_each([&](NodeRef node, Part part) {
    if (part != Part::in && part != Part::returning) nodes.push_back(node);
  });
  return nodes;
}

void PartTable::append_state(TimeNs now, std::vector<std::uint64_t>& out) const {
  for_each([&](NodeRef, Part part) { out.push_back(static_cast<std::uint64_t>(part)); });
  const std::vector<AbsenceRange> ranges = absences_.ranges();
  out.push_back(ranges.size());
  for (const AbsenceRange& range : ranges)
    out.insert(out.end(), {range.readout.value, range.from.value, range.until.value});
  out.push_back(
      next_look_ == INT64_MAX ? 0 : 1U + static_cast<std::uint64_t>(std::max<TimeNs>(0, next_look_ - now)));
}

}  // namespace weir::assignment
