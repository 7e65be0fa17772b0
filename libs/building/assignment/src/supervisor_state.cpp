// The machine's state for tests and searches: everything that determines its behaviour, and its invariants.
#include <weir/assignment/supervisor_machine.hpp>

#include <algorithm>

namespace weir::assignment {
namespace {

using Row = std::vector<std::uint64_t>;

std::uint64_t number(NodeIndex node) { return node.value; }
std::uint64_t number(const Lease& lease) { return lease.slice.value << 16U | lease.attempt.value; }

void append(Row& out, std::initializer_list<std::uint64_t> numbers) {
  out.insert(out.end(), numbers.begin(), numbers.end());
}

// A settled slice is only known by the copy that counts.
void append_entry(const SliceEntry& entry, std::uint64_t age, Row& out) {
  append(out,
         {entry.slice.value, static_cast<std::uint64_t>(entry.state), entry.attempt.value, entry.epoch.value,
          number(entry.writer), entry.live() ? 0 : 1U + static_cast<std::uint64_t>(entry.outcome)});
  if (!entry.live()) return;
  append(out, {entry.order.value, age, number(entry.dcm), entry.copy_attempt.value, number(entry.copy_writer),
               entry.confirmations, entry.kills, entry.losses, entry.incomplete ? 1U : 0U,
               entry.suspect ? 1U : 0U, entry.held ? 1U : 0U, entry.copy_incomplete ? 1U : 0U, entry.refusals,
               entry.group.value, entry.arrived ? 1U : 0U, number(entry.kept_by), entry.kept_attempt.value});
}

}  // namespace

void SupervisorMachine::append_state(TimeNs now, std::vector<std::uint64_t>& out) const {
  std::vector<const SliceEntry*> entries;
  book_.for_each_known([&](const SliceEntry& entry) { entries.push_back(&entry); });
  std::sort(entries.begin(), entries.end(),
            [](const SliceEntry* a, const SliceEntry* b) { return a->slice < b->slice; });
  append(out, {ids_.next().value, entries.size()});
  for (const IdInterval& interval : ids_.given().intervals())
    append(out, {interval.first.value, interval.last.value});
  out.push_back(next_order().value);
  for (const SliceEntry* entry : entries) {
    append_entry(*entry, static_cast<std::uint64_t>(leases_.age(*entry, dcms_, now)), out);
  }
  leases_.append_state(now, out);

  for (std::size_t i = 0; i < settings_.dcms; ++i) {
    const NodeIndex dcm(static_cast<std::uint16_t>(i));
    const DcmView& view = dcms_.views()[i];
    append(out, {view.live ? 1U : 0U, view.credits, view.credits_free});
    // redeem() looks for one of them: their order does not matter.
    Row revoked;
    for (const Lease& lease : dcms_.revoked_leases(dcm)) {
      revoked.push_back(number(lease));
    }
    std::sort(revoked.begin(), revoked.end());
    out.push_back(revoked.size());
    out.insert(out.end(), revoked.begin(), revoked.end());
    const FilterNote& in_filter = dcms_.in_filter(dcm);
    append(out, {in_filter.suspect ? 1 + number(*in_filter.suspect) : 0, in_filter.beside.size(),
                 in_filter.for_long.size()});
    for (const Lease& lease : in_filter.beside) out.push_back(number(lease));
    for (const Lease& lease : in_filter.for_long) {
      const DurationNs age =
          std::min(now - *dcms_.noted_at(dcm, lease), leases_.lease_ns(groups_.of(dcm)) / 2);
      append(out, {number(lease), static_cast<std::uint64_t>(age)});
    }
  }
  for (std::size_t i = 0; i < settings_.writers; ++i) {
    out.push_back(writers().live(NodeIndex(static_cast<std::uint16_t>(i))) ? 1U : 0U);
  }
  out.push_back(writers().last());
  pressure_.append_state(now, out);
  clock_.append_state(now, out);
  groups_.append_state(out);
  parts_.append_state(now, out);
  confirmations_.given_up().append_state(out);
}

std::string_view SupervisorMachine::broken_invariant() {
  std::vector<std::uint32_t> assigned(settings_.dcms, 0);
  std::size_t live = 0;
  std::vector<std::size_t> pending(groups_.size(), 0);
  std::string_view broken;
  book_.for_each_live([&](const SliceEntry& entry) {
    ++live;
    switch (entry.state) {
      case SliceState::pending:
        ++pending[entry.group.value];
        break;
      case SliceState::assigned:
        ++assigned[entry.dcm.value];
        if (groups_.of(entry.dcm) != entry.group) broken = "a slice is with a DCM of another group";
        [[fallthrough]];
      case SliceState::waiting_writer:
        if (!dcms_.live(entry.dcm)) broken = "a slice is with a DCM that is not there";
        break;
      case SliceState::confirmed:
        if (!dcms_.live(entry.dcm)) broken = "a slice is with a DCM that is not there";
        if (!writers().live(entry.writer)) broken = "a slice is confirmed to a writer that is not there";
        break;
      case SliceState::empty:
      case SliceState::settled:
        break;
    }
  });
  if (!broken.empty()) return broken;
  if (live != book_.live()) return "the number of unsettled slices is wrong";
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (pending[i] != groups_[GroupIndex(static_cast<std::uint8_t>(i))].waiting.pending())
      return "the list of pending slices does not match the slices";
  }
  std::uint64_t credits_free = 0;
  for (std::size_t i = 0; i < settings_.dcms; ++i) {
    const NodeIndex dcm(static_cast<std::uint16_t>(i));
    const DcmView& view = dcms_.views()[i];
    credits_free += view.credits_free;
    if (view.live && view.closed == takes_slices(dcm)) return "a DCM's hold does not agree with its reach";
    if (dcms_.assigned(dcm) != assigned[i]) return "a DCM's count of leases does not match the slices";
    if (view.live &&
        view.credits != view.credits_free + dcms_.kept(dcm) + dcms_.assigned(dcm) + dcms_.revoked(dcm)) {
      return "credits are not conserved";
    }
  }
  if (credits_free != dcms_.credits_free()) return "the sum of free credits is wrong";
  SliceSum sum = ledger_.stored;
  sum += ledger_.rejected;
  sum += ledger_.discarded_total();
  if (sum.count + live != ledger_.triggered.count) return "slices are not conserved";
  if (live == 0 && !(sum == ledger_.triggered)) return "a slice was settled twice, and another never";
  if (ledger_.offered != ledger_.triggered.count + ledger_.vetoed_total())
    return "triggers are not conserved";
  if (live > std::max<std::size_t>(settings_.in_flight_max, resumed_with_))
    return "more slices are in flight than may be";
  return broken_parts();
}

std::string_view SupervisorMachine::broken_parts() {
  std::string_view broken;
  parts_.for_each([&](NodeRef node, Part part) {
    // A readout that died while it drained had work to the last.
    const bool gone = part == Part::out && node.role != Role::readout;
    if (part != Part::leaving && part != Part::returning && !gone) return;
    book_.for_each_live([&](const SliceEntry& entry) {
      if (parts_.has_work(node, entry)) broken = "a node that was let go has a slice";
    });
    if (node.role == Role::dcm && dcms_.views()[node.node.value].credits_free > 0)
      broken = "a DCM that was let go has credits";
  });
  return broken;
}

}  // namespace weir::assignment
