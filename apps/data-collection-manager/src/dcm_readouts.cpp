// The DCM's connections to the readouts: requests out, fragments in.
#include "dcm_node.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace weir::dcm {
namespace {

// What concerns every readout is not looked at in every pass: at full rate a pass is of a few fragments.
constexpr DurationNs kTickEvery = kMillisecond;

}  // namespace

void DcmNode::tick_links() {
  if (now_ns_ - ticked_ns_ < kTickEvery) return;
  ticked_ns_ = now_ns_;
  for (Readout& readout : readouts_) {
    if (readout.link) readout.link->tick(environment_.network, now_ns_);
  }
}

void DcmNode::send_requests() {
  std::erase_if(collector_->to_send(), [&](std::uint32_t index) {
    Readout& readout = readouts_[index];
    if (!readout.link || !readout.link->ready()) return false;
    readout.frames.clear();
    collector_->take_frames(index, readout.frames);
    readout.link->peer().stream().append(readout.frames);
    return true;
  });
}

// What has come of a frame that is not whole yet leaves the window, too.
void DcmNode::tell_partial_frames() {
  std::erase_if(receiving_, [&](std::uint32_t index) {
    Readout& readout = readouts_[index];
    if (!readout.in_frame || !readout.link || !readout.link->ready()) {
      readout.listed = false;
      return true;
    }
    const std::size_t here = readout.link->peer().payload_here();
    if (here <= readout.told_bytes) return false;
    arrived(index, readout.reception.slice, here - readout.told_bytes);
    readout.told_bytes = here;
    return false;
  });
}

// A frame's header counts for the readout's window, when the frame is whole, and not as bytes of fragments.
void DcmNode::arrived(std::uint32_t readout, assembly::BuiltSlice* slice, std::uint64_t payload_bytes,
                      std::uint64_t header_bytes) {
  const std::uint64_t bytes = payload_bytes + header_bytes;
  if (slice != nullptr) counts_.arrived_bytes += payload_bytes;
  if (trace_.on() && slice != nullptr && bytes > 0)
    trace_.arrived(*slice, readout, bytes, environment_.clock.now_ns());
  collector_->arrived(readout, slice, bytes, now_ns_);
}

std::string DcmNode::check_hello(const messages::PeerInfo& info) {
  if (info.role == Role::readout) return {};
  return "'" + info.name + "' is a " + std::string(name(info.role)) + ", not a readout";
}

void DcmNode::on_ready(messages::Peer& peer) {
  log_if_due(readouts_[peer.tag].loss, ending_, true, now_ns_);
  spdlog::info("readout connected name={} peer={}", peer.info().name, peer.stream().peer());
  if (to_readouts_.wants_timing) peer.stream().note_arrivals();
  readouts_[peer.tag].retransmitted = 0;
  readouts_[peer.tag].timing_ns = now_ns_;
  collector_->readout_up(static_cast<std::uint32_t>(peer.tag), now_ns_);
}

void DcmNode::on_gone(messages::Peer& peer, std::string_view why) {
  if (!peer.was_ready() && peer.was_refused()) refusals_.note(peer, why, now_ns_);
  if (!collector_->is_up(static_cast<std::uint32_t>(peer.tag))) return;
  readouts_[peer.tag].loss.lost(fmt::format("readout lost name={} reason=\"{}\"", peer.info().name, why),
                                now_ns_);
  collector_->readout_down(static_cast<std::uint32_t>(peer.tag));
  if (pushing_) pushing_->window.readout_lost(static_cast<std::uint32_t>(peer.tag));
}

wire::Placement DcmNode::on_header(messages::Peer& peer, const wire::FrameHeader& header) {
  Readout& readout = readouts_[peer.tag];
  // What came with a timing came after it, and so did the time that the kernel notes of both.
  if (readout.timed_utc_ns != 0 && readout.timed_utc_ns == peer.stream().arrived_utc_ns())
    collector_->forget_timing(static_cast<std::uint32_t>(peer.tag));
  readout.timed_utc_ns = 0;
  if (header.type == wire::FrameType::timing) return {wire::Placement::Kind::discard, nullptr};
  if (header.type != wire::FrameType::fragment) return {};
  readout.reception = {};
  readout.in_frame = true;
  if (!std::exchange(readout.listed, true)) receiving_.push_back(static_cast<std::uint32_t>(peer.tag));
  if (pushing_ && !takes_pushed(static_cast<std::uint32_t>(peer.tag), header))
    return {wire::Placement::Kind::discard, nullptr};
  readout.reception = assembler_->begin(header, static_cast<std::uint32_t>(peer.tag));
  if (readout.reception.slice == nullptr) return {wire::Placement::Kind::discard, nullptr};
  return {wire::Placement::Kind::place, readout.reception.target};
}

Expected<void, wire::WireError> DcmNode::on_frame(messages::Peer& peer, const wire::FrameHeader& header,
                                                  ConstBytes) {
  if (header.type == wire::FrameType::timing) {
    take_timing(peer, header);
    return {};
  }
  const assembly::Reception reception = std::exchange(readouts_[peer.tag].reception, {});
  readouts_[peer.tag].in_frame = false;
  // The clock is read where it shows: at a slice's last fragment.
  const bool completes = reception.slice != nullptr && reception.slice->outstanding == 1;
  const auto readout = static_cast<std::uint32_t>(peer.tag);
  const std::uint64_t told = std::exchange(readouts_[readout].told_bytes, 0);
  arrived(readout, reception.slice, header.length - told, wire::kHeaderBytes);
  collector_->answered(readout, reception, header);
  (void)assembler_->finish(reception, header, completes ? environment_.clock.now_ns() : now_ns_);
  return {};
}

void DcmNode::take_timing(messages::Peer& peer, const wire::FrameHeader& header) {
  Readout& readout = readouts_[peer.tag];
  const auto index = static_cast<std::uint32_t>(peer.tag);
  const wire::Timing timing = wire::timing(header);
  if (!collector_->shaper().learns()) return;
  const TimeNs now_ns = environment_.clock.now_ns();
  readout.timed_utc_ns = peer.stream().arrived_utc_ns();
  const DurationNs waited =
      readout.timed_utc_ns != 0 ? environment_.clock.utc_ns() - readout.timed_utc_ns : 0;
  // UTC may have jumped meanwhile.
  if (waited >= 0 && waited < kSecond) collector_->timed(index, timing, now_ns - waited);
  const std::uint32_t fresh = timing.retransmitted - static_cast<std::uint32_t>(readout.retransmitted);
  readout.retransmitted = timing.retransmitted;
  // What was lost in a long time is no sign of what is lost now.
  if (fresh > 0 && now_ns - readout.timing_ns < kSecond)
    collector_->shaper().retransmitted(index, fresh, now_ns);
  readout.timing_ns = now_ns;
}

void DcmNode::on_part(messages::Peer& peer, const wire::FrameHeader&, ConstBytes part) {
  Readout& readout = readouts_[peer.tag];
  assembler_->part(readout.reception, part);
  readout.told_bytes += part.size();
  arrived(static_cast<std::uint32_t>(peer.tag), readout.reception.slice, part.size());
}

void DcmNode::on_abandoned(messages::Peer& peer, const wire::FrameHeader&) {
  readouts_[peer.tag].told_bytes = 0;
  readouts_[peer.tag].in_frame = false;
  assembler_->abandon(std::exchange(readouts_[peer.tag].reception, {}));
}

Expected<void, wire::WireError> DcmNode::on_control(messages::Peer&, const v1::Control&) {
  return Unexpected<wire::WireError>(wire::WireError::not_expected);
}

}  // namespace weir::dcm
