#include "switch_bugs.hpp"
#include <weir/base/assert.hpp>
#include <weir/switching/switch.hpp>

#include <algorithm>
#include <utility>

namespace weir::switching {

const char* name_of(FrameDrop reason) {
  switch (reason) {
    case FrameDrop::malformed:
      return "malformed";
    case FrameDrop::other_protocol:
      return "other_protocol";
    case FrameDrop::no_checksum:
      return "no_checksum";
    case FrameDrop::too_long:
      return "too_long";
    case FrameDrop::no_route:
      return "no_route";
    case FrameDrop::same_port:
      return "same_port";
    case FrameDrop::queue_full:
      return "queue_full";
    case FrameDrop::receive_full:
      return "receive_full";
    case FrameDrop::refused:
      return "refused";
  }
  return "";
}

Switch::Switch(const SwitchSettings& settings)
    : settings_(settings),
      table_(settings),
      pool_(std::max<std::size_t>(settings.frame_bytes_max, kPauseFrameBytes)),
      ports_(settings.ports.size()) {
  WEIR_ASSERT(!problem_of(settings));
  make_queues();
}

// Each kind of queues divides the same memory: that of the rings and of the other frames.
void Switch::make_queues() {
  const std::size_t ports = ports_.size();
  for (const FlowRing& ring : settings_.rings) {
    memory_frames_ += ring.frames_max;
    if (settings_.queueing != Queueing::rings) continue;
    ring_queues_.push_back(static_cast<Index>(queues_.size()));
    give(queues_.emplace_back(), ring);
  }
  first_other_ = static_cast<Index>(queues_.size());
  memory_frames_ += ports * std::uint64_t{settings_.other_frames};
  const std::size_t more = settings_.queueing == Queueing::fifo             ? 1
                           : settings_.queueing == Queueing::virtual_output ? ports * ports
                                                                            : ports;
  const std::uint64_t part = settings_.queueing == Queueing::rings
                                 ? settings_.other_frames
                                 : std::max<std::uint64_t>(1, memory_frames_ / more);
  for (std::size_t i = 0; i < more; ++i) {
    queues_.emplace_back().frames_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(part, UINT32_MAX));
  }
}

void Switch::give(Queue& queue, const FlowRing& ring) {
  queue.frames_max = ring.frames_max;
  queue.bytes_max = ring.bytes_max;
  if (!queue.ring || queue.ring->bits_per_s != ring.bits_per_s || queue.ring->burst_bytes != ring.burst_bytes)
    queue.bucket = LeakyBucket(ring.bits_per_s, ring.burst_bytes);
  queue.ring = ring;
}

// ---- queues

std::optional<Switch::Index> Switch::emptying_queue_of(const FrameDestination& to) {
  for (const std::uint16_t port : {to.port, std::uint16_t{0}}) {
    const auto found = emptying_.find(FlowTable::key(to.address, port));
    if (found == emptying_.end()) continue;
    if (keeps_order(queues_[found->second])) return found->second;
    emptying_.erase(found);
  }
  return std::nullopt;
}

Switch::Index Switch::queue_of(std::size_t input, const FrameDestination& to,
                               const FlowTable::Target& target) {
  switch (settings_.queueing) {
    case Queueing::rings:
      if (target.ring == FlowTable::kNoRing && to.is_data && !emptying_.empty()) {
        if (const auto queue = emptying_queue_of(to)) return *queue;
      }
      return target.ring != FlowTable::kNoRing ? ring_queues_[target.ring] : other_queue(target.via);
    case Queueing::output:
      return static_cast<Index>(target.via);
    case Queueing::virtual_output:
      return static_cast<Index>(input * ports_.size() + target.via);
    case Queueing::fifo:
      break;
  }
  return 0;
}

// ---- receiving

