#pragma once

#include <weir/base/bounded_queue.hpp>
#include <weir/base/time.hpp>
#include <weir/source/early_slices.hpp>
#include <weir/source/parked_requests.hpp>
#include <weir/source/slice_index.hpp>
#include <weir/source/source.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weir::source {

struct BufferLimits {
  std::uint64_t bytes_max =
      256ULL << 20U;                   // of fragments held; further fragments that do not fit are dropped
  std::size_t slices_max = 8192;       // with fragments held; full: later slices wait to be made
  std::size_t announced_max = 65'536;  // triggers waiting to be made; full: announce() accepts no more
  std::size_t parked_max = 65'536;     // waiting requests; further ones are answered missing, overflow
  // Ids remembered of slices cleared before they were announced and, if ids need not ascend, of the latest
  // cleared ones.
  std::size_t notes_max = 65'536;
  double throttle_high = 0.75;  // throttled from this share of a limit on ...
  double throttle_low = 0.5;    // ... until below this one
  // True: ids ascend in announcements (gaps allowed), so each announcement is also the watermark. False: any
  // order; then only advance_watermark() shows that a slice will not be announced any more.
  bool ids_ascend = true;
  // Where ids ascend: an id that announcements skip had no trigger, or a vetoed one. False: only skip() says
  // so.
  bool gaps_have_no_trigger = true;
  // Limit of fragments that arrive before their slice's announcement. Beyond, the slices kept longest are
  // dropped, early_full.
  std::uint64_t early_bytes_max = 64ULL << 20U;
  std::size_t early_slices_max = 8192;
  // A fragment that has not arrived this long after its slice's announcement is missing, deadline. 0: no
  // limit.
  DurationNs wait_ns = 500 * kMillisecond;
  // Bytes reserved for a fragment that has not arrived, until its source has delivered one; then by its
  // sizes.
  std::uint32_t expected_bytes = 0;
};

enum class Throttle : std::uint8_t { none, bytes, slices, announced };
[[nodiscard]] constexpr std::string_view name(Throttle throttle) {
  constexpr std::string_view kNames[] = {"none", "bytes", "slices", "announced"};
  return kNames[static_cast<std::size_t>(throttle)];
}

// Why a produced fragment is gone without having been cleared.
enum class DropReason : std::uint8_t {
  buffer_full,
  too_large,
  run_ended,
  // For fragments that arrive by themselves:
  late,           // its slice is settled, given up or passed
  duplicate,      // a repetition
  early_full,     // arrived before its slice's announcement, and was evicted
  not_triggered,  // its slice has no trigger, or a vetoed one
};
constexpr std::size_t kDropReasons = 7;
[[nodiscard]] constexpr std::string_view name(DropReason reason) {
  constexpr std::string_view kNames[] = {"buffer_full", "too_large",  "run_ended",    "late",
                                         "duplicate",   "early_full", "not_triggered"};
  return kNames[static_cast<std::size_t>(reason)];
}

// Counts since begin_run(). At any time: produced == cleared + sum of dropped + held, and likewise announced
// == made + never_made + waiting.
struct BufferCounters {
  std::uint64_t produced = 0;  // fragments that sources produced
  std::uint64_t cleared = 0;
  std::array<std::uint64_t, kDropReasons> dropped{};
  std::uint64_t held = 0;
  std::uint64_t bytes_produced = 0;
  std::uint64_t bytes_held = 0;
  std::uint64_t bytes_reserved = 0;  // for fragments of held slices that have not arrived

  std::uint64_t announced = 0;  // slices accepted by announce(), without repeats
  std::uint64_t made = 0;
  std::uint64_t never_made = 0;  // cleared before their turn came
  std::uint64_t waiting = 0;
  std::uint64_t announced_again = 0;  // repeats, and ids at or below the watermark: ignored

  std::uint64_t slices_held = 0;
  std::uint64_t slices_cleared = 0;
  std::uint64_t clears_early = 0;     // before the announcement
  std::uint64_t clears_unknown = 0;   // of slices neither known nor expected: repeats, other process' slices
  std::uint64_t notes_forgotten = 0;  // beyond notes_max

