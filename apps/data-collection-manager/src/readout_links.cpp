#include "readout_links.hpp"

#include <weir/base/assert.hpp>
#include <weir/wire/frame.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

// Work for every readout is not done in every pass: at full rate a pass handles only a few fragments.
constexpr DurationNs kTickEvery = kMillisecond;

}  // namespace

ReadoutLinks::ReadoutLinks(const LinkSettings& settings, std::size_t readouts,
                           sessions::PeerCounters& counters, const ports::Clock& clock, Builder& builder,
                           PushAdmission* pushing, const RunPhases& course)
    : settings_(settings),
      counters_(counters),
      clock_(clock),
      assembler_(builder.assembler),
      collector_(builder.collector),
      pushing_(pushing),
      course_(course) {
  settings_.self.wants_timing = collector_.shaper().learns();
  for (std::size_t i = 0; i < readouts; ++i) readouts_.emplace_back(settings.silence_ns);
}

void ReadoutLinks::use_planes(const PlaneLinkSettings& settings, std::unique_ptr<ports::Carriers> carriers) {
  planes_ = std::make_unique<PlaneLinks>(settings, std::move(carriers), counters_);
}

void ReadoutLinks::set_readout(NodeIndex index, std::vector<ports::Endpoint> ways) {
  if (index.value >= readouts_.size() || ways.empty()) return;
  if (planes_) planes_->set_readout(index, ways);
  readouts_[index.value].ways = std::move(ways);
  connect(index.value);
}

void ReadoutLinks::connect(std::uint32_t readout) {
  const std::vector<ports::Endpoint>& ways = readouts_[readout].ways;
  if (ways.empty()) return;
  const std::size_t plane = planes_ ? planes_->choice().plane() : 0;
  link_to(readouts_[readout].link, Role::readout, NodeIndex(static_cast<std::uint16_t>(readout)),
          ways[std::min(plane, ways.size() - 1)],
          {settings_.self, *this, settings_.limits, counters_, settings_.reconnect_ns,
           planes_ ? planes_->period_ns() : 0});
}

// Connects to all readouts in the new plane. Open fragments are requested again, so the steps under way begin
// their time anew. Pushed slices keep theirs, because their order may depend on it.
void ReadoutLinks::change_plane() {
  for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
    Readout& readout = readouts_[i];
    if (readout.gap_since_ns == 0) readout.gap_since_ns = readout.data_ns;
    changes_plane_ = true;
    connect(i);
    changes_plane_ = false;
  }
  if (pushing_ == nullptr) assembler_.put_off_deadlines(now_ns_);
}

void ReadoutLinks::look() {
  for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
    Readout& readout = readouts_[i];
    const bool ready = readout.link && readout.link->ready();
    const std::uint64_t bytes = ready ? readout.link->peer().stream().bytes_received() : 0;
    if (readout.probe.look(ready, bytes, now_ns_)) readout.link->peer().ask_if_alive();
    if (planes_ && ready && std::exchange(readout.bytes, bytes) != bytes) planes_->data_arrived(i);
    log_if_due(readout.loss, course_.is_ending(), false, now_ns_);
    collector_.set_lost(i, readout.probe.is_lost());
    collector_.set_heard(i, readout.probe.heard_ns());
  }
  if (planes_ && planes_->look(now_ns_, clock_.utc_ns())) change_plane();
}

void ReadoutLinks::add_lost_to(v1::Reach& reach) const {
  for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
    if (planes_ && planes_->choice().is_deciding(i, now_ns_)) continue;
    if (readouts_[i].probe.is_lost() && collector_.serves(i)) reach.add_readouts(i);
  }
}

void ReadoutLinks::drop_silent(DurationNs patience_ns) {
  for (Readout& readout : readouts_) {
    if (!readout.probe.is_lost() || !readout.link || !readout.link->ready()) continue;
    if (now_ns_ - readout.probe.lost_since_ns() > patience_ns) readout.link->peer().drop("silent");
  }
}

void ReadoutLinks::tick(ports::Network& network, TimeNs now_ns) {
  now_ns_ = now_ns;
  if (planes_) planes_->tick(network, now_ns_);
  if (now_ns_ - ticked_ns_ < kTickEvery) return;
  ticked_ns_ = now_ns_;
  for (Readout& readout : readouts_) {
    if (readout.link) readout.link->tick(network, now_ns_);
  }
}

void ReadoutLinks::send_requests() {
  std::erase_if(collector_.to_send(), [&](std::uint32_t index) {
    Readout& readout = readouts_[index];
    if (!readout.link || !readout.link->ready()) return false;
    readout.frames.clear();
    collector_.take_frames(index, readout.frames);
    readout.link->peer().stream().append(readout.frames);
    return true;
  });
}

