#include "slice_fetcher.hpp"

#include <weir/base/assert.hpp>
#include <weir/node/refused.hpp>
#include <weir/node/report.hpp>
#include <weir/slice_codec/fetch.hpp>
#include <weir/wire/frame.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

namespace weir::dcm {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::FragmentProgress;

SliceFetcher::SliceFetcher(const SliceFetcherSettings& settings, std::unique_ptr<shaping::Shaper> shaper,
                           sessions::PeerCounters& counters, Builder& builder, const RunPhases& course)
    : link_(settings.link),
      counters_(counters),
      builder_(builder),
      course_(course),
      patience_ns_(settings.patience_ns),
      credits_(std::move(shaper)),
      fetched_(std::make_unique<v1::Control>()) {
  for (const SliceFetcherSettings::Keeper& keeper : settings.keepers)
    keepers_.push_back(std::make_unique<Keeper>(keeper, link_.silence_ns));
}

void SliceFetcher::set_keeper(NodeIndex index, const ports::Endpoint& at, bool present) {
  if (index.value >= keepers_.size()) return;
  Keeper& keeper = *keepers_[index.value];
  keeper.present = present && keeper.serves;
  if (!keeper.present || at.port == 0) return;
  link_to(keeper.link, Role::dcm, index, at,
          {link_.self, *this, link_.limits, counters_, link_.reconnect_ns});
}

void SliceFetcher::tick(ports::Network& network, TimeNs now_ns) {
  now_ns_ = now_ns;
  for (const auto& keeper : keepers_) {
    if (keeper->link) keeper->link->tick(network, now_ns);
  }
}

SliceFetcher::Keeper* SliceFetcher::keeper_of(const BuiltSlice& slice) {
  const std::size_t index = slice.assignment.kept_by.value;
  return index < keepers_.size() ? keepers_[index].get() : nullptr;
}

bool SliceFetcher::is_awaited(const BuiltSlice* slice) const {
  return slice != nullptr && slice->fetched && slice->state() == BuildState::collecting;
}

void SliceFetcher::request_wanted() {
  for (const auto& [id, attempt] : builder_.collector.take_wrong_copies()) {
    BuiltSlice* const slice = builder_.slices.find(id, attempt);
    if (slice != nullptr && slice->fetched) leave(*slice);
  }
  std::map<std::size_t, v1::Control> requests;
  bool full = false;
  std::erase_if(builder_.collector.to_fetch(), [&](const std::pair<SliceId, Attempt>& wanted) {
    BuiltSlice* const slice = builder_.slices.find(wanted.first, wanted.second);
    if (!is_awaited(slice)) return true;
    Keeper* const keeper = keeper_of(*slice);
    if (keeper == nullptr || !keeper->present) {
      leave(*slice);
      return true;
    }
    if (!keeper->link || !keeper->link->ready()) return true;  // is added again once it is connected
    const shaping::Credit credit = full ? shaping::Credit::full : try_take(*slice, keeper->flow);
    full = credit == shaping::Credit::full;
    if (credit != shaping::Credit::granted) return false;
    slice_codec::append({slice->id(), slice->assignment.kept_attempt, slice->attempt()},
                        *requests[slice->assignment.kept_by.value].mutable_fetch());
    return true;
  });
  for (const auto& [index, request] : requests) keepers_[index]->link->peer().send(request);
}

shaping::Credit SliceFetcher::try_take(const BuiltSlice& slice, std::uint32_t flow) {
  shaping::Demand demand{flow, slice.outstanding, 0};
  if (builder_.assembler.knows_sizes())
    demand.bytes = builder_.assembler.slice_bytes_expected() + demand.fragments * wire::kHeaderBytes;
  return credits_.try_take(slice.id(), slice.attempt(), demand, now_ns_);
}

void SliceFetcher::look() {
  // Slices may leave for reasons of their own.
  credits_.end_if(
      [this](SliceId slice, Attempt attempt) { return !is_awaited(builder_.slices.find(slice, attempt)); },
      now_ns_);
  if (builder_.collector.any_readout_lost()) readout_lost_ns_ = now_ns_;
  for (std::size_t i = 0; i < keepers_.size(); ++i) {
    Keeper& keeper = *keepers_[i];
    if (!keeper.link) continue;
    const bool ready = keeper.link->ready();
    const std::uint64_t bytes = ready ? keeper.link->peer().stream().bytes_received() : 0;
    if (keeper.probe.look(ready, bytes, now_ns_)) keeper.link->peer().ask_if_alive();
    // A line that is down takes the readouts with it: then nothing is gained by them.
    const TimeNs since_ns = std::max(keeper.probe.lost_since_ns(), readout_lost_ns_);
    const bool silent = keeper.probe.is_lost() && now_ns_ - since_ns > patience_ns_;
    if (!keeper.present || silent) leave_all(i);
  }
}

// A fragment that its DCM is sending is requested from its readout only when no connection writes it: one
// that is half open would write it forever.
void SliceFetcher::leave(BuiltSlice& slice) {
  WEIR_ASSERT(slice.fetched);
  ++from_readouts_;
  Keeper* const keeper = keeper_of(slice);
  if (keeper != nullptr && keeper->reception.slice == &slice)
    keeper->link->peer().drop("the slice that it sends is built from the readouts");
  credits_.ended(slice.id(), slice.attempt(), now_ns_);
  builder_.collector.build_from_readouts(slice, now_ns_);
}

void SliceFetcher::leave_all(std::size_t keeper) {
  builder_.slices.for_each_open([&](BuiltSlice& slice) {
    if (slice.fetched && slice.assignment.kept_by.value == keeper) leave(slice);
  });
}

void SliceFetcher::complete(BuiltSlice& slice) {
  if (std::exchange(slice.fetched, false)) ++slices_;
  // The DCM that keeps the slice may have the missing fragments.
  if (slice.flawed > 0) return;
  slice_codec::append(slice_rows::Lease{slice.id(), slice.attempt()}, *fetched_->mutable_fetched());
}

void SliceFetcher::tell(const std::function<void(const v1::Control&)>& send) {
  if (fetched_->fetched().slice_size() == 0) return;
  send(*fetched_);
  forget_told();
}

void SliceFetcher::forget_told() { fetched_->mutable_fetched()->Clear(); }

std::string SliceFetcher::check_hello(const sessions::PeerInfo& info) {
  return refusal_unless(Role::dcm, info);
}

// Slices that were requested over an earlier connection are requested again, whole.
void SliceFetcher::on_ready(sessions::Peer& peer) {
  spdlog::info("dcm connected name={} peer={}", peer.info().name, peer.stream().peer());
  keepers_[peer.tag]->reception = {};
  keepers_[peer.tag]->probe.begin_anew();
  builder_.slices.for_each_in(BuildState::collecting, [&](BuiltSlice& slice) {
    if (!slice.fetched || slice.assignment.kept_by.value != peer.tag) return;
    for (FragmentProgress& progress : slice.progress) {
      if (progress.state == FragmentProgress::State::done) continue;
      progress.start_again();
      progress.asked = UINT32_MAX;
    }
    builder_.collector.to_fetch().emplace_back(slice.id(), slice.attempt());
  });
  auto& wanted = builder_.collector.to_fetch();
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
}

void SliceFetcher::on_gone(sessions::Peer& peer, std::string_view why) {
  if (!peer.was_ready()) {
    if (peer.was_refused()) refusals_.note(peer, why, now_ns_);
    return;
  }
  credits_.lost(keepers_[peer.tag]->flow);
  if (course_.is_ending()) return;
  ++broken_;
  spdlog::warn("dcm lost name={} reason=\"{}\"", peer.info().name, why);
}

wire::PayloadPlace SliceFetcher::on_header(sessions::Peer& peer, const wire::FrameHeader& header) {
  if (header.type != wire::FrameType::fragment) return {};
  Keeper& keeper = *keepers_[peer.tag];
  keeper.reception = {};
  const BuiltSlice* const slice = builder_.slices.find(header.slice, header.attempt);
  const bool wanted = slice != nullptr && slice->fetched && slice->assignment.kept_by.value == peer.tag;
  const auto source = builder_.assembler.index_of(header.source);
  if (!wanted || !source) return {wire::PayloadPlace::Kind::discard, nullptr};
  keeper.reception = builder_.assembler.begin(header, builder_.assembler.sources()[*source].readout);
  return place_of(keeper.reception);
}

Expected<void, wire::WireError> SliceFetcher::on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                                       ConstBytes) {
  if (header.type != wire::FrameType::fragment)
    return Unexpected<wire::WireError>(wire::WireError::not_expected);
  const assembly::Reception reception = std::exchange(keepers_[peer.tag]->reception, {});
  bytes_ += header.length;
  const bool whole =
      header.status == FragmentStatus::missing || header.offset + header.length == header.total;
  fragments_ += whole ? 1 : 0;
  unused_ += whole && reception.slice == nullptr ? 1 : 0;
  credits_.arrived(header.slice, header.attempt, wire::kHeaderBytes + header.length, whole, now_ns_);
  if (reception.slice != nullptr) assembly::Assembler::note_bytes(*reception.slice, now_ns_);
  (void)builder_.assembler.finish(reception, header, now_ns_);
  return {};
}

