// How a slice leaves: confirmed, shipped, stored, given up, released.
#include "dcm_node.hpp"
#include <weir/assignment/types.hpp>
#include <weir/base/planted.hpp>

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;
using assembly::SliceState;

}  // namespace

void DcmNode::confirm(BuiltSlice& slice, v1::Confirmation code, StoreEpoch epoch, NodeIndex writer) {
  switch (code) {
    case v1::CONFIRMATION_STORE:
      return ship(slice, epoch, writer);
    case v1::CONFIRMATION_SETTLED:
      if (slice.decision.accepted || !slice.decision.failure.empty()) {
        counts_.discarded.add(slice.id());
      } else {
        counts_.rejected.add(slice.id());
      }
      return give_up(slice);
    default:
      ++counts_.refused;
      return give_up(slice);
  }
}

void DcmNode::ship(BuiltSlice& slice, StoreEpoch epoch, NodeIndex writer) {
  if (slice.state() == SliceState::reported && !sampler_.is_empty()) sample_accepted(slice, epoch);
  Record record = make_record(slice, epoch, {setup_.run, setup_.self.index, setup_.farm.run().checksums()});
  assembly::Shipment& shipment = slice.shipment;
  shipment.epoch = epoch;
  shipment.writer = writer;
  shipment.meta = std::move(record.meta);
  shipment.payloads = std::move(record.payloads);
  shipment.bytes = record.bytes;
  shipment.number = 0;
  slices_.change(slice, SliceState::storing);
  if (planted(Planted::release_early)) slice.memory.release(pool_);
  outlet_->ship(slice);
}

void DcmNode::on_stored(BuiltSlice& slice) {
  counts_.stored.add(slice.id());
  slices_.change(slice, SliceState::stored);
}

// What it was built of may be sound all the same: the supervisor has it built again, as often as makes sense.
void DcmNode::on_refused(BuiltSlice& slice, storage::StoreResult reason) {
  spdlog::debug("record refused by its writer slice={} attempt={} reason={}", slice.id().value,
                slice.attempt().value, storage::name(reason));
  give_up(slice);
  if (!supervisor_.ready()) return;  // it has all slices of this DCM built anew
  v1::Control message;
  v1::Decide& decide = *message.mutable_decide();
  decide.add_slice(slice.id().value);
  decide.add_attempt(slice.attempt().value);
  decide.add_verdict(v1::VERDICT_FAILED);
  decide.add_failures()->set_reason(std::string(assignment::name(assignment::DiscardReason::writer_refused)));
  supervisor_.send(message);
}

// A connection may refer to the memory of what was on its way to a writer.
void DcmNode::give_up(BuiltSlice& slice) {
  if (slice.state() != SliceState::storing && slice.state() != SliceState::stored) return release(slice);
  Outlet::drop(slice);
  slices_.change(slice, SliceState::given_up);
}

// Each pass looks; connections do not call back, for they may let go of memory in the middle of anything.
void DcmNode::release_unreferenced() {
  const auto release_if = [this](BuiltSlice& slice) {
    if (!slice.memory.is_shared()) release(slice);
  };
  slices_.for_each_in(SliceState::stored, release_if);
  slices_.for_each_in(SliceState::given_up, release_if);
}

void DcmNode::abandon_all(bool stored_too) {
  const auto forget = [this](BuiltSlice& slice) { slices_.change(slice, SliceState::spare); };
  slices_.for_each_in(SliceState::assigned, forget);
  slices_.for_each_in(SliceState::blocked, forget);
  isolation_.clear();
  long_in_filter_.clear();
  std::vector<BuiltSlice*> open;
  slices_.for_each_open([&](BuiltSlice& slice) { open.push_back(&slice); });
  for (BuiltSlice* slice : open) {
    switch (slice->state()) {
      case SliceState::filtering:  // released when its processing unit has done with it
        slices_.change(*slice, SliceState::abandoned);
        break;
      case SliceState::abandoned:
      case SliceState::given_up:
        break;
      case SliceState::storing:
      case SliceState::stored:
        if (stored_too) give_up(*slice);
        break;
      default:
        give_up(*slice);
    }
  }
}

void DcmNode::destroy_state(BuiltSlice& slice) {
  weir_filter_state& state = slice.filter_state;
  if (state.data != nullptr && state.destroy != nullptr) state.destroy(state.data);
  state = {};
}

void DcmNode::release(BuiltSlice& slice) {
  destroy_state(slice);
  if (slice.pushed) {
    pushing_->window.left(slice.id());
    pushing_->unbound -= slice.awaits_assignment ? 1 : 0;
  }
  if (slice.result != nullptr) {
    if (assembly::is_reported(slice.state())) counts_.output_events += slice.result->events.size();
    filter_host::FilterResult* const held[] = {std::exchange(slice.result, nullptr)};
    units_->recycle(held);
  }
  collector_->forget(slice);
  assembler_->release(slice);
}

std::string DcmNode::broken_invariant() {
  if (std::string broken = slices_.broken_invariant(); !broken.empty()) return broken;
  if (!assembler_->is_empty()) return {};
  if (pool_.bytes_used() > 0) return "memory is in use and no slice is open";
  if (slices_.accepted_bytes() > 0) return "bytes wait for a writer and no slice is open";
  return {};
}

}  // namespace weir::dcm
