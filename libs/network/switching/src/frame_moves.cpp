#include "switch_bugs.hpp"
#include <weir/switching/switch.hpp>

#include <algorithm>
#include <utility>

// Moves waiting frames to the port that their address has after a change of the table, in their order.
namespace weir::switching {

void Switch::move_frames() {
  const std::vector<Follower> followers = move_rings();
  move_others();
  for (const Follower& one : followers) {
    Wait& wait = queues_[one.queue].waits[one.wait];
    wait.queue = other_queue(queues_[one.queue].ring->via);
    wait.until = queues_[wait.queue].left + queues_[wait.queue].chain.frames;
  }
  sort_turns();
  for (std::size_t port = 0; port < ports_.size(); ++port) {
    move_transmit(port);
    move_held(ports_[port]);
  }
}

// Returns the port by which a waiting frame leaves: its former one if its address has none any more.
std::size_t Switch::output_of(FrameId id) const {
  const auto target = table_.find(*destination_of(pool_.bytes(id)));
  return target ? target->via : pool_[id].output;
}

// Returns false if the frame was dropped, because its destination is behind its port now.
bool Switch::redirect(FrameId id, std::size_t output) {
  FramePool::Frame& frame = pool_[id];
  if (frame.output == output) return true;
  if (frame.input == output) {
    lose(id, FrameDrop::same_port);
    return false;
  }
  SwitchPortCounters& from = ports_[frame.output].counters;
  --from.waiting;
  from.waiting_bytes -= frame.bytes;
  frame.output = static_cast<Index>(output);
  SwitchPortCounters& to = ports_[output].counters;
  ++to.waiting;
  to.waiting_bytes += frame.bytes;
  return true;
}

void Switch::lose(FrameId id, FrameDrop reason) {
  if (!has_bug(SwitchBug::forget_moved)) drop(pool_[id].input, reason);
  release(id);
}

// Rings move as a whole. Returns the waits for frames in the queues of other frames, which may move, too.
std::vector<Switch::Follower> Switch::move_rings() {
  std::vector<Follower> followers;
  for (Index index = 0; index < queues_.size(); ++index) {
    Queue& queue = queues_[index];
    if (!queue.ring) continue;
    const auto target =
        table_.find({.address = queue.ring->address, .port = queue.ring->port, .is_data = true});
    if (!target || target->via == queue.ring->via) continue;
    const Index other = other_queue(std::exchange(queue.ring->via, target->via));
    for (std::size_t i = 0; i < queue.waits.size(); ++i) {
      const Wait& wait = queue.waits[i];
      if (wait.queue == other && queues_[other].left < wait.until) followers.push_back({index, i});
    }
    for (const FrameId id : take_out(index, [&](FrameId one) { return pool_[one].input == target->via; }))
      lose(id, FrameDrop::same_port);
    for (FrameId id = queue.chain.first; id != kNoFrame; id = pool_[id].next) (void)redirect(id, target->via);
  }
  return followers;
}

void Switch::move_others() {
  for (std::size_t port = 0; port < ports_.size(); ++port) {
    for (const FrameId id :
         take_out(other_queue(port), [&](FrameId one) { return output_of(one) != port; })) {
      const std::size_t output = output_of(id);
      if (redirect(id, output)) queues_[other_queue(output)].chain.push(pool_, id);
    }
  }
}

// Takes these frames out of a queue. The positions of those behind them, for which other queues wait, change.
std::vector<FrameId> Switch::take_out(Index index, const std::function<bool(FrameId)>& is_taken) {
  Queue& queue = queues_[index];
  FrameChain before = std::exchange(queue.chain, {});
  std::vector<FrameId> taken;
  std::vector<std::uint64_t> positions;
  for (std::uint64_t position = queue.left; before.frames > 0; ++position) {
    const FrameId id = before.pop(pool_);
    if (is_taken(id)) {
      taken.push_back(id);
      positions.push_back(position);
    } else {
      queue.chain.push(pool_, id);
    }
  }
  if (taken.empty()) return taken;
  const auto taken_before = [&](std::uint64_t position) {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(positions, position) - positions.begin());
  };
  for (Wait& wait : queue.waits) wait.from -= taken_before(wait.from);
  for (Queue& other : queues_) {
    for (Wait& wait : other.waits) {
      if (wait.queue == index) wait.until -= taken_before(wait.until);
    }
  }
  return taken;
}

void Switch::sort_turns() {
  std::vector<Index> order;
  for (Port& port : ports_) {
    for (const Index index : std::exchange(port.turn, {})) order.push_back(index);
  }
  for (Index index = 0; index < queues_.size(); ++index) {
    if (!queues_[index].in_turn) order.push_back(index);
  }
  for (const Index index : order) {
    Queue& queue = queues_[index];
    queue.in_turn = queue.chain.frames > 0;
    if (queue.in_turn)
      ports_[pool_[queue.chain.first].output].turn.push_back(index);
    else
      queue.turn_bytes = 0;
  }
}

void Switch::move_transmit(std::size_t port) {
  if (has_bug(SwitchBug::leave_transmit)) return;
  FrameChain before = std::exchange(ports_[port].transmit, {});
  while (before.frames > 0) {
    const FrameId id = before.pop(pool_);
    const std::size_t output = pool_[id].control ? port : output_of(id);
    if (redirect(id, output)) ports_[output].transmit.push(pool_, id);
  }
}

// Held frames have not entered a queue: they are treated as if they arrived now.
void Switch::move_held(Port& port) {
  FrameChain before = std::exchange(port.receive, {});
  while (before.frames > 0) {
    const FrameId id = before.pop(pool_);
    if (!table_.find(*destination_of(pool_.bytes(id)))) {
      lose(id, FrameDrop::no_route);
    } else if (redirect(id, output_of(id))) {
      port.receive.push(pool_, id);
    }
  }
}

}  // namespace weir::switching
