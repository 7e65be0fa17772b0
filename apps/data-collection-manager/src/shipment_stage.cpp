#include "shipment_stage.hpp"

#include "decisions.hpp"
#include "record.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/filter_job/job.hpp>
#include <weir/node/report.hpp>
#include <weir/slice_codec/decide.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace weir::dcm {

using assembly::BuildState;
using assembly::BuiltSlice;
using slice_rows::Answer;

ShipmentStage::ShipmentStage(ShipmentSettings settings, sessions::PeerCounters& counters, Builder& builder,
                             PushAdmission* pushing, SliceSamples& samples, HistogramStage& histograms,
                             SliceRouter& router, const TimeNs& now_ns)
    : settings_(std::move(settings)),
      builder_(builder),
      pushing_(pushing),
      samples_(samples),
      histograms_(histograms),
      router_(router),
      now_ns_(now_ns),
      outlet_(settings_.link.self, settings_.link.limits, counters, settings_.link.reconnect_ns,
              settings_.link.silence_ns, settings_.writers, builder.slices,
              static_cast<OutletEvents&>(*this)) {}

void ShipmentStage::confirm(std::span<const slice_rows::Confirmation> rows) {
  release_unreferenced();  // no acknowledgement of these is expected
  std::vector<slice_rows::AttemptDecision> forgotten;
  for (const slice_rows::Confirmation& row : rows) {
    BuiltSlice* slice = builder_.slices.find(row.slice, row.attempt);
    if (slice != nullptr && slice->state() == BuildState::given_up) slice = nullptr;
    // Its writer acknowledged it to this DCM and died before it reported to the supervisor: the slice has to
    // be rebuilt.
    if (slice == nullptr && row.answer == Answer::store) {
      forgotten.push_back(failed(row.slice, row.attempt, slice_rows::DiscardReason::lost));
      continue;
    }
    // A confirmation of something that was not reported from here is stale.
    if (slice == nullptr || !assembly::is_reported(slice->state())) continue;
    if (slice->state() == BuildState::kept) {
      const bool held = planted(Planted::hold_kept) && row.slice.value % 8 == 6;
      if (row.answer != Answer::keep && row.answer != Answer::store && !held) give_up(*slice);
      continue;
    }
    // The farm file has no such writer: the slice cannot be stored as confirmed, and is built anew.
    if (row.answer == Answer::store && row.writer.value >= outlet_.writers()) {
      spdlog::debug("confirmation names an unknown writer slice={} writer={}", row.slice.value,
                    row.writer.value);
      ++counts_.refused;
      forgotten.push_back(failed(row.slice, row.attempt, slice_rows::DiscardReason::lost));
      give_up(*slice);
      continue;
    }
    confirm_one(*slice, row);
  }
  if (!forgotten.empty()) tell(forgotten);
}

void ShipmentStage::confirm_one(BuiltSlice& slice, const slice_rows::Confirmation& row) {
  switch (row.answer) {
    case Answer::store:
      return ship(slice, row.epoch, row.writer);
    case Answer::keep:
      if (slice.decision.kept && slice.state() == BuildState::reported) keep(slice);
      return;
    case Answer::settled:
      // The next attempt of a forwarded slice may have the fragments that are missing in this one.
      slice.counts = !slice.decision.forwarded;
      if (slice.decision.forwarded) {
        counts_.forwarded.add(slice.id());
      } else if (slice.decision.accepted || !slice.decision.failure.empty()) {
        counts_.discarded.add(slice.id());
      } else {
        counts_.rejected.add(slice.id());
      }
      if (slice.decision.failure.empty()) histograms_.settle(slice);
      return give_up(slice);
    default:
      ++counts_.refused;
      return give_up(slice);
  }
}

void ShipmentStage::tell(std::span<const slice_rows::AttemptDecision> failures) {
  v1::Control message;
  for (const slice_rows::AttemptDecision& failure : failures)
    slice_codec::append(failure, *message.mutable_decide());
  router_.tell_supervisor(message);
}

void ShipmentStage::keep(BuiltSlice& slice) {
  counts_.forwarded.add(slice.id());
  ++counts_.kept;
  histograms_.settle(slice);
  builder_.slices.change(slice, BuildState::kept);
}

bool ShipmentStage::drop_kept() {
  BuiltSlice* const oldest = builder_.slices.find_in(
      BuildState::kept, [](const BuiltSlice& slice) { return !slice.memory.is_shared(); });
  if (oldest == nullptr) return false;
  ++counts_.kept_dropped;
  give_up(*oldest);
  return true;
}

void ShipmentStage::ship(BuiltSlice& slice, StoreEpoch epoch, NodeIndex writer) {
  if (slice.state() == BuildState::reported) samples_.accepted(slice, epoch, now_ns_);
  Record record = make_record(slice, epoch, settings_.record);
  assembly::Shipment& shipment = slice.shipment;
  shipment.epoch = epoch;
  shipment.writer = writer;
  shipment.meta = std::move(record.meta);
  shipment.payloads = std::move(record.payloads);
  shipment.bytes = record.bytes;
  shipment.number = 0;
  shipment.sent_before = false;
  builder_.slices.change(slice, BuildState::storing);
  if (planted(Planted::release_early)) slice.memory.release(builder_.pool);
  outlet_.ship(slice);
}

void ShipmentStage::on_stored(BuiltSlice& slice) {
  counts_.stored.add(slice.id());
  histograms_.settle(slice);
  slice.counts = true;
  builder_.slices.change(slice, BuildState::stored);
}