void Switch::receive(std::size_t port, TimeNs now_ns, ConstBytes frame) {
  WEIR_ASSERT(port < ports_.size());
  SwitchPortCounters& counters = ports_[port].counters;
  ++counters.received;
  counters.received_bytes += frame.size();
  if (is_link_control(frame)) return take_control(ports_[port], settings_.ports[port], now_ns, frame);
  if (frame.size() > settings_.frame_bytes_max) return drop(port, FrameDrop::too_long);
  const auto to = destination_of(frame);
  if (!to) {
    return drop(port,
                to.error() == HeaderError::malformed ? FrameDrop::malformed : FrameDrop::other_protocol);
  }
  const auto target = table_.find(*to);
  if (!target) return drop(port, FrameDrop::no_route);
  if (target->via == port) return drop(port, FrameDrop::same_port);
  store(port, target->via, queue_of(port, *to, *target), frame);
}

// Returns the queue of a held frame. Its way exists: a change of the table drops held frames without one.
Switch::Index Switch::queue_of(FrameId id) {
  const auto to = destination_of(pool_.bytes(id));
  return queue_of(pool_[id].input, *to, *table_.find(*to));
}

void Switch::refuse(std::size_t port, FrameDrop reason, std::size_t frame_bytes) {
  ++ports_[port].counters.received;
  ports_[port].counters.received_bytes += frame_bytes;
  drop(port, reason);
}

void Switch::take_control(Port& port, const PortSettings& settings, TimeNs now_ns, ConstBytes frame) {
  ++port.counters.link_control;
  const auto quanta = pause_in(frame);
  if (!quanta || !settings.obeys_pauses) return;
  if (*quanta > 0 && port.paused_until_ns <= now_ns) ++port.counters.pauses;
  port.counters.paused_ns += std::min(now_ns, port.paused_until_ns) - port.paused_from_ns;
  port.paused_from_ns = now_ns;
  port.paused_until_ns = now_ns + pause_ns(*quanta, settings.bits_per_s);
}

bool Switch::takes(std::size_t port) const {
  return settings_.when_full == WhenFull::drop ||
         ports_[port].receive.frames < settings_.ports[port].receive_frames;
}

bool Switch::has_room(const Queue& queue, std::size_t bytes) const {
  return queue.chain.frames < queue.frames_max + (has_bug(SwitchBug::overfill) ? 1 : 0) &&
         (queue.bytes_max == 0 || queue.chain.bytes + bytes <= queue.bytes_max);
}

void Switch::store(std::size_t input, std::size_t via, Index index, ConstBytes frame) {
  Port& port = ports_[input];
  Queue& queue = queues_[index];
  const bool room = has_room(queue, frame.size());
  const bool hold = settings_.when_full == WhenFull::hold && (!room || port.receive.frames > 0);
  if (hold ? port.receive.frames >= settings_.ports[input].receive_frames : !room) {
    ++ports_[via].counters.dropped_ahead;
    if (!hold) ++queue.counters.dropped;
    if (has_bug(SwitchBug::forget_drop)) return;
    return drop(input, hold ? FrameDrop::receive_full : FrameDrop::queue_full);
  }
  const FrameId id = pool_.add(frame);
  FramePool::Frame& stored = pool_[id];
  stored.input = static_cast<Index>(input);
  stored.output = static_cast<Index>(via);
  port.stored_bytes += frame.size();
  SwitchPortCounters& ahead = ports_[via].counters;
  ++ahead.waiting;
  ahead.waiting_bytes += frame.size();
  if (hold) return port.receive.push(pool_, id);
  enter(index, id);
}

void Switch::enter(Index index, FrameId id) {
  Queue& queue = queues_[index];
  if (settings_.mark_frames > 0 && queue.chain.frames > settings_.mark_frames &&
      destination_of(pool_.bytes(id))->is_data && mark_congestion(pool_.bytes(id)))
    ++queue.counters.marked;
  queue.chain.push(pool_, id);
  queue.counters.waiting_most = std::max<std::uint64_t>(queue.counters.waiting_most, queue.chain.frames);
  queue.counters.waiting_bytes_most = std::max(queue.counters.waiting_bytes_most, queue.chain.bytes);
  if (settings_.queueing == Queueing::fifo || std::exchange(queue.in_turn, true)) return;
  ports_[pool_[id].output].turn.push_back(index);
}

