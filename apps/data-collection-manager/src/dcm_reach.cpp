// Who this DCM reaches: it tells the supervisor, and does what the farm makes of it.
#include "dcm_node.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::dcm {
namespace {

constexpr DurationNs kLookEvery = 10 * kMillisecond;
constexpr DurationNs kConnectPatience = 2 * kSecond;  // at the run's begin

bool same(const google::protobuf::RepeatedField<std::uint32_t>& said,
          const google::protobuf::RepeatedField<std::uint32_t>& told) {
  return std::equal(said.begin(), said.end(), told.begin(), told.end());
}

}  // namespace

void DcmNode::look_at_reach() {
  if (now_ns_ - reach_looked_ns_ < kLookEvery) return;
  reach_looked_ns_ = now_ns_;
  v1::Control message;
  v1::Reach& reach = *message.mutable_reach();
  for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
    Readout& readout = readouts_[i];
    const bool ready = readout.link && readout.link->ready();
    const std::uint64_t bytes = ready ? readout.link->peer().stream().counters().bytes_received : 0;
    if (readout.pulse.look(ready, bytes, now_ns_)) readout.link->peer().ask_if_alive();
    log_if_due(readout.loss, ending_, false, now_ns_);
    collector_->set_lost(i, readout.pulse.is_lost());
    if (readout.pulse.is_lost() && collector_->serves(i)) reach.add_readouts(i);
  }
  outlet_->look(now_ns_, ending_, [&](std::uint32_t writer) { reach.add_writers(writer); });
  tell_reach(message);
  drop_silent_readouts();
}

// What is lost at the run's begin may be connecting.
void DcmNode::tell_reach(const v1::Control& message) {
  if (!run_begun_ || ending_ || !supervisor_.ready()) return;
  const v1::Reach& reach = message.reach();
  const DurationNs patience_ns = std::min(setup_.farm.dcm().grace_ms() * kMillisecond, kConnectPatience);
  if (!reach_told_ && reach.readouts_size() > 0 && now_ns_ - joined_ns_ < patience_ns) return;
  const v1::Reach& told = told_reach_.reach();
  if (reach_told_ && same(reach.readouts(), told.readouts()) && same(reach.writers(), told.writers())) return;
  reach_told_ = true;
  told_reach_ = message;
  supervisor_.send(message);
}

Expected<void, wire::WireError> DcmNode::take_verdict(const v1::ReachVerdict& verdict) {
  std::vector<bool> missing(readouts_.size());
  for (const std::uint32_t readout : verdict.missing()) {
    if (readout >= missing.size()) return Unexpected<wire::WireError>(wire::WireError::bad_payload);
    missing[readout] = true;
  }
  if (verdict.cut_off() != cut_off_) {
    spdlog::log(verdict.cut_off() ? spdlog::level::warn : spdlog::level::info,
                verdict.cut_off() ? "cut off from readouts that others reach: gives back what it cannot build"
                                  : "reaches what others reach again");
  }
  cut_off_ = verdict.cut_off();
  collector_->set_verdict(std::move(missing), cut_off_);
  return {};
}

void DcmNode::hand_back_stranded() {
  for (assembly::BuiltSlice* slice : collector_->take_stranded()) {
    // One that is not assigned has nobody to be given back to.
    if (slice->awaits_assignment) continue;
    collector_->forget(*slice);
    ++counts_.handed_back;
    decide(*slice, assembly::Decision::fail("unreachable"));
  }
}

// A readout that is stopped, or whose host is gone, breaks no connection, and holds all that it was asked
// for.
void DcmNode::drop_silent_readouts() {
  const DurationNs patience_ns =
      (setup_.farm.dcm().deadline_ms() + setup_.farm.dcm().grace_ms()) * kMillisecond;
  for (Readout& readout : readouts_) {
    if (!readout.pulse.is_lost() || !readout.link || !readout.link->ready()) continue;
    if (now_ns_ - readout.pulse.lost_since_ns() > patience_ns) readout.link->peer().drop("silent");
  }
}

}  // namespace weir::dcm
