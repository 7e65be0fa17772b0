#include "slice_server.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/node/address_in_use.hpp>
#include <weir/node/refused.hpp>
#include <weir/node/report.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/slice_codec/fetch.hpp>
#include <weir/wire/frame.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;

// A connection with this much unsent gets no further slice.
constexpr std::size_t kUnsentMax = 4U << 20;
// A DCM requests each of its slices once over a connection: it has at most this many.
constexpr std::size_t kWaitingMax = 65536;
// Up to here a payload is copied behind its header, so that both are one piece.
constexpr std::size_t kInlineMax = 512;

}  // namespace

SliceServer::SliceServer(SliceServerSettings settings, const sessions::PeerInfo& self,
                         sessions::PeerCounters& counters, Builder& builder, const TimeNs& now_ns)
    : settings_(std::move(settings)),
      self_(self),
      builder_(builder),
      now_ns_(now_ns),
      listener_(self, static_cast<sessions::PeerHandler&>(*this), settings_.limits, counters, now_ns) {}

ports::Endpoint SliceServer::open(ports::Network& network) {
  auto at = listener_.open(network, settings_.listen);
  if (!at) node::throw_listen_failure(at.error());
  spdlog::info("listening at={} for=\"DCMs of later groups\"", ports::to_text(*at));
  return *at;
}

std::string SliceServer::check_hello(const sessions::PeerInfo& info) {
  if (info.role != Role::dcm)
    return "'" + info.name + "' is a " + std::string(name(info.role)) + ", and only DCMs fetch slices";
  const std::size_t index = info.index.value;
  if (index < settings_.dcms.size() && settings_.dcms[index].name == info.name) {
    if (settings_.dcms[index].fetches) return {};
    return "'" + info.name + "' is in no group that fetches slices of '" + self_.name + "'";
  }
  return "the farm has no DCM '" + info.name + "' with index " + std::to_string(info.index.value);
}

void SliceServer::on_ready(sessions::Peer& peer) {
  spdlog::info("dcm connected name={} peer={}", peer.info().name, peer.stream().peer());
  peer.tag = ++connections_;
  waiting_[peer.tag];
}

void SliceServer::on_gone(sessions::Peer& peer, std::string_view why) {
  if (!peer.was_ready()) return refusals_.note(peer, why, now_ns_);
  spdlog::info("dcm disconnected name={} reason=\"{}\"", peer.info().name, why);
  waiting_.erase(peer.tag);
}

Expected<void, wire::WireError> SliceServer::on_control(sessions::Peer& peer, const v1::Control& message) {
  if (!message.has_fetch()) return Unexpected<wire::WireError>(wire::WireError::not_expected);
  std::deque<slice_rows::FetchRow>& waiting = waiting_[peer.tag];
  const auto wanted = slice_codec::decode(message.fetch());
  if (!wanted) return node::refused(wanted.error());
  if (message.fetch().gone()) return node::refused({"Fetch", "gone", 0});
  if (waiting.size() + wanted->size() > kWaitingMax)
    return node::refused({"Fetch", "slice", kWaitingMax - waiting.size()});
  waiting.insert(waiting.end(), wanted->begin(), wanted->end());
  return {};
}

void SliceServer::tick() {
  listener_.tick();
  for (const auto& peer : listener_.peers()) {
    if (!peer->ready()) continue;
    const auto found = waiting_.find(peer->tag);
    if (found != waiting_.end() && !found->second.empty()) serve(*peer, found->second);
  }
}

void SliceServer::serve(sessions::Peer& peer, std::deque<slice_rows::FetchRow>& waiting) {
  v1::Control answer;
  v1::Fetch& gone = *answer.mutable_fetch();
  while (!waiting.empty() && peer.unsent_bytes() < kUnsentMax) {
    const slice_rows::FetchRow row = waiting.front();
    // The request has overtaken the supervisor's confirmation, which comes over another connection.
    if (is_unconfirmed(row)) break;
    waiting.pop_front();
    BuiltSlice* const slice = builder_.slices.find(row.slice, row.attempt);
    if (slice != nullptr && slice->state() == BuildState::kept) {
      send_slice(peer.stream(), *slice, row.as);
      if (planted(Planted::free_unconfirmed) && !slice->memory.is_shared())
        slice->memory.release(builder_.pool);
      continue;
    }
    if (planted(Planted::forget_gone)) continue;
    ++gone_;
    slice_codec::append_gone(row, gone);
  }
  if (gone.slice_size() > 0) peer.send(answer);
}

bool SliceServer::is_unconfirmed(const slice_rows::FetchRow& row) const {
  const BuiltSlice* const slice = builder_.slices.find(row.slice, row.attempt);
  return slice != nullptr && slice->state() == BuildState::reported && slice->decision.kept;
}

void SliceServer::send_slice(ports::Stream& stream, BuiltSlice& slice, Attempt as) {
  WEIR_ASSERT(slice.state() == BuildState::kept);
  const std::shared_ptr<const void> memory = slice.memory.share();
  const std::uint32_t piece_most = settings_.limits.frame_bytes_max;
  ++slices_;
  for (const weir_filter_fragment& fragment : slice.table) {
    ++fragments_;
    const SourceId source(fragment.source);
    const auto status = static_cast<FragmentStatus>(fragment.status);
    wire::FrameHeader header =
        wire::missing_fragment(slice.id(), as, source, static_cast<MissingReason>(fragment.missing_reason));
    std::uint32_t sent = 0;
    do {
      if (status != FragmentStatus::missing) {
        WEIR_ASSERT(sent <= fragment.length);
        header.status = status;
        header.offset = sent;
        header.length = std::min(piece_most, fragment.length - sent);
        header.total = fragment.length;
        header.crc = fragment.crc32c;
      }
      const ConstBytes bytes(static_cast<const std::byte*>(fragment.data) + sent, header.length);
      const bool in_one = bytes.size() <= kInlineMax;
      const Bytes room = stream.reserve(wire::kHeaderBytes + (in_one ? bytes.size() : 0));
      wire::encode_header(header, room.first<wire::kHeaderBytes>());
      if (in_one) {
        std::copy(bytes.begin(), bytes.end(), room.begin() + wire::kHeaderBytes);
      } else {
        stream.append_reference(bytes, memory);
      }
      sent += header.length;
      bytes_ += header.length;
    } while (status != FragmentStatus::missing && sent < fragment.length);
  }
}

void SliceServer::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  counters["fetch.slices_sent"] = slices_;
  counters["fetch.fragments_sent"] = fragments_;
  counters["fetch.bytes_sent"] = bytes_;
  counters["fetch.not_kept"] = gone_;
}

}  // namespace weir::dcm
