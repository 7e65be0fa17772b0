#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/fabric_plan.hpp>
#include <weir/metrics/histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace weir::lab {

// All switches and cables of a lab with back-pressure. A switch stores frames at the port by which they
// leave, in a queue for each port by which they came and each stream; it serves these ports in rotation, by
// bytes, and the streams of one port likewise. Above a mark of stored bytes it holds the stream's sender
// back, after the cable's delay. Time is virtual: frames leave at the port's rate however late the calls are.
// Pure. The cost of a frame grows with the logarithm of the number of frames in flight.
class SwitchFabric {
 public:
  explicit SwitchFabric(const LabPlan& plan);

  // Takes a frame that a host sends. Returns false if no host has its destination address. Requires: `now_ns`
  // never decreases, in all calls together.
  bool offer(std::size_t host, TimeNs now_ns, ConstBytes frame);
  // Returns whether the host may send further frames. False from the size of its buffer on, until half of it
  // has left.
  [[nodiscard]] bool takes(std::size_t host) const { return !senders_[host].full; }
  // Returns when something happens next, if a frame is in flight.
  [[nodiscard]] std::optional<TimeNs> due_ns() const;
  struct Arrival {
    std::size_t host = 0;
    const std::vector<std::byte>* frame = nullptr;
  };
  // Returns the next frame that has arrived at a host by now, until pop().
  [[nodiscard]] std::optional<Arrival> arrived(TimeNs now_ns);
  // Removes the frame of arrived(). Requires: the host got it at `left_ns`.
  void pop(TimeNs left_ns);

  // Returns the counts of a port as of the last call with a time; ports as in LabPlan::ports.
  [[nodiscard]] PortCount count(std::size_t port) const;
  // Returns the most bytes of one stream that were stored at the end of this port.
  [[nodiscard]] std::uint64_t most_stored(std::size_t port) const { return states_[port].most_stored; }
  // Returns the microseconds by which frames left late.
  [[nodiscard]] const metrics::ValueHistogram& lateness_us() const { return lateness_us_; }

 private:
  using FrameId = std::uint32_t;
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;

  struct Frame {
    std::vector<std::byte> bytes;
    Index source = 0;
    Index destination = 0;
    Index room = kNone;  // that it takes up in the switch where it waits
    FrameId next = kNone;
  };
  // A stream of frames on a cable: their bytes in the switch at its end, and whether its sender is held back.
  struct Room {
    Index port = 0;
    std::uint64_t stored = 0;
    bool held = false;   // the switch's request
    bool holds = false;  // the request has arrived
  };
  // Frames of one stream that came by one port and leave by another.
  struct Lane {
    Index input = 0;
    Index room = kNone;  // at the other end of the port; kNone: that is a host
    FrameId first = kNone;
    FrameId last = kNone;
    std::uint64_t deficit = 0;
    bool in_turn = false;
  };
  struct Input {
    std::deque<Index> turn;  // lanes with frames
    std::uint64_t deficit = 0;
    bool in_turn = false;
  };
  struct PortState {
    FrameId sending = kNone;
    std::deque<FrameId> flying;
    std::vector<Input> inputs;
    std::map<std::size_t, Index> input_of;                      // by the port by which frames came
    std::map<std::pair<std::size_t, StreamId>, Index> lane_of;  // likewise, and by stream
    std::map<StreamId, Index> room_of;                          // of frames at the end of this port
    std::deque<Index> turn;                                     // inputs with frames
    PortCount count;
    std::uint64_t most_stored = 0;
    std::uint32_t holds = 0;  // streams that are held back
    TimeNs held_since_ns = 0;
  };
  struct Sender {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
    bool full = false;
  };
  enum class Kind : std::uint8_t { sent, landed, hold, resume };
  struct Event {
    TimeNs at_ns = 0;
    std::uint64_t order = 0;
    Kind kind = Kind::sent;
    Index index = 0;  // of a port or a room

    bool operator>(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  struct Waiting {
    std::size_t host = 0;
    FrameId frame = 0;
    TimeNs due_ns = 0;
  };

  void run(TimeNs now_ns);
  void add_event(TimeNs at_ns, Kind kind, std::size_t index);
  void sent(std::size_t port);
  void landed(std::size_t port);
  void set_hold(Room& room, bool on);
  void release(FrameId frame);
  void store(std::size_t port, FrameId frame);
  void wait_for_turn(std::size_t port, std::size_t came_by, FrameId frame);
  void take_turn(std::size_t port, Index lane);
  void send_next(std::size_t port);
  [[nodiscard]] FrameId choose(PortState& state);
  [[nodiscard]] Lane* choose_lane(Input& input);
  [[nodiscard]] std::uint64_t wire_bytes(FrameId frame) const;
  [[nodiscard]] DurationNs send_ns(std::size_t port, FrameId frame) const;
  [[nodiscard]] Index room_at(std::size_t port, StreamId stream);
  [[nodiscard]] Lane& lane_at(std::size_t port, std::size_t came_by, StreamId stream, Index& id);
  [[nodiscard]] FrameId new_frame(ConstBytes bytes);
  void forget(FrameId frame);

  FabricPlan plan_;
  std::vector<PortState> states_;
  std::vector<Sender> senders_;
  std::vector<Frame> frames_;
  std::vector<FrameId> spare_;
  std::vector<Room> rooms_;
  std::vector<Lane> lanes_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  TimeNs clock_ns_ = 0;
  std::deque<Waiting> waiting_;  // for pop()
  metrics::ValueHistogram lateness_us_;
};

}  // namespace weir::lab