// The received part of an incomplete frame leaves the window, too.
void ReadoutLinks::tell_partial_frames() {
  std::erase_if(receiving_, [&](std::uint32_t index) {
    Readout& readout = readouts_[index];
    if (!readout.in_frame || !readout.link || !readout.link->ready()) {
      readout.listed = false;
      return true;
    }
    const std::size_t here = readout.link->peer().payload_here();
    if (here <= readout.told_bytes) return false;
    const std::uint64_t fresh = here - readout.told_bytes;
    // Which of a block's bytes are fragments is known when it is whole.
    arrived(index, slice_of(readout), readout.in_block ? 0 : fresh, readout.in_block ? fresh : 0);
    readout.told_bytes = here;
    return false;
  });
}

// Headers and a block's rows count for the readout's window, and not as bytes of fragments.
void ReadoutLinks::arrived(std::uint32_t readout, assembly::BuiltSlice* slice, std::uint64_t payload_bytes,
                           std::uint64_t other_bytes) {
  const std::uint64_t bytes = payload_bytes + other_bytes;
  if (planes_) note_data(readouts_[readout]);
  if (slice != nullptr) arrived_bytes_ += payload_bytes;
  if (trace_.on() && slice != nullptr && bytes > 0) trace_.arrived(*slice, readout, bytes, clock_.now_ns());
  collector_.arrived(readout, slice, bytes, now_ns_);
}

void ReadoutLinks::note_data(Readout& readout) {
  if (readout.gap_since_ns > 0) planes_->resumed(now_ns_ - std::exchange(readout.gap_since_ns, 0));
  readout.data_ns = now_ns_;
}

std::string ReadoutLinks::check_hello(const sessions::PeerInfo& info) {
  return refusal_unless(Role::readout, info);
}

void ReadoutLinks::on_ready(sessions::Peer& peer) {
  log_if_due(readouts_[peer.tag].loss, course_.is_ending(), true, now_ns_);
  spdlog::info("readout connected name={} peer={}", peer.info().name, peer.stream().peer());
  if (settings_.self.wants_timing) peer.stream().note_arrivals();
  readouts_[peer.tag].probe.begin_anew();
  readouts_[peer.tag].in_frame = readouts_[peer.tag].in_block = false;
  readouts_[peer.tag].told_bytes = 0;
  readouts_[peer.tag].retransmitted = readouts_[peer.tag].bytes = 0;
  readouts_[peer.tag].timing_ns = now_ns_;
  collector_.shaper().connected(static_cast<std::uint32_t>(peer.tag), peer.stream().selective_acks());
  const std::optional<std::uint32_t> plane =
      planes_ ? std::optional(planes_->choice().plane()) : std::nullopt;
  const auto former = std::exchange(readouts_[peer.tag].plane, plane);
  collector_.readout_up(static_cast<std::uint32_t>(peer.tag), former && former != plane);
}

void ReadoutLinks::on_gone(sessions::Peer& peer, std::string_view why) {
  if (!peer.was_ready() && peer.was_refused()) refusals_.note(peer, why, now_ns_);
  if (!collector_.is_up(static_cast<std::uint32_t>(peer.tag))) return;
  if (!changes_plane_)
    readouts_[peer.tag].loss.lost(fmt::format("readout lost name={} reason=\"{}\"", peer.info().name, why),
                                  now_ns_);
  collector_.readout_down(static_cast<std::uint32_t>(peer.tag));
  if (pushing_ != nullptr) pushing_->readout_lost(static_cast<std::uint32_t>(peer.tag));
}

wire::PayloadPlace ReadoutLinks::on_header(sessions::Peer& peer, const wire::FrameHeader& header) {
  Readout& readout = readouts_[peer.tag];
  // Data that arrived with a timing followed it, and the kernel's time stamp covers both.
  if (readout.timed_utc_ns != 0 && readout.timed_utc_ns == peer.stream().arrived_utc_ns())
    collector_.forget_timing(static_cast<std::uint32_t>(peer.tag));
  readout.timed_utc_ns = 0;
  if (header.type == wire::FrameType::timing) return {wire::PayloadPlace::Kind::discard, nullptr};
  readout.in_block = header.type == wire::FrameType::block;
  if (header.type != wire::FrameType::fragment && !readout.in_block) return {};
  readout.reception = {};
  readout.in_frame = true;
  if (!std::exchange(readout.listed, true)) receiving_.push_back(static_cast<std::uint32_t>(peer.tag));
  if (readout.in_block) {
    readout.block = {header.slice, header.attempt, wire::block_head(header).slot};
    return {wire::PayloadPlace::Kind::whole, nullptr};
  }
  if (pushing_ != nullptr &&
      !pushing_->takes(static_cast<std::uint32_t>(peer.tag), header, course_.is_running(), now_ns_))
    return {wire::PayloadPlace::Kind::discard, nullptr};
  readout.reception = assembler_.begin(header, static_cast<std::uint32_t>(peer.tag));
  return place_of(readout.reception);
}

