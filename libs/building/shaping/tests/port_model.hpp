#pragma once

#include "plain_choice.hpp"
#include <weir/base/hash.hpp>
#include <weir/base/time.hpp>
#include <weir/shaping/shaper.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

namespace weir::shaping {

// A model of a switch port and its hosts in simulated time: DCMs request pieces from readouts, which meet in
// the port's queue. A piece that does not fit is lost and retransmitted after TCP's timeout.
class PortModel {
 public:
  struct Settings {
    double bytes_per_s = 125e6;
    double buffer_bytes = 100e3;
    DurationNs way_ns = 60 * kMicrosecond;     // round trip without queues
    DurationNs jitter_ns = 40 * kMicrosecond;  // mean additional time of the hosts, exponential
    DurationNs timeout_ns = 200 * kMillisecond;
    DurationNs probe_ns = 5 * kMillisecond;
    std::uint64_t seed = 1;
  };

  // One DCM: slices of `readouts` fragments, in order, as many as its credit allows.
  struct Collector {
    std::unique_ptr<Shaper> shaper;
    std::uint32_t readouts = 8;
    std::uint64_t fragment_bytes = 64U << 10U;
    double slices_per_s = 0;  // offered; 0: unlimited
    TimeNs from_ns = 0;
    TimeNs until_ns = kNever;

    std::uint64_t bytes = 0;  // received
    std::vector<DurationNs> latencies_ns;
    std::uint64_t lost = 0;  // pieces

    struct Slice {
      std::vector<std::uint64_t> left;  // not yet requested, by readout
      std::uint64_t outstanding = 0;    // bytes not received
      TimeNs first_ns = -1;
    };
    std::deque<Slice> slices;
    std::uint64_t first_slice = 0;
    std::vector<std::uint64_t> owed;
    TimeNs next_slice_ns = 0;
  };

  explicit PortModel(const Settings& settings) : settings_(settings), random_(mix64(settings.seed)) {}

  Collector& add(std::unique_ptr<Shaper> shaper, std::uint32_t readouts, std::uint64_t fragment_bytes) {
    auto collector = std::make_unique<Collector>();
    collector->shaper = std::move(shaper);
    collector->readouts = readouts;
    collector->fragment_bytes = fragment_bytes;
    collector->owed.resize(readouts);
    collectors_.push_back(std::move(collector));
    return *collectors_.back();
  }
  Settings& settings() { return settings_; }
  [[nodiscard]] TimeNs now_ns() const { return now_ns_; }
  // A bulk flow that always holds this much of the queue, and yields only to losses.
  double foreign_bytes = 0;

  void run_until(TimeNs end_ns) {
    if (!begun_) {
      for (auto& collector : collectors_) {
        at(collector->from_ns, [this, c = collector.get()] { idle_pass(*c); });
      }
    }
    begun_ = true;
    while (!events_.empty() && events_.top().at_ns <= end_ns) {
      now_ns_ = events_.top().at_ns;
      const auto act = events_.top().act;
      events_.pop();
      act();
    }
    now_ns_ = end_ns;
  }