// Frames that found no room, port by port in turn.
void Switch::take_held() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      FrameChain& receive = ports_[(first_input_ + i) % ports_.size()].receive;
      if (receive.frames == 0) continue;
      const Index queue = queue_of(receive.first);
      if (!has_room(queues_[queue], pool_[receive.first].bytes)) continue;
      enter(queue, receive.pop(pool_));
      moved = true;
    }
  }
  first_input_ = (first_input_ + 1) % ports_.size();
}

// ---- from the queues to the transmit queues

void Switch::run(TimeNs now_ns) {
  due_ns_.reset();
  if (settings_.when_full == WhenFull::hold) take_held();
  if (settings_.queueing == Queueing::fifo) {
    serve_fifo(now_ns);
  } else {
    for (std::size_t output = 0; output < ports_.size(); ++output) serve(output, now_ns);
  }
  request_pauses(now_ns);
  for (const Port& port : ports_) {
    if (port.transmit.frames > 0 && port.paused_until_ns > now_ns) wake_at(port.paused_until_ns);
  }
}

void Switch::wake_at(TimeNs at_ns) { due_ns_ = due_ns_ ? std::min(*due_ns_, at_ns) : at_ns; }

// Moves a queue's first frame if its rate allows it.
bool Switch::send_head(Index index, TimeNs now_ns) {
  Queue& queue = queues_[index];
  const std::uint64_t bytes = wire_bytes(pool_[queue.chain.first].bytes);
  const TimeNs ready_ns = queue.bucket.ready_ns(bytes);
  if (ready_ns > now_ns) {
    wake_at(ready_ns);
    return false;
  }
  queue.bucket.take(now_ns, bytes);
  const FrameId id = queue.chain.pop(pool_);
  ++queue.left;
  ++queue.counters.frames;
  queue.counters.bytes += pool_[id].bytes;
  ports_[pool_[id].output].transmit.push(pool_, id);
  return true;
}

// The queues in turn, each with frames up to the length of the longest one: so acknowledgements and requests,
// which share a queue, keep up with the data of several rings.
void Switch::serve(std::size_t output, TimeNs now_ns) {
  Port& port = ports_[output];
  const std::uint64_t most = wire_bytes(settings_.frame_bytes_max);
  std::size_t early = 0;  // queues, one after the other, that must wait for their rate
  while (port.transmit.frames < settings_.ports[output].transmit_frames && early < port.turn.size()) {
    const Index index = port.turn.front();
    Queue& queue = queues_[index];
    const std::uint64_t bytes = wire_bytes(pool_[queue.chain.first].bytes);
    const bool has_turn = queue.turn_bytes + bytes <= most;
    const bool sent = has_turn && !waits(queue) && send_head(index, now_ns);
    early = has_turn && !sent ? early + 1 : 0;
    if (sent) queue.turn_bytes += bytes;
    if (sent && queue.chain.frames > 0) continue;
    queue.turn_bytes = 0;
    port.turn.pop_front();
    if (queue.chain.frames > 0) {
      port.turn.push_back(index);
    } else {
      queue.in_turn = false;
    }
  }
}

void Switch::serve_fifo(TimeNs now_ns) {
  const FrameChain& chain = queues_[0].chain;
  while (chain.frames > 0) {
    const std::size_t output = pool_[chain.first].output;
    if (ports_[output].transmit.frames >= settings_.ports[output].transmit_frames) return;
    if (!send_head(0, now_ns)) return;
  }
}

// ---- pauses for the senders