// The fragments may be sound nevertheless: the supervisor has the slice rebuilt a limited number of times.
void ShipmentStage::on_refused(BuiltSlice& slice, storage::StoreResult reason) {
  spdlog::debug("record refused by its writer slice={} attempt={} reason={}", slice.id().value,
                slice.attempt().value, storage::name(reason));
  if (slice.shipment.sent_before) {
    // Its first record may be on disk, and the slice settled: then alerts ask this DCM for it.
    ++counts_.unheard;
    if (!slice.counts) keep_for_alerts(slice);
  }
  const auto refused = failed(slice.id(), slice.attempt(), slice_rows::DiscardReason::writer_refused);
  give_up(slice);
  tell({&refused, 1});
}

// A connection may refer to the memory of a slice on its way to a writer.
void ShipmentStage::give_up(BuiltSlice& slice) {
  const bool is_sent = slice.state() == BuildState::storing || slice.state() == BuildState::stored ||
                       (slice.state() == BuildState::kept && slice.memory.is_shared());
  if (!is_sent) return release(slice);
  Outlet::drop(slice);
  builder_.slices.change(slice, BuildState::given_up);
}

void ShipmentStage::release_unreferenced() {
  const auto release_if = [this](BuiltSlice& slice) {
    if (!slice.memory.is_shared()) release(slice);
  };
  builder_.slices.for_each_in(BuildState::stored, release_if);
  builder_.slices.for_each_in(BuildState::given_up, release_if);
}

void ShipmentStage::end_run() {
  counts_.kept_at_end = builder_.slices.in(BuildState::kept).size();
  give_up_all(false);
}

void ShipmentStage::give_up_all(bool stored_too) {
  const auto forget = [this](BuiltSlice& slice) { builder_.slices.change(slice, BuildState::spare); };
  builder_.slices.for_each_in(BuildState::assigned, forget);
  builder_.slices.for_each_in(BuildState::blocked, forget);
  std::vector<BuiltSlice*> open;
  builder_.slices.for_each_open([&](BuiltSlice& slice) { open.push_back(&slice); });
  for (BuiltSlice* slice : open) {
    switch (slice->state()) {
      case BuildState::filtering:  // released when its processing unit has done with it
        builder_.collector.end_ahead(*slice);
        builder_.slices.change(*slice, BuildState::abandoned);
        break;
      case BuildState::abandoned:
      case BuildState::given_up:
        break;
      case BuildState::storing:
      case BuildState::stored:
        if (!stored_too) break;
        [[fallthrough]];
      default:
        // The supervisor may have settled it already, and then alerts ask this DCM for it.
        if (assembly::is_reported(slice->state()) && !slice->counts) keep_for_alerts(*slice);
        give_up(*slice);
    }
  }
}

void ShipmentStage::keep_for_alerts(const BuiltSlice& slice) {
  const assembly::SliceDecision& decision = slice.decision;
  if (burst_ != nullptr && !decision.forwarded && decision.failure.empty()) burst_->keep(slice);
}

void ShipmentStage::release(BuiltSlice& slice) {
  WEIR_ASSERT(!slice.memory.is_shared() && !slice.is_in_line());
  if (slice.counts) keep_for_alerts(slice);
  destroy_filter_state(slice);
  histograms_.drop(slice);
  if (slice.pushed) pushing_->leaves(slice);
  if (slice.result != nullptr) {
    if (assembly::is_reported(slice.state()) && !slice.decision.forwarded)
      counts_.output_events += slice.result->events.size();
    router_.give_back(*std::exchange(slice.result, nullptr));
  }
  builder_.collector.forget(slice);
  builder_.assembler.release(slice);
}

void ShipmentStage::add_to(v1::Report& report, bool final) const {
  reports::ReportCounters counters(report);
  counters["dcm.output_events"] = counts_.output_events;
  counters["dcm.refused"] = counts_.refused;
  for (std::size_t i = 0; i < storage::kStoreResults; ++i) {
    const std::string_view reason = storage::name(static_cast<storage::StoreResult>(i));
    if (outlet_.refused()[i] > 0) counters.of("dcm.records_refused.", reason) = outlet_.refused()[i];
  }
  const auto& given_up = builder_.slices.in(BuildState::given_up);
  const auto accepted = std::count_if(given_up.begin(), given_up.end(),
                                      [](const BuiltSlice& slice) { return slice.decision.accepted; });
  const std::size_t unheard =
      builder_.slices.in(BuildState::storing).size() + static_cast<std::size_t>(accepted) + counts_.unheard;
  if (final && unheard > 0) counters["dcm.unheard"] = unheard;
  reports::Gauges gauges(report);
  if (counts_.kept > 0) {
    counters["fetch.kept"] = counts_.kept;
    counters["fetch.kept_dropped"] = counts_.kept_dropped;
    if (final) counters["fetch.kept_at_end"] = counts_.kept_at_end;
    gauges["kept_slices"] = static_cast<double>(builder_.slices.in(BuildState::kept).size());
  }
  gauges["shipments_waiting"] = static_cast<double>(builder_.slices.in(BuildState::storing).size());
  reports::add_sum(report, "rejected", counts_.rejected);
  reports::add_sum(report, "stored", counts_.stored);
  reports::add_sum(report, "discarded", counts_.discarded);
  reports::add_sum(report, "forwarded", counts_.forwarded);
}

}  // namespace weir::dcm