  std::uint64_t served = 0;                              // answers with a fragment
  std::array<std::uint64_t, kMissingReasons> missing{};  // answers without one
  std::uint64_t parked_total = 0;
  std::uint64_t parked = 0;
  std::uint64_t forgotten = 0;  // parked requests dropped by forget()

  std::uint64_t slices_early = 0;   // with fragments before the announcement; these count as held
  std::uint64_t bytes_early = 0;    // of them; not in bytes_held
  std::uint64_t not_arrived = 0;    // fragments given up after wait_ns
  std::uint64_t passed_absent = 0;  // fragments given up because their source reported them as absent
  bool operator==(const BufferCounters&) const = default;
};

// Counts of one source since begin_run(): fragments that reached the buffer, and those of them that it
// dropped although a slice needed them. Repeated fragments are not counted.
struct SourceDrops {
  std::uint64_t reached = 0;
  std::array<std::uint64_t, kDropReasons> dropped{};
  TimeNs last_ns = 0;  // tick() before the last delivery; 0: none, or the source makes its fragments at once
  // Fragments given up after wait_ns since the last sign of the source, and when the first of their slices
  // was announced.
  std::uint64_t unanswered = 0;
  TimeNs unanswered_since_ns = 0;
};

// The result of a delivery.
enum class Delivery : std::uint8_t { taken, late, duplicate, too_large, full, unknown_source };

// Receives answers. Called from inside the buffer's functions; must not call the buffer. The fragment's bytes
// are valid as long as its owner (or, without one, its source); the Fragment itself only during the call.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void answer(const RequestedFragment& request, const SourceFragment& fragment) = 0;
};

// The readout's machine: fragments of its sources, kept from the announcement to the clear. Bounded in bytes,
// slices and waiting requests. Every request gets exactly one answer, unless its connection closes or it is
// cancelled. A slice is known by its id alone: attempts share its fragments. Not thread-safe; uses no clock.
//
// Fragments that sources deliver are kept from their arrival on. One that arrives before its slice's
// announcement waits in a bounded store. A request for a fragment that has not arrived waits until it does,
// until its source reports it as absent, or for wait_ns; meanwhile the buffer reserves the expected bytes,
// so that late fragments find room.
class FragmentBuffer {
 public:
  // Owns the sources. Throws std::runtime_error if two have the same id or a limit is zero.
  FragmentBuffer(std::vector<std::unique_ptr<FragmentSource>> sources, const BufferLimits& limits);

  // Begins empty, with all counters at zero.
  void begin_run(RunNumber run);
  // Answers waiting requests with not_produced, and drops held fragments (run_ended). Counters stay until
  // begin_run().
  void end_run(AnswerSink& sink);

  // Accepts slices to be made, in this order, and returns their number, which is lower than given when
  // announced_max is reached. The caller keeps the rest and tries again.
  [[nodiscard]] std::size_t announce(std::span<const Trigger> triggers, AnswerSink& sink);
  // No slice up to and including this one will be announced any more. Before the first announcement it refers
  // to slices from before this process' start: they are missing as restarted.
  void advance_watermark(SliceId watermark, AnswerSink& sink);

  // These slices will not be announced, because their triggers were vetoed: their fragments are dropped,
  // not_triggered, those that arrive later included. The latest notes_max ranges are remembered. Requires:
  // ids ascend, and none of them was announced.
  void skip(std::span<const SliceId> slices, AnswerSink& sink);

  // This slice was announced before this process took part: it is missing, restarted, until it is cleared.
  // Requires: not announced to this process.
  void miss(SliceId slice, AnswerSink& sink);

  // Makes the fragments of up to `max_slices` announced slices if there is room, and answers the requests
  // that wait for them. Returns how many slices were made; fewer than max_slices: nothing left to do, or no
  // room.
  std::size_t make_some(std::size_t max_slices, AnswerSink& sink);

