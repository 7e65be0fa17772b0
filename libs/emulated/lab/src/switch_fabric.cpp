#include "units.hpp"
#include <weir/base/assert.hpp>
#include <weir/lab/switch_fabric.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::lab {
namespace {

constexpr std::size_t kAddressBytes = 6;

// Hosts have the addresses 02:77:00:00:HH:LL, numbered from 1.
std::optional<std::size_t> destination_of(ConstBytes frame, std::size_t hosts) {
  constexpr std::byte kFirst{0x02};
  constexpr std::byte kSecond{0x77};
  if (frame.size() < 2 * kAddressBytes || frame[0] != kFirst || frame[1] != kSecond) return std::nullopt;
  const std::size_t number =
      (std::to_integer<std::size_t>(frame[4]) << 8U) + std::to_integer<std::size_t>(frame[5]);
  if (number == 0 || number > hosts) return std::nullopt;
  return number - 1;
}

}  // namespace

SwitchFabric::SwitchFabric(const LabPlan& plan)
    : plan_(plan), states_(plan.ports.size()), senders_(plan.hosts.size()) {
  for (std::size_t host = 0; host < senders_.size(); ++host)
    senders_[host].bytes_max = plan.ports[plan_.host_port(host)].buffer_bytes;
}

bool SwitchFabric::offer(std::size_t host, TimeNs now_ns, ConstBytes frame) {
  run(now_ns);
  const auto destination = destination_of(frame, plan_.hosts());
  if (!destination || *destination == host) return false;
  const FrameId id = new_frame(frame);
  frames_[id].source = static_cast<Index>(host);
  frames_[id].destination = static_cast<Index>(*destination);
  Sender& sender = senders_[host];
  sender.bytes += frame.size();
  if (sender.bytes >= sender.bytes_max) sender.full = true;
  const std::size_t port = plan_.host_port(host);
  wait_for_turn(port, port, id);
  return true;
}

std::optional<TimeNs> SwitchFabric::due_ns() const {
  if (!waiting_.empty()) return waiting_.front().due_ns;
  if (events_.empty()) return std::nullopt;
  return events_.top().at_ns;
}

std::optional<SwitchFabric::Arrival> SwitchFabric::arrived(TimeNs now_ns) {
  run(now_ns);
  if (waiting_.empty()) return std::nullopt;
  return Arrival{waiting_.front().host, &frames_[waiting_.front().frame].bytes};
}

void SwitchFabric::pop(TimeNs left_ns) {
  WEIR_ASSERT(!waiting_.empty());
  const Waiting first = waiting_.front();
  waiting_.pop_front();
  lateness_us_.record(
      static_cast<std::uint64_t>(std::max<DurationNs>(left_ns - first.due_ns, 0) / kMicrosecond));
  forget(first.frame);
}

PortCount SwitchFabric::count(std::size_t port) const {
  const PortState& state = states_[port];
  PortCount count = state.count;
  if (state.holds > 0) count.paused_ns += clock_ns_ - state.held_since_ns;
  return count;
}

// ---- events

void SwitchFabric::run(TimeNs now_ns) {
  while (!events_.empty() && events_.top().at_ns <= now_ns) {
    const Event event = events_.top();
    events_.pop();
    clock_ns_ = event.at_ns;
    switch (event.kind) {
      case Kind::sent:
        sent(event.index);
        break;
      case Kind::landed:
        landed(event.index);
        break;
      case Kind::hold:
        set_hold(rooms_[event.index], true);
        break;
      case Kind::resume:
        set_hold(rooms_[event.index], false);
        break;
    }
  }
  clock_ns_ = std::max(clock_ns_, now_ns);
}

void SwitchFabric::add_event(TimeNs at_ns, Kind kind, std::size_t index) {
  events_.push({at_ns, order_++, kind, static_cast<Index>(index)});
}

