#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/shaping/burst_cut_off.hpp>
#include <weir/shaping/shaper.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

// A readout's schedule of sending in push running.
namespace weir::shaping {

// Policy for a slice that is not sent by the end of its slot (ANTARES, thesis section 3.3.3).
enum class Overrun : std::uint8_t {
  fall_behind,  // is sent to its end; the next one waits
  requeue,      // the rest is put behind the next slice for the same DCM
  truncate,     // cannot happen: fragments are cut at overrun_bytes; otherwise like fall_behind
  drop,         // the same with longer fragments not sent at all
};

// The decision on one fragment. It applies to later requests of it too.
enum class PushVerdict : std::uint8_t { whole, truncated, dropped, suppressed };

// Why a fragment, or its rest, was not pushed: it stays in the readout until it is requested.
enum class NotPushed : std::uint8_t { not_connected, asked_for, cleared, full };
constexpr std::size_t kNotPushedReasons = 4;
[[nodiscard]] constexpr std::string_view name(NotPushed reason) {
  constexpr std::string_view kNames[] = {"not_connected", "asked_for", "cleared", "full"};
  return kNames[static_cast<std::size_t>(reason)];
}

struct BarrelSettings {
  bool barrel = true;             // false: `direct`, all at once
  std::uint32_t sources = 0;      // of the readout
  std::uint32_t dcms = 0;         // places of DCMs
  DurationNs slot_ns = 0;         // `barrel`
  std::uint32_t delay_slots = 0;  // `barrel`: this readout's delay, longer with the cut-off
  Overrun overrun = Overrun::fall_behind;
  std::uint32_t overrun_bytes = 0;  // truncate, drop; 0: no limit
  std::uint32_t cut_off_bytes = 0;  // BurstCutOff; 0: none
  std::uint32_t cut_off_slices = 4;
  // By source: the group that it has bursts with, ascending from 0; empty: each source has its own bursts.
  std::vector<std::uint32_t> cut_off_groups = {};
  std::uint64_t ahead_bytes = 262'144;       // a connection with this much unsent gets no more
  std::uint32_t piece_bytes = 65'536;        // of a fragment at a time
  std::size_t slices_max = 65'536;           // known at a time; beyond, a slice is not pushed
  DurationNs stall_ns = 100 * kMillisecond;  // a connection that stalls for longer is skipped
  // A slice that has not begun waits for a connection to its DCM, or for one that stalls, before newer
  // slices.
  bool holds = false;
};

// Returns how many slots readout `index` waits: i div k, so that at most k readouts send to one DCM at a
// time.
[[nodiscard]] constexpr std::uint32_t barrel_delay(std::uint32_t index, std::uint32_t group) {
  return index / group;
}

struct PushLink {
  bool up = false;
  std::uint64_t unsent_bytes = 0;  // not yet passed to the network by its connection
};

// Bytes to be sent now.
struct PushPiece {
  SliceId slice;
  std::uint32_t dcm = 0;
  std::uint32_t source = 0;  // index among the readout's sources
  std::uint32_t offset = 0;
  std::uint32_t length = 0;  // 0: an empty fragment, or the notice of a missing one
};

// Fragments and their payload bytes. At any time, for both:
//   offered = sent + suppressed + dropped + all reasons of not_pushed + waiting
// where a partly sent fragment counts where its last byte went, and bytes cut off by truncation count as
// dropped.
struct BarrelCounters {
  struct Amount {
    std::uint64_t fragments = 0;
    std::uint64_t bytes = 0;
  };
  Amount offered;
  Amount sent;
  Amount suppressed;
  Amount dropped;
  Amount waiting;
  std::array<Amount, kNotPushedReasons> not_pushed{};
  std::uint64_t truncated = 0;  // fragments, among those sent or yet to be
  std::uint64_t behind = 0;     // slices that were begun a slot late or later
  std::uint64_t requeued = 0;   // times that the rest of a slice was put back
  std::uint64_t stalled = 0;    // slices put back because their connection stalled
};

// A readout's sending side. Receives the available slices, the state of its connections and the time, and
// decides which bytes go to which DCM; under `barrel` one slice is sent at a time. Pure; not thread-safe.
class Barrel {
 public:
  explicit Barrel(const BarrelSettings& settings);