void Switch::request_pauses(TimeNs now_ns) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const PortSettings& settings = settings_.ports[i];
    if (settings.pause_bytes == 0) continue;
    Port& port = ports_[i];
    if (port.holds && port.stored_bytes <= settings.pause_bytes / 2) {
      port.holds = false;
      send_control(port, i, 0);
    } else if (port.holds ? now_ns >= port.hold_again_ns : port.stored_bytes > settings.pause_bytes) {
      port.holds = true;
      port.hold_again_ns = now_ns + pause_ns(kLongestPause, settings.bits_per_s) / 2;
      send_control(port, i, kLongestPause);
    }
    if (port.holds) wake_at(port.hold_again_ns);
  }
}

// Control precedes all waiting frames. An earlier one that is still waiting is replaced.
void Switch::send_control(Port& port, std::size_t index, PauseQuanta quanta) {
  if (port.transmit.frames > 0 && pool_[port.transmit.first].control) pool_.remove(port.transmit.pop(pool_));
  const FrameId id = pool_.add(pause_frame(quanta));
  pool_[id].control = true;
  pool_[id].output = static_cast<Index>(index);
  port.transmit.push_front(pool_, id);
}

// ---- sending

std::size_t Switch::transmit(std::size_t index, TimeNs now_ns, std::span<ConstBytes> frames) {
  const Port& port = ports_[index];
  std::size_t count = 0;
  for (FrameId id = port.transmit.first; id != kNoFrame && count < frames.size(); id = pool_[id].next) {
    // A pause holds data up, not the link's control.
    if (now_ns < port.paused_until_ns && !pool_[id].control && !has_bug(SwitchBug::ignore_pause)) break;
    frames[count++] = std::as_const(pool_).bytes(id);
  }
  return count;
}

void Switch::release(FrameId id) {
  const FramePool::Frame& frame = pool_[id];
  if (!frame.control) {
    Port& input = ports_[frame.input];
    WEIR_ASSERT(input.stored_bytes >= frame.bytes);
    input.stored_bytes -= frame.bytes;
    SwitchPortCounters& output = ports_[frame.output].counters;
    WEIR_ASSERT(output.waiting > 0 && output.waiting_bytes >= frame.bytes);
    --output.waiting;
    output.waiting_bytes -= frame.bytes;
  }
  pool_.remove(id);
}

void Switch::sent(std::size_t index, std::size_t count) {
  Port& port = ports_[index];
  WEIR_ASSERT(count <= port.transmit.frames);
  for (std::size_t i = 0; i < count; ++i) {
    const FrameId id = port.transmit.pop(pool_);
    if (pool_[id].control) {
      ++port.counters.pauses_sent;
    } else {
      ++port.counters.sent;
      port.counters.sent_bytes += pool_[id].bytes;
    }
    release(id);
  }
}

void Switch::refused(std::size_t index) {
  Port& port = ports_[index];
  const FrameId id = port.transmit.pop(pool_);
  if (!pool_[id].control) {
    drop(pool_[id].input, FrameDrop::refused);
    if (has_bug(SwitchBug::forget_refused)) ++port.counters.sent;
    ++port.counters.dropped_ahead;
  }
  release(id);
}

// ---- counters

SwitchPortCounters Switch::port(std::size_t index, TimeNs now_ns) const {
  const Port& port = ports_[index];
  SwitchPortCounters counters = port.counters;
  counters.paused_ns += std::min(now_ns, port.paused_until_ns) - port.paused_from_ns;
  return counters;
}

std::uint64_t Switch::held() const {
  std::uint64_t held = 0;
  for (const Port& port : ports_) held += port.counters.waiting;
  return held;
}

RingCounters Switch::ring(std::size_t ring) const {
  WEIR_ASSERT(settings_.queueing == Queueing::rings && ring < settings_.rings.size());
  const Queue& queue = queues_[ring_queues_[ring]];
  RingCounters counters = queue.counters;
  counters.waiting = queue.chain.frames;
  counters.waiting_bytes = queue.chain.bytes;
  return counters;
}

void Switch::begin_period() {
  for (Queue& queue : queues_) {
    queue.counters.waiting_most = queue.chain.frames;
    queue.counters.waiting_bytes_most = queue.chain.bytes;
  }
}

}  // namespace weir::switching