// The last bit of a frame has left a port.
void SwitchFabric::sent(std::size_t port) {
  PortState& state = states_[port];
  const FrameId id = std::exchange(state.sending, kNone);
  const std::uint64_t bytes = frames_[id].bytes.size();
  state.count.bytes += bytes;
  ++state.count.packets;
  state.count.backlog_bytes -= bytes;
  if (plan_.is_host(plan_.ports()[port].from)) {
    Sender& sender = senders_[plan_.ports()[port].from];
    sender.bytes -= bytes;
    if (sender.bytes <= sender.bytes_max / 2) sender.full = false;
  } else {
    release(id);
  }
  state.flying.push_back(id);
  add_event(clock_ns_ + plan_.ports()[port].delay_ns, Kind::landed, port);
  send_next(port);
}

void SwitchFabric::landed(std::size_t port) {
  PortState& state = states_[port];
  const FrameId id = state.flying.front();
  state.flying.pop_front();
  const FabricNode node = plan_.ports()[port].to;
  if (plan_.is_host(node)) {
    waiting_.push_back({node, id, clock_ns_});
  } else {
    store(port, id);
  }
}

// The sender's port receives the request of the switch at its end.
void SwitchFabric::set_hold(Room& room, bool on) {
  WEIR_ASSERT(room.holds != on);
  room.holds = on;
  PortState& state = states_[room.port];
  if (on) {
    ++state.count.pauses;
    if (state.holds++ == 0) state.held_since_ns = clock_ns_;
    return;
  }
  if (--state.holds == 0) state.count.paused_ns += clock_ns_ - state.held_since_ns;
  send_next(room.port);
}

// ---- the switch at a port's end

void SwitchFabric::store(std::size_t port, FrameId id) {
  Frame& frame = frames_[id];
  const FabricPort& cable = plan_.ports()[port];
  frame.room = room_at(port, plan_.stream(frame.source, frame.destination));
  Room& room = rooms_[frame.room];
  const std::uint64_t bytes = frame.bytes.size();
  if (room.stored + bytes > cable.limit) {
    ++states_[port].count.drops;
    forget(id);
    return;
  }
  room.stored += bytes;
  states_[port].most_stored = std::max(states_[port].most_stored, room.stored);
  if (room.stored > cable.hold && !room.held) {
    room.held = true;
    add_event(clock_ns_ + cable.delay_ns, Kind::hold, frame.room);
  }
  wait_for_turn(plan_.next_port(port, frame.source, frame.destination), port, id);
}

void SwitchFabric::release(FrameId id) {
  Frame& frame = frames_[id];
  const Index index = std::exchange(frame.room, kNone);
  Room& room = rooms_[index];
  WEIR_ASSERT(room.stored >= frame.bytes.size());
  room.stored -= frame.bytes.size();
  const FabricPort& cable = plan_.ports()[room.port];
  if (!room.held || room.stored > cable.resume) return;
  room.held = false;
  add_event(clock_ns_ + cable.delay_ns, Kind::resume, index);
}

// ---- sending

void SwitchFabric::wait_for_turn(std::size_t port, std::size_t came_by, FrameId id) {
  Frame& frame = frames_[id];
  states_[port].count.backlog_bytes += frame.bytes.size();
  Index lane_id = 0;
  Lane& lane = lane_at(port, came_by, plan_.stream(frame.source, frame.destination), lane_id);
  if (lane.first == kNone) {
    lane.first = id;
  } else {
    frames_[lane.last].next = id;
  }
  lane.last = id;
  take_turn(port, lane_id);
  send_next(port);
}

void SwitchFabric::take_turn(std::size_t port, Index lane_id) {
  Lane& lane = lanes_[lane_id];
  if (std::exchange(lane.in_turn, true)) return;
  PortState& state = states_[port];
  Input& input = state.inputs[lane.input];
  input.turn.push_back(lane_id);
  if (!std::exchange(input.in_turn, true)) state.turn.push_back(lane.input);
}

