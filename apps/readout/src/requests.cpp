#include "readout_node.hpp"
#include <weir/base/assert.hpp>
#include <weir/wire/batch.hpp>

namespace weir::readout {
namespace {

// A DCM that does not read its answers is neither answered nor read from until it has.
constexpr std::size_t kUnsentHigh = 64U << 20;
constexpr std::size_t kUnsentLow = 16U << 20;
// Fragments served to one DCM per pass before the others' turn: about ten milliseconds.
constexpr std::size_t kServedMax = 32'768;
// Ids in a set of sources beyond the existing ones.
constexpr std::size_t kStrayIdsMax = 16;

}  // namespace

void ReadoutNode::hold_back_slow_peers() {
  behind_ = false;
  for (sessions::Peer* peer : connections_) {
    if (peer == nullptr) continue;
    const std::size_t unsent = peer->unsent_bytes();
    if (unsent > kUnsentHigh) {
      ++held_back_;
      peer->stream().pause_receiving(true);
      continue;
    }
    if (unsent >= kUnsentLow) {
      if (waiting_.contains(peer->tag)) ++held_back_;
      continue;
    }
    if (const auto waiting = waiting_.find(peer->tag); waiting != waiting_.end()) {
      serve_waiting(*peer, waiting->second);
      if (!waiting->second.frames.empty()) {
        behind_ = behind_ || peer->unsent_bytes() < kUnsentLow;
        continue;
      }
      waiting_.erase(waiting);
    }
    peer->stream().pause_receiving(false);
  }
}

Expected<void, wire::WireError> ReadoutNode::on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                                      ConstBytes payload) {
  if (!wire::payload_checksum_good(header, payload))
    return Unexpected<wire::WireError>(wire::WireError::bad_checksum);
  const bool behind = waiting_.contains(peer.tag);
  std::size_t done = 0;
  if (header.type == wire::FrameType::cancel) {
    const auto entries = wire::parse_slice_entries(payload);
    if (!entries) return Unexpected<wire::WireError>(entries.error());
    if (!behind) cancel(peer, *entries);
    if (!behind) return {};
  } else {
    const auto view = wire::RequestView::parse(payload);
    if (!view) return Unexpected<wire::WireError>(view.error());
    for (std::size_t set = 0; set < view->set_count(); ++set) {
      // Otherwise a frame of about 100 kB could request so many fragments that the answers fill any memory.
      if (view->source_count(static_cast<std::uint16_t>(set)) > settings_.planned_sources + kStrayIdsMax)
        return Unexpected<wire::WireError>(wire::WireError::bad_payload);
    }
    if (!behind) {
      answers_.flush();  // earlier answers precede this one
      timings_.begin(peer);
      done = serve(peer, *view, 0, served_[peer.tag]);
      answers_.flush();
      timings_.end();
    }
    if (done == view->entry_count()) return {};
  }
  Waiting& waiting = waiting_[peer.tag];
  if (waiting.frames.empty()) waiting.entries_done = done;
  waiting.frames.push_back({header.type, {payload.begin(), payload.end()}});
  peer.stream().pause_receiving(true);
  return {};
}

void ReadoutNode::serve_waiting(sessions::Peer& peer, Waiting& waiting) {
  WEIR_ASSERT(peer.tag < served_.size());
  std::size_t& served = served_[peer.tag];
  while (!waiting.frames.empty() && peer.unsent_bytes() <= kUnsentHigh && served < kServedMax) {
    const Waiting::Frame& frame = waiting.frames.front();
    if (frame.type == wire::FrameType::cancel) {
      cancel(peer, *wire::parse_slice_entries(frame.payload));
    } else {
      const auto view = wire::RequestView::parse(frame.payload);
      waiting.entries_done = serve(peer, *view, waiting.entries_done, served);
      if (waiting.entries_done < view->entry_count()) return;
    }
    waiting.frames.pop_front();
    waiting.entries_done = 0;
  }
}

void ReadoutNode::cancel(const sessions::Peer& peer, const std::vector<wire::CopyId>& entries) {
  for (const wire::CopyId& entry : entries) {
    if (push_) push_->not_wanted(entry.slice);
    buffer_.cancel(static_cast<std::uint32_t>(peer.tag), entry.slice, entry.attempt, *this);
  }
}

std::size_t ReadoutNode::serve(sessions::Peer& peer, const wire::RequestView& view, std::size_t from,
                               std::size_t& served) {
  WEIR_ASSERT(from <= view.entry_count());
  while (from < view.entry_count() && peer.unsent_bytes() <= kUnsentHigh && served < kServedMax)
    served += serve(peer, view, view.entry(from++));
  return from;
}

std::size_t ReadoutNode::serve(sessions::Peer& peer, const wire::RequestView& view,
                               const wire::RequestEntry& entry) {
  source::RequestedFragment request;
  request.connection = static_cast<std::uint32_t>(peer.tag);
  request.slice = entry.slice;
  request.attempt = entry.attempt;
  request.offset = entry.offset;
  request.length = entry.length;
  request.slot = entry.slot;
  const auto ask = [&](SourceId source) {
    request.source = source;
    if (push_) push_->asked_for(request.slice, request.source);
    buffer_.request(request, *this);
  };
  const bool all = entry.source_set == wire::kAllSources;
  const std::size_t count = all ? identity_.sources.size() : view.source_count(entry.source_set);
  if (all) {
    for (const SourceId source : identity_.sources) ask(source);
    return count;
  }
  for (std::size_t k = 0; k < count; ++k) ask(view.source(entry.source_set, k));
  return count;
}

}  // namespace weir::readout