 private:
  struct Event {
    TimeNs at_ns = 0;
    std::uint64_t order = 0;
    std::function<void()> act;
    bool operator<(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  void at(TimeNs when_ns, std::function<void()> act) { events_.push({when_ns, ++order_, std::move(act)}); }
  double uniform() { return static_cast<double>((random_ = mix64(random_)) >> 11U) * 0x1p-53; }
  DurationNs jitter() {
    return static_cast<DurationNs>(-std::log(1 - uniform()) * static_cast<double>(settings_.jitter_ns));
  }

  static constexpr std::uint64_t kSegment = 1448;

  // Length on the wire of a piece of the stream.
  static double wire_bytes(std::uint64_t bytes) { return static_cast<double>(bytes) * 1538 / 1448; }

  // A node's loop passes now and then, without any arrival.
  void idle_pass(Collector& c) {
    pass(c);
    at(now_ns_ + 5 * kMillisecond, [this, &c] { idle_pass(c); });
  }

  void pass(Collector& c) {
    if (now_ns_ < c.from_ns || now_ns_ >= c.until_ns) return;
    if (c.slices_per_s > 0) {
      while (c.next_slice_ns <= now_ns_) {
        open(c);
        c.next_slice_ns += static_cast<DurationNs>(1e9 / c.slices_per_s);
        at(c.next_slice_ns, [this, &c] { pass(c); });
      }
    } else {
      while (c.slices.size() < 16) open(c);
    }
    bool wanting = false;
    for (std::size_t i = 0; i < c.slices.size() && !wanting; ++i) wanting = !ask(c, i);
    c.shaper->end_of_pass(wanting, now_ns_);
  }

  void open(Collector& c) {
    Collector::Slice slice;
    slice.left.assign(c.readouts, c.fragment_bytes);
    slice.outstanding = c.fragment_bytes * c.readouts;
    c.shaper->set_slice_bytes(slice.outstanding);
    c.slices.push_back(std::move(slice));
  }

  // Returns false if the shaper grants no more.
  bool ask(Collector& c, std::size_t index) {
    Collector::Slice& slice = c.slices[index];
    std::vector<bool> closed(c.readouts);
    for (;;) {
      std::vector<Candidate> candidates;
      for (std::uint32_t r = 0; r < c.readouts; ++r) {
        if (slice.left[r] > 0) candidates.push_back({r, c.owed[r], slice.left[r], !closed[r]});
      }
      const auto chosen = choose(ReadoutOrder::least_loaded, candidates, 0, c.readouts);
      if (!chosen) return true;
      const std::uint32_t r = candidates[*chosen].readout;
      const std::uint64_t most = c.shaper->piece_bytes();
      std::uint64_t piece = slice.left[r];
      if (most > 0 && piece > (piece == c.fragment_bytes ? 2 * most : most + most / 2)) piece = most;
      const Credit credit = c.shaper->try_take({r, 1, piece}, now_ns_);
      if (credit == Credit::full) return false;
      if (credit == Credit::readout_full) {
        closed[r] = true;
        continue;
      }
      slice.left[r] -= piece;
      c.owed[r] += piece;
      if (slice.first_ns < 0) slice.first_ns = now_ns_;
      const std::uint64_t id = c.first_slice + index;
      const TimeNs asked = now_ns_;
      at(now_ns_ + settings_.way_ns + jitter(),
         [this, &c, id, r, piece, asked] { send(c, id, r, piece, asked); });
    }
  }

  void send(Collector& c, std::uint64_t slice, std::uint32_t r, std::uint64_t piece, TimeNs asked) {
    const double rate = settings_.bytes_per_s / 1e9;
    const double foreign_ns = foreign_bytes / rate;
    const double queued_ns = std::max(0.0, static_cast<double>(port_free_ns_ - now_ns_));
    if ((queued_ns + foreign_ns) * rate + wire_bytes(piece) > settings_.buffer_bytes) {
      ++c.lost;
      // TCP's probe of the tail detects the loss, and its timeout repairs it: the worst case.
      at(now_ns_ + settings_.probe_ns,
         [this, &c, r, piece] { c.shaper->retransmitted(r, (piece + kSegment - 1) / kSegment, now_ns_); });
      at(now_ns_ + settings_.timeout_ns,
         [this, &c, slice, r, piece, asked] { send(c, slice, r, piece, asked); });
      return;
    }
    // A foreign flow's share of the rate equals its share of the queue.
    const double held = queued_ns * rate + wire_bytes(piece);
    const double share = foreign_bytes > 0 ? held / (held + foreign_bytes) : 1;
    port_free_ns_ =
        std::max(port_free_ns_, now_ns_) + static_cast<DurationNs>(wire_bytes(piece) / rate / share);
    // Segment by segment: received bytes leave the window before the piece is complete.
    for (std::uint64_t here = 0; here < piece; here += kSegment) {
      const std::uint64_t part = std::min(kSegment, piece - here);
      const double later_ns = wire_bytes(piece - here - part) / rate / share;
      at(port_free_ns_ - static_cast<DurationNs>(later_ns), [this, &c, r, part] {
        c.bytes += part;
        c.owed[r] -= part;
        c.shaper->arrived(r, part, now_ns_);
        pass(c);
      });
    }
    at(port_free_ns_, [this, &c, slice, r, piece, asked] { arrive(c, slice, r, piece, asked); });
  }

  void arrive(Collector& c, std::uint64_t slice, std::uint32_t r, std::uint64_t piece, TimeNs asked) {
    c.shaper->answered(r, 1, 0, now_ns_);
    c.shaper->response({r, now_ns_ - asked, piece}, now_ns_);
    Collector::Slice& of = c.slices[slice - c.first_slice];
    of.outstanding -= piece;
    if (of.outstanding == 0) c.latencies_ns.push_back(now_ns_ - of.first_ns);
    while (!c.slices.empty() && c.slices.front().outstanding == 0) {
      c.slices.pop_front();
      ++c.first_slice;
    }
    pass(c);
  }

  Settings settings_;
  std::uint64_t random_;
  std::vector<std::unique_ptr<Collector>> collectors_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  TimeNs now_ns_ = 0;
  TimeNs port_free_ns_ = 0;
  bool begun_ = false;
};

}  // namespace weir::shaping