  // Delivers a fragment of a source that is not at_once. Status missing: it will not arrive, for its reason.
  Delivery deliver(SourceId source, SliceId slice, SourceFragment fragment, AnswerSink& sink);
  // Marks this fragment, if it has arrived and waits for its announcement.
  void mark_out_of_step(SourceId source, SliceId slice);
  // The source will deliver no more fragments up to and including this slice; absent ones are missing for
  // `reason`. A slice lower than before is ignored.
  void source_passed(SourceId source, SliceId slice, MissingReason reason, AnswerSink& sink);
  // Gives up fragments that have not arrived in time. Waiting is measured from the last tick. Requires:
  // called before the first announcement.
  void tick(TimeNs now, AnswerSink& sink);

  // Answers at once, or parks the request until the slice is made, cleared, or passed by the watermark.
  void request(const RequestedFragment& request, AnswerSink& sink);
  // The connection is lost: drops its parked requests.
  void forget(std::uint32_t connection);
  // Answers this connection's parked requests for (slice, attempt) with missing, deadline.
  void cancel(std::uint32_t connection, SliceId slice, Attempt attempt, AnswerSink& sink);

  // These slices are settled, and their fragments are no longer needed. A slice cleared before it was
  // announced or made is not made; requests that wait for it are answered not_produced.
  void clear(std::span<const SliceId> slices, AnswerSink& sink);

  // Appends the slices that were announced and not cleared, in no order. Visits the whole table.
  void list_open(std::vector<SliceId>& out) const;
  // Returns whether the slice was announced and not cleared.
  [[nodiscard]] bool is_open(SliceId slice) const { return index_.find(slice) != SliceIndex::kNone; }

  // Returns the limit that is nearly reached, in which case the supervisor should hold back. With hysteresis,
  // see BufferLimits.
  [[nodiscard]] Throttle throttle() const { return throttle_; }
  // Returns the fill level, as a share of the limit that is nearest, and that limit.
  [[nodiscard]] double level() const { return level_; }
  [[nodiscard]] Throttle fullest() const { return fullest_; }
  [[nodiscard]] const BufferCounters& counters() const { return counters_; }
  // Calls visit(source, drops) for each source with dropped fragments.
  template <class Visit>
  void for_each_drops(Visit&& visit) const {
    for (std::size_t column = 0; column < drops_.size(); ++column) {
      const SourceDrops drops = drops_of(column);
      if (drops.dropped != SourceDrops{}.dropped) visit(ids_[column], drops);
    }
  }
  [[nodiscard]] std::span<const SourceId> sources() const { return ids_; }  // ascending
  // Returns the counts of a source, by its place in sources().
  [[nodiscard]] SourceDrops drops_of(std::size_t column) const;

 private:
  enum class State : std::uint8_t { waiting, held, settled };
  struct Entry {
    Trigger trigger;
    State state = State::waiting;
    bool owners = false;        // some fragments have an owner to release
    std::uint32_t row = 0;      // of its fragments, when held
    std::uint32_t kept = 0;     // fragments that count as held
    std::uint32_t pending = 0;  // fragments that have not arrived, when held
    std::uint64_t bytes = 0;
    std::uint64_t reserved = 0;  // for the pending ones
    ParkedRequests::List parked;
  };
  // The expected size of a source's fragments, from those that arrived and those that did not.
  struct ExpectedSize {
    std::uint64_t bytes = 0;
    bool known = false;  // a fragment came
  };
  // An entry with fragments to arrive; it belongs to another slice by now if the ids differ.
  struct Awaited {
    TimeNs until = 0;
    std::uint32_t entry = 0;
    SliceId slice;
  };
  using Row = std::unique_ptr<SourceFragment[]>;  // one per source, in the order of ids_