// Deficit round robin (Shreedhar and Varghese 1995) over the lanes of an input. Lanes that are held back keep
// their place among the others, so a pause does not change the order. Returns null if no lane can send.
SwitchFabric::Lane* SwitchFabric::choose_lane(Input& input) {
  const std::uint64_t quantum = plan_.frame_bytes_max() + kOverheadBytes;
  for (std::size_t held = 0; held < input.turn.size();) {
    const Index index = input.turn.front();
    Lane& lane = lanes_[index];
    const bool sends = lane.first != kNone && (lane.room == kNone || !rooms_[lane.room].holds);
    if (sends && lane.deficit >= wire_bytes(lane.first)) return &lane;
    input.turn.pop_front();
    if (lane.first == kNone) {
      lane.in_turn = false;
      lane.deficit = 0;
      continue;
    }
    input.turn.push_back(index);
    held = sends ? 0 : held + 1;
    if (sends) lane.deficit += quantum;
  }
  return nullptr;
}

// The same over the inputs of a port.
SwitchFabric::FrameId SwitchFabric::choose(PortState& state) {
  if (state.holds > 0 && state.holds == state.room_of.size()) return kNone;
  const std::uint64_t quantum = plan_.frame_bytes_max() + kOverheadBytes;
  for (std::size_t held = 0; held < state.turn.size();) {
    const Index index = state.turn.front();
    Input& input = state.inputs[index];
    Lane* const lane = choose_lane(input);
    if (lane != nullptr && input.deficit >= wire_bytes(lane->first)) {
      const FrameId id = lane->first;
      lane->deficit -= wire_bytes(id);
      input.deficit -= wire_bytes(id);
      lane->first = std::exchange(frames_[id].next, kNone);
      return id;
    }
    state.turn.pop_front();
    if (input.turn.empty()) {
      input.in_turn = false;
      input.deficit = 0;
      continue;
    }
    state.turn.push_back(index);
    held = lane != nullptr ? 0 : held + 1;
    if (lane != nullptr) input.deficit += quantum;
  }
  return kNone;
}

void SwitchFabric::send_next(std::size_t port) {
  PortState& state = states_[port];
  if (state.sending != kNone) return;
  const FrameId id = choose(state);
  if (id == kNone) return;
  state.sending = id;
  add_event(clock_ns_ + send_ns(port, id), Kind::sent, port);
}

std::uint64_t SwitchFabric::wire_bytes(FrameId frame) const {
  return std::max<std::uint64_t>(frames_[frame].bytes.size() + kOverheadBytes, kShortestBytes);
}

DurationNs SwitchFabric::send_ns(std::size_t port, FrameId frame) const {
  return static_cast<DurationNs>(
      std::ceil(kBitsPerByte * static_cast<double>(wire_bytes(frame)) * static_cast<double>(kSecond) /
                static_cast<double>(plan_.ports()[port].rate_bits_per_s)));
}

// ---- tables

SwitchFabric::Index SwitchFabric::room_at(std::size_t port, StreamId stream) {
  const auto [place, added] = states_[port].room_of.try_emplace(stream, static_cast<Index>(rooms_.size()));
  if (added) rooms_.push_back({static_cast<Index>(port), 0, false, false});
  return place->second;
}

SwitchFabric::Lane& SwitchFabric::lane_at(std::size_t port, std::size_t came_by, StreamId stream, Index& id) {
  PortState& state = states_[port];
  const auto [place, added] = state.lane_of.try_emplace({came_by, stream}, static_cast<Index>(lanes_.size()));
  id = place->second;
  if (!added) return lanes_[id];
  const auto [input, first] = state.input_of.try_emplace(came_by, static_cast<Index>(state.inputs.size()));
  if (first) state.inputs.emplace_back();
  Lane& lane = lanes_.emplace_back();
  lane.input = input->second;
  if (!plan_.is_host(plan_.ports()[port].to)) lane.room = room_at(port, stream);
  return lane;
}

SwitchFabric::FrameId SwitchFabric::new_frame(ConstBytes bytes) {
  if (spare_.empty()) {
    spare_.push_back(static_cast<FrameId>(frames_.size()));
    frames_.emplace_back();
  }
  const FrameId id = spare_.back();
  spare_.pop_back();
  frames_[id].bytes.assign(bytes.begin(), bytes.end());
  return id;
}

void SwitchFabric::forget(FrameId id) {
  frames_[id].room = kNone;
  frames_[id].next = kNone;
  spare_.push_back(id);
}

}  // namespace weir::lab