  // A slice is available, with the sizes of its fragments by source. Requires: in order of slices, for the
  // cut-off. `ready_ns`: the end of the slice on this machine's clock, from which slots are counted.
  void add(SliceId slice, std::uint32_t dcm, TimeNs ready_ns, std::span<const std::uint32_t> sizes);
  // Returns the next piece to send; the caller counts it as unsent. `links` by DCM. To be called until it
  // returns nothing.
  [[nodiscard]] std::optional<PushPiece> next(TimeNs now_ns, std::span<const PushLink> links);
  // Returns when to call next() if no connection has progressed.
  [[nodiscard]] TimeNs wake_at_ns() const { return wake_ns_; }

  // Its slices below this one are given to other DCMs, which request them: those that wait for a connection
  // to it are not pushed.
  void dcm_left(std::uint32_t dcm, SliceId below);
  // The DCM has requested it: the rest of it is not pushed.
  void asked_for(SliceId slice, std::uint32_t source);
  // The slice is settled and no longer needed.
  void forget(SliceId slice);
  void forget_all();

  [[nodiscard]] PushVerdict verdict(SliceId slice, std::uint32_t source) const;
  [[nodiscard]] const BarrelCounters& counters() const { return counters_; }
  [[nodiscard]] const BarrelSettings& settings() const { return settings_; }

 private:
  enum class State : std::uint8_t { waiting, held, sending, rest, over };
  struct Parcel {
    SliceId slice;
    std::uint32_t dcm = 0;
    State state = State::waiting;
    bool begun = false;
    TimeNs due_ns = 0;
    std::uint32_t source = 0;  // sent next, from `offset` on
    std::uint32_t offset = 0;
    std::vector<std::uint32_t> sizes;  // bytes to send
    std::vector<PushVerdict> verdicts;
    std::vector<bool> gone;  // by source: no more bytes to send
  };

  void decide(Parcel& parcel);
  void cut_off(const Parcel& parcel);
  void suppress(SliceId slice, std::uint32_t source);
  [[nodiscard]] std::optional<PushPiece> next_at_once(std::span<const PushLink> links);
  [[nodiscard]] std::optional<PushPiece> next_in_turn(TimeNs now_ns, std::span<const PushLink> links);
  [[nodiscard]] bool begin(TimeNs now_ns, std::span<const PushLink> links);
  [[nodiscard]] bool begin_rest(TimeNs now_ns, std::span<const PushLink> links);
  [[nodiscard]] bool yields(const Parcel& parcel, TimeNs now_ns, const PushLink& link);
  [[nodiscard]] bool takes_nothing(TimeNs now_ns, const PushLink& link);
  [[nodiscard]] std::optional<PushPiece> take(Parcel& parcel);
  void skip_gone(Parcel& parcel) const;
  [[nodiscard]] bool waits_for_link(const Parcel& parcel) const { return settings_.holds && !parcel.begun; }
  void take_up_held(std::span<const PushLink> links);
  void put_back();
  void end_current();
  void not_pushed(Parcel& parcel, std::uint32_t source, NotPushed reason);
  void leave(Parcel& parcel, NotPushed reason);
  void over(Parcel& parcel);
  [[nodiscard]] Parcel* find(SliceId slice, State state);
  void drop_stale(std::deque<SliceId>& queue, State state);
  void sweep(std::deque<SliceId>& queue);
  void plan_wake(TimeNs now_ns);

  BarrelSettings settings_;
  BurstCutOff cut_off_;
  std::unordered_map<SliceId, Parcel> parcels_;
  std::deque<SliceId> over_;     // oldest first
  std::deque<SliceId> waiting_;  // `barrel`: by due time
  // By DCM. `direct`: all that are to be sent; `barrel`: those that are due and wait for their connection.
  std::vector<std::deque<SliceId>> to_;
  std::deque<SliceId> rests_;  // oldest first
  std::optional<SliceId> current_;
  bool current_is_rest_ = false;
  std::uint32_t slot_dcm_ = 0;  // the DCM of the slot that lasts until slot_end_ns_
  TimeNs slot_end_ns_ = 0;
  SliceId newest_;  // of those added under `barrel`
  TimeNs newest_due_ns_ = std::numeric_limits<TimeNs>::min();
  TimeNs moved_ns_ = 0;  // when the current connection last progressed, or got data
  std::uint64_t unsent_ = 0;
  bool gave_ = false;  // data since the connection was last checked
  TimeNs wake_ns_ = kNever;
  BarrelCounters counters_;
};

}  // namespace weir::shaping