  static constexpr std::uint32_t kNone = UINT32_MAX;
  [[nodiscard]] std::uint32_t column_of(SourceId source) const;
  [[nodiscard]] bool is_past(SliceId slice) const { return watermark_ && slice <= *watermark_; }
  [[nodiscard]] bool is_missed(SliceId slice) const {
    return !missed_.empty() && missed_.contains(slice.value);
  }
  // Returns whether no fragment of an absent slice can arrive any more.
  [[nodiscard]] bool is_over(SliceId slice) const { return reason_of_absent(slice) != MissingReason::none; }
  [[nodiscard]] MissingReason reason_of_absent(SliceId slice) const;
  [[nodiscard]] bool has_room() const;
  void make(std::uint32_t at);
  [[nodiscard]] std::uint32_t take_row();
  void put_arrived(Entry& entry, std::uint32_t column, bool pushed_out);
  [[nodiscard]] Delivery fill(Entry& entry, std::uint32_t column, SourceFragment fragment, AnswerSink& sink);
  [[nodiscard]] Delivery keep_early(SliceId slice, std::uint32_t column, SourceFragment fragment);
  [[nodiscard]] Delivery drop(std::uint32_t column, const SourceFragment& fragment, DropReason reason,
                              Delivery outcome);
  [[nodiscard]] bool awaits(const Awaited& awaited) const;
  void release_row(std::uint32_t row);
  void release_early(const EarlySlices::Slice& early, DropReason reason);
  void push_out_oldest();
  void clear_early(SliceId slice);
  void answer_arrived(Entry& entry, AnswerSink& sink);
  SourceFragment make_fragment(std::uint32_t column, const Trigger& trigger);
  void put_made(Entry& entry, std::uint32_t column, SourceFragment fragment);
  void reserve(Entry& entry, std::uint32_t column, std::uint64_t bytes);
  void unreserve(Entry& entry, std::uint32_t column);
  void learn_size(std::uint32_t column, std::uint64_t bytes);
  void give_up_pending(Entry& entry, std::uint32_t column, MissingReason reason);
  [[nodiscard]] std::uint64_t bytes_free() const;
  void answer(const RequestedFragment& request, const SourceFragment& fragment, AnswerSink& sink);
  void answer_missing(const RequestedFragment& request, MissingReason reason, AnswerSink& sink);
  void answer_all_missing(ParkedRequests::List& list, MissingReason reason, AnswerSink& sink);
  void park(ParkedRequests::List& list, const RequestedFragment& request, AnswerSink& sink);
  void answer_early(SliceId slice, MissingReason reason, AnswerSink& sink);
  void move_watermark(SliceId slice, AnswerSink& sink);
  void skip_before(SliceId slice, std::optional<SliceId> previous);
  void note(SliceId slice, MissingReason reason);
  void clear_one(SliceId slice, AnswerSink& sink);
  void release_held(Entry& entry, std::uint32_t entry_index);
  [[nodiscard]] std::uint32_t new_entry(const Trigger& trigger);
  void update_throttle();

  BufferLimits limits_;
  std::vector<std::unique_ptr<FragmentSource>> sources_;  // ascending by id, as are the next two
  std::vector<SourceId> ids_;
  std::vector<FragmentSource::Timing> timing_;
  bool any_arrives_ = false;            // some are not at_once
  std::vector<SourceDrops> drops_;      // by column; `reached` where they are not at_once
  std::vector<ExpectedSize> expected_;  // by column, where some are not at_once

  SliceIndex index_;  // waiting and held slices -> entries_
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_rows_;
  BoundedQueue<std::uint32_t> queue_;  // entries to be made, settled ones included

  ParkedRequests parked_;
  boost::unordered_flat_map<std::uint64_t, ParkedRequests::List> early_;  // by slices not announced yet
  SliceId early_lowest_;  // a lower bound of the slices in early_, which saves a scan at each announcement
  SliceNotes notes_;
  boost::unordered_flat_set<std::uint64_t> missed_;  // by miss(), not cleared yet
  // The latest cleared slices, if ids need not ascend: a DCM may still request one for an old attempt, and a
  // front-end may still send it.
  SliceNotes settled_;
  EarlySlices early_slices_;
  SliceNotes pushed_out_;  // slices that lost fragments from early_slices_
  SkippedSlices skipped_;
  std::vector<PassedSlices> passed_;  // by column
  std::deque<Awaited> awaited_;       // in order of time
  TimeNs now_ = 0;
  std::optional<SliceId> watermark_;
  std::optional<SliceId> first_;  // announced to this process in this run
  std::uint64_t slice_bytes_estimate_ = 0;
  Throttle throttle_ = Throttle::none;
  Throttle fullest_ = Throttle::bytes;
  double level_ = 0;
  BufferCounters counters_;
};

}  // namespace weir::source
