#include "slice_admission.hpp"

#include "decisions.hpp"
#include <weir/base/assert.hpp>
#include <weir/slice_codec/decide.hpp>

#include <utility>

namespace weir::dcm {

using assembly::BuildState;
using assembly::BuiltSlice;

SliceAdmission::SliceAdmission(const std::vector<TypeSources>& types, Builder& builder,
                               PushAdmission* pushing, SliceRouter& router)
    : builder_(builder), pushing_(pushing), router_(router) {
  for (const TypeSources& one : types) of_type_.emplace(one.type, builder_.collector.select(one.sources));
}

void SliceAdmission::assign(std::vector<assembly::AssignedSlice> assigned) {
  assigned_ += assigned.size();
  for (assembly::AssignedSlice& one : assigned) builder_.slices.assign(std::move(one));
}

void SliceAdmission::open_assigned(TimeNs now_ns) {
  builder_.slices.for_each_in(BuildState::blocked, [&](BuiltSlice& slice) {
    if (!builder_.assembler.full() && !builder_.slices.is_open(slice.id())) open(slice, now_ns);
  });
  while (BuiltSlice* next = next_assigned()) {
    if (builder_.assembler.full()) return;
    next->first = first_of(*next);
    if (pushing_ != nullptr) {
      if (pushing_->bind(*next, now_ns) != nullptr) continue;
      pushing_->drop_unbound(next->id());
    }
    if (builder_.slices.is_open(next->id())) {
      // An earlier attempt is still in the filter, or on its way to a writer. The lease continues.
      block(*next);
    } else {
      open(*next, now_ns);
    }
  }
}

BuiltSlice* SliceAdmission::next_assigned() {
  if (pushing_ != nullptr || !builder_.assembler.has_many_sources())
    return builder_.slices.first_in(BuildState::assigned);
  BuiltSlice* next = nullptr;
  builder_.slices.for_each_in(BuildState::assigned, [&](BuiltSlice& slice) {
    if (next == nullptr || is_older(slice, *next)) next = &slice;
  });
  if (next == nullptr) return nullptr;
  // The collector must see the oldest slice: readouts may have no room until it is cleared.
  const auto goes_first = [next](const BuiltSlice& slice) { return is_older(slice, *next); };
  const bool has_turn = builder_.slices.find_in(BuildState::waiting_for_memory, goes_first) == nullptr;
  return has_turn ? next : nullptr;
}

// Of two waiting attempts the later one counts. The earlier one's credit returns only with its decision.
void SliceAdmission::block(BuiltSlice& slice) {
  BuiltSlice* const earlier = builder_.slices.find_in(
      BuildState::blocked, [&](const BuiltSlice& one) { return one.id() == slice.id(); });
  builder_.slices.change(slice, BuildState::blocked);
  if (earlier == nullptr) return;
  v1::Control message;
  slice_codec::append(failed(earlier->id(), earlier->attempt(), slice_rows::DiscardReason::lost),
                      *message.mutable_decide());
  builder_.slices.change(*earlier, BuildState::spare);
  router_.tell_supervisor(message);
}

void SliceAdmission::open(BuiltSlice& slice, TimeNs now_ns) {
  const auto opened = builder_.assembler.open(slice, now_ns);
  WEIR_ASSERT(opened.has_value());
  if (pushing_ != nullptr && pushing_->comes_here(slice.id(), slice.attempt()))
    return pushing_->open_assigned(slice, now_ns);
  slice.fetched = fetches_ && slice.assignment.is_kept;
  builder_.collector.collect(slice, fetches_ ? builder_.collector.everything() : slice.first);
}

std::shared_ptr<const assembly::Selection> SliceAdmission::first_of(const BuiltSlice& slice) const {
  if (slice.assignment.unfiltered) return builder_.collector.everything();  // no step will request the rest
  if (!of_type_.empty()) {
    const auto own = of_type_.find(slice.assignment.type.value);
    if (own != of_type_.end()) return own->second;
  }
  return first_ ? first_ : builder_.collector.everything();
}

std::size_t SliceAdmission::in_flight() const {
  return builder_.slices.open_count() + builder_.slices.in(BuildState::assigned).size() +
         builder_.slices.in(BuildState::blocked).size();
}

}  // namespace weir::dcm