Expected<void, wire::WireError> SliceFetcher::on_control(sessions::Peer& peer, const v1::Control& message) {
  if (!message.has_fetch() || !message.fetch().gone())
    return Unexpected<wire::WireError>(wire::WireError::not_expected);
  const auto gone = slice_codec::decode_gone(message.fetch());
  if (!gone) return node::refused(gone.error());
  for (const slice_rows::Lease& one : *gone) {
    BuiltSlice* const slice = builder_.slices.find(one.slice, one.attempt);
    if (slice != nullptr && slice->fetched && slice->assignment.kept_by.value == peer.tag) leave(*slice);
  }
  return {};
}

void SliceFetcher::on_part(sessions::Peer& peer, const wire::FrameHeader&, ConstBytes part) {
  builder_.assembler.part(keepers_[peer.tag]->reception, part);
}

void SliceFetcher::on_abandoned(sessions::Peer& peer, const wire::FrameHeader&) {
  builder_.assembler.abandon(std::exchange(keepers_[peer.tag]->reception, {}));
}

void SliceFetcher::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  counters["fetch.slices"] = slices_;
  counters["fetch.fragments"] = fragments_;
  counters["fetch.unused"] = unused_;
  counters["fetch.bytes"] = bytes_;
  counters["fetch.from_readouts"] = from_readouts_;
  counters["fetch.broken"] = broken_;
}

}  // namespace weir::dcm
