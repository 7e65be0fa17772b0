#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>
#include <weir/switching/counters.hpp>
#include <weir/switching/flow_table.hpp>
#include <weir/switching/frame_pool.hpp>
#include <weir/switching/leaky_bucket.hpp>
#include <weir/switching/pause.hpp>
#include <weir/switching/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::switching {

// A switch for data acquisition after Jereczek's thesis (2017, section 5.4.1): a ring for each DCM between
// the receive and the transmit queues, served in turn, each at its own rate. A full transmit queue makes the
// rings wait. Frames enter and leave through calls, so any interface can be at its ports. Pure. Every frame
// that was received has been sent, dropped for a reason, was link control, or is held.
class Switch {
 public:
  // Requires: problem_of(settings) is empty.
  explicit Switch(const SwitchSettings& settings);

  // Takes a frame that arrived at a port. Requires: `now_ns` never decreases, in all calls together.
  void receive(std::size_t port, TimeNs now_ns, ConstBytes frame);
  // Counts a frame that arrived and that the interface cannot hand over.
  void refuse(std::size_t port, FrameDrop reason, std::size_t frame_bytes);
  // Returns whether the port's receive queue has room. Others should wait in the interface.
  [[nodiscard]] bool takes(std::size_t port) const;
  // Moves frames to the transmit queues, as turns, rates and room allow.
  void run(TimeNs now_ns);
  // Returns when run() has more to do although no frame came and none left.
  [[nodiscard]] std::optional<TimeNs> due_ns() const { return due_ns_; }

  // Fills `frames` with the first ones of a port's transmit queue, and returns their number; none during a
  // pause. They stay valid until the next call that is not const.
  [[nodiscard]] std::size_t transmit(std::size_t port, TimeNs now_ns, std::span<ConstBytes> frames);
  // The interface took the first `count` frames of transmit().
  void sent(std::size_t port, std::size_t count);
  // The interface lost the first frame of transmit().
  void refused(std::size_t port);

  // Takes other rings and routes. A ring to the same address and port keeps its frames and counters, also one
  // that was removed and has frames left. The frames of a removed ring leave at its former rate, and before
  // later frames to the same address: its successor waits for them; without a successor they have no rate,
  // and later frames use the ring until it is empty. Frames to an address that has another port now leave by
  // it, those in the transmit queue too. Held frames take their new way, or are dropped if they have none.
  // Requires: problem_of_change(settings(), settings) is empty.
  void change(const SwitchSettings& settings);

  [[nodiscard]] const SwitchSettings& settings() const { return settings_; }
  [[nodiscard]] SwitchPortCounters port(std::size_t port, TimeNs now_ns) const;
  // Returns the counters of a ring; of Queueing::rings only.
  [[nodiscard]] RingCounters ring(std::size_t ring) const;
  // Forgets the greatest depths of the rings.
  void begin_period();
  // Returns the frames that are in the switch now.
  [[nodiscard]] std::uint64_t held() const;
  // Returns the number of frames for which all queues together have room.
  [[nodiscard]] std::uint64_t memory_frames() const { return memory_frames_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNoQueue = UINT32_MAX;

  // Holds back the frames of a queue from position `from` until the first `until` frames of another queue
  // have left: a change of the table has moved a flow, and its earlier frames are there.
  struct Wait {
    std::uint64_t from = 0;
    Index queue = 0;
    std::uint64_t until = 0;
  };
  struct Queue {
    FrameChain chain;
    std::uint32_t frames_max = 0;
    std::uint64_t bytes_max = 0;  // 0: none
    LeakyBucket bucket;
    RingCounters counters;
    bool in_turn = false;
    std::uint64_t turn_bytes = 0;  // that left in the present turn
    std::optional<FlowRing> ring;  // whose queue it is, or was at last
    std::uint64_t left = 0;        // frames that left, of all its rings
    std::deque<Wait> waits;
  };
  struct Port {
    FrameChain receive;
    FrameChain transmit;
    std::deque<Index> turn;  // queues with frames for this port
    SwitchPortCounters counters;
    std::uint64_t stored_bytes = 0;  // that came by this port
    TimeNs paused_from_ns = 0;
    TimeNs paused_until_ns = 0;
    bool holds = false;        // it has sent a pause
    TimeNs hold_again_ns = 0;  // when to send it again
  };

  void make_queues();
  static void give(Queue& queue, const FlowRing& ring);
  // A wait in a queue, by number.
  struct Follower {
    Index queue = 0;
    std::size_t wait = 0;
  };
  void move_frames();
  [[nodiscard]] std::vector<Follower> move_rings();
  void move_others();
  void sort_turns();
  void move_transmit(std::size_t port);
  void move_held(Port& port);
  [[nodiscard]] std::size_t output_of(FrameId id) const;
  bool redirect(FrameId id, std::size_t output);
  void lose(FrameId id, FrameDrop reason);
  [[nodiscard]] std::vector<FrameId> take_out(Index index, const std::function<bool(FrameId)>& is_taken);
  void place_rings(const std::vector<Index>& former, std::vector<Index>& added);
  // Returns the empty queues without a ring.
  [[nodiscard]] std::vector<Index> unused_queues() const;
  void keep_order(std::vector<Index> moved);
  void wait_for(Index queue, Index earlier);
  [[nodiscard]] bool waits(Queue& queue) const;
  [[nodiscard]] bool keeps_order(const Queue& queue) const;
  void drop(std::size_t input, FrameDrop reason) {
    ++ports_[input].counters.dropped[static_cast<std::size_t>(reason)];
  }
  void take_control(Port& port, const PortSettings& settings, TimeNs now_ns, ConstBytes frame);
  // The queue of a port for frames without a ring, with Queueing::rings.
  [[nodiscard]] Index other_queue(std::size_t port) const { return first_other_ + static_cast<Index>(port); }
  [[nodiscard]] Index queue_of(std::size_t input, const FrameDestination& to,
                               const FlowTable::Target& target);
  [[nodiscard]] Index queue_of(FrameId id);
  [[nodiscard]] std::optional<Index> emptying_queue_of(const FrameDestination& to);
  [[nodiscard]] bool has_room(const Queue& queue, std::size_t bytes) const;
  void store(std::size_t input, std::size_t via, Index queue, ConstBytes frame);
  void enter(Index queue, FrameId id);
  void release(FrameId id);
  void take_held();
  [[nodiscard]] bool send_head(Index queue, TimeNs now_ns);
  void serve(std::size_t output, TimeNs now_ns);
  void serve_fifo(TimeNs now_ns);
  void request_pauses(TimeNs now_ns);
  void send_control(Port& port, std::size_t index, PauseQuanta quanta);
  void wake_at(TimeNs at_ns);

  SwitchSettings settings_;
  FlowTable table_;
  FramePool pool_;
  std::vector<Port> ports_;
  std::vector<Queue> queues_;
  std::vector<Index> ring_queues_;  // by ring
  // Queues of removed rings that have no successor and hold frames, by address and port.
  std::unordered_map<std::uint64_t, Index> emptying_;
  Index first_other_ = 0;  // with rings: the queue of other frames for the first port
  std::uint64_t memory_frames_ = 0;
  std::size_t first_input_ = 0;  // whose held frames come first
  std::optional<TimeNs> due_ns_;
};

}  // namespace weir::switching