Expected<void, wire::WireError> ReadoutLinks::on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                                       ConstBytes payload) {
  if (header.type == wire::FrameType::timing) {
    take_timing(peer, header);
    return {};
  }
  const auto index = static_cast<std::uint32_t>(peer.tag);
  if (header.type == wire::FrameType::block) return take_block(index, header, payload);
  Readout& readout = readouts_[index];
  const assembly::Reception reception = std::exchange(readout.reception, {});
  readout.in_frame = false;
  // The clock is read where it shows: at a slice's last fragment.
  const bool completes = reception.slice != nullptr && reception.slice->outstanding == 1;
  const std::uint64_t told = std::exchange(readout.told_bytes, 0);
  WEIR_ASSERT(told <= header.length);
  arrived(index, reception.slice, header.length - told, wire::kHeaderBytes);
  collector_.answered(index, reception, header);
  (void)assembler_.finish(reception, header, completes ? clock_.now_ns() : now_ns_);
  return {};
}

Expected<void, wire::WireError> ReadoutLinks::take_block(std::uint32_t index, const wire::FrameHeader& header,
                                                         ConstBytes payload) {
  Readout& readout = readouts_[index];
  readout.in_frame = readout.in_block = false;
  std::uint64_t told = std::exchange(readout.told_bytes, 0);
  WEIR_ASSERT(told <= header.length);
  const auto block = wire::BlockView::parse(header, payload);
  if (!block) return Unexpected<wire::WireError>(block.error());
  std::size_t overhead = wire::kHeaderBytes;
  block->for_each_slice([&](const wire::BlockSlice& of, const wire::BlockPart& part) {
    assembly::BuiltSlice* slice = assembler_.slice_of(of);
    const bool completes = slice != nullptr && slice->outstanding <= part.size();
    const std::uint64_t bytes = part.bytes() + std::exchange(overhead, wire::kBlockSliceBytes);
    const std::uint64_t known = std::min<std::uint64_t>(told, bytes);
    told -= known;
    arrived(index, slice, 0, bytes - known);
    const assembly::BlockReception reception =
        assembler_.take(of, part, index, completes ? clock_.now_ns() : now_ns_);
    for (const assembly::FragmentSize& size : reception.taken) arrived_bytes_ += size.bytes;
    collector_.answered(index, reception, of, part);
  });
  return {};
}

void ReadoutLinks::take_timing(sessions::Peer& peer, const wire::FrameHeader& header) {
  Readout& readout = readouts_[peer.tag];
  const auto index = static_cast<std::uint32_t>(peer.tag);
  const wire::Timing timing = wire::timing(header);
  if (!collector_.shaper().learns()) return;
  const TimeNs now_ns = clock_.now_ns();
  readout.timed_utc_ns = peer.stream().arrived_utc_ns();
  const DurationNs waited = readout.timed_utc_ns != 0 ? clock_.utc_ns() - readout.timed_utc_ns : 0;
  // UTC may have jumped meanwhile.
  if (waited >= 0 && waited < kSecond) collector_.timed(index, timing, now_ns - waited);
  const std::uint32_t fresh = timing.retransmitted - static_cast<std::uint32_t>(readout.retransmitted);
  readout.retransmitted = timing.retransmitted;
  // Retransmissions of a long period say nothing about the present.
  if (fresh > 0 && now_ns - readout.timing_ns < kSecond)
    collector_.shaper().retransmitted(index, fresh, now_ns);
  readout.timing_ns = now_ns;
}

void ReadoutLinks::on_part(sessions::Peer& peer, const wire::FrameHeader&, ConstBytes part) {
  Readout& readout = readouts_[peer.tag];
  assembler_.part(readout.reception, part);
  readout.told_bytes += part.size();
  arrived(static_cast<std::uint32_t>(peer.tag), readout.reception.slice, part.size());
}

void ReadoutLinks::on_abandoned(sessions::Peer& peer, const wire::FrameHeader&) {
  readouts_[peer.tag].told_bytes = 0;
  readouts_[peer.tag].in_frame = false;
  assembler_.abandon(std::exchange(readouts_[peer.tag].reception, {}));
}

}  // namespace weir::dcm
