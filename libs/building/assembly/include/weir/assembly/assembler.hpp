#pragma once

#include <weir/assembly/slice_table.hpp>
#include <weir/assembly/source_tallies.hpp>
#include <weir/base/expected.hpp>
#include <weir/wire/block.hpp>
#include <weir/wire/frame.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace weir::assembly {

// Order in which slices leave the assembler for the filter (only for their first step; later steps leave as
// completed).
enum class ReleaseOrder : std::uint8_t {
  as_completed,
  by_id,         // a slice waits for all open ones with smaller ids
  pushed_by_id,  // likewise, among pushed ones (ANTARES: van Rantwijk 2002, section 5.3.3); others as
                 // completed
};

struct AssemblySettings {
  std::size_t slices_max = 1024;  // open at a time, including those that wait for their confirmation
  std::size_t waiting_max = 0;    // besides these: accepted ones that wait for their writer
  std::uint32_t fragment_bytes_max = 16U << 20;
  std::uint32_t range_bytes = 0;     // longest range of one request; 0: whole fragments
  DurationNs deadline_ns = kSecond;  // per step, from its first request
  // A step that still receives bytes at its deadline is given more time, up to this after its first request:
  // a long line brings the first slices slowly, and large slices take their bytes over the rate.
  DurationNs deadline_most_ns = 0;
  // Deadlines of the first steps, in order, instead of deadline_ns; never extended. 0: deadline_ns.
  std::vector<DurationNs> step_deadlines_ns = {};
  ReleaseOrder order = ReleaseOrder::as_completed;
  bool checksums = true;
};

// Bytes that an open slice takes beside the pool for each source, its row in the record included.
constexpr std::size_t kSourceRowBytes = sizeof(weir_filter_fragment) + sizeof(FragmentProgress) +
                                        sizeof(ConstBytes) + 32;  // libs/records/storage/FORMAT.md
// Returns a `waiting_max` for a DCM: the tables and objects of so many slices take an eighth of
// `buffer_bytes` at most, so that empty slices have a limit as well. Memory in the pool has its own.
[[nodiscard]] std::size_t waiting_slices_max(std::uint64_t buffer_bytes, std::size_t sources);

enum class OpenError : std::uint8_t { full, duplicate };

// Outcomes of one DCM's fragments: requested = received + missing (all reasons) + cancelled, once all slices
// have left. Late, duplicate and unknown fragments are counted in addition.
struct FragmentCounters {
  std::uint64_t requested = 0;
  std::uint64_t received = 0;  // all but the missing ones
  std::uint64_t truncated = 0;
  std::uint64_t suppressed = 0;
  std::uint64_t out_of_step = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t asked_again = 0;
  std::uint64_t late = 0;       // the (slice, attempt) is not open any more, or has given the fragment up
  std::uint64_t duplicate = 0;  // is here already
  std::uint64_t unknown = 0;    // never asked for, or not this peer's to send
  std::uint64_t bytes = 0;      // payload of received fragments
  std::uint64_t cancelled = 0;  // of withdrawn slices, or ahead and not needed
  // prefetched = prefetch_used + prefetch_unused once all slices have left.
  std::uint64_t prefetched = 0;             // part of `requested`: ahead of the step that may need them
  std::uint64_t prefetch_used = 0;          // of `prefetched`, later named by a step
  std::uint64_t prefetch_unused = 0;        // cancelled, or arrived in vain
  std::uint64_t prefetch_bytes = 0;         // part of `bytes`: arrived before a step named them
  std::uint64_t prefetch_wasted_bytes = 0;  // of `prefetched`, and bytes that arrived after a cancel: in vain
  std::array<std::uint64_t, kMissingReasons> missing{};
  // Part of `missing`: in attempts that did not count in the end, or ahead and not needed, so that no stored
  // slice lacks them.
  std::array<std::uint64_t, kMissingReasons> overtaken{};
};

struct SourceInfo {
  SourceId id;
  std::uint32_t readout = 0;  // index
  std::uint64_t corrupt = 0;  // kept, with a wrong checksum
};

// The rest of a fragment, to be asked for (ranges), or all of it once more (checksum).
struct RangeWanted {
  BuiltSlice* slice = nullptr;  // empty: released meanwhile, or given up
  SourceIndex source = 0;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

// Destination of a fragment frame's payload. `slice` is null if it is counted and dropped.
struct Reception {
  BuiltSlice* slice = nullptr;
  SourceIndex source = 0;
  std::byte* target = nullptr;
};

// Length of a fragment at its source.
struct FragmentSize {
  SourceIndex source = 0;
  std::uint32_t bytes = 0;
};

// Result of a block.
struct BlockReception {
  BuiltSlice* slice = nullptr;  // empty: it is not open (any more)
  std::span<const FragmentSize>
      taken;  // those that have bytes, or may have some; valid until the next call of take()
};

// Builds slices from fragments. Pure: no socket, thread or clock. A slice is open from open() to release();
// begin() announces a frame for it, followed by finish() or abandon(), in turn for each connection; take()
// handles a whole block. take_completed() returns slices that are complete, or as complete as possible. One
// thread.
class Assembler {
 public:
  // `sources` sorted by id. `pool` and `slices` outlive the assembler.
  Assembler(AssemblySettings settings, std::vector<SourceInfo> sources, BufferPool& pool, SliceTable& slices);
  // Releases the memory of open slices, except shared memory. Requires: no reception is in progress.
  ~Assembler();
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  // Opens an assigned slice; find() returns it from now on.
  [[nodiscard]] Expected<void, OpenError> open(BuiltSlice& slice, TimeNs now_ns);
  // Marks sources as wanted in this step; ignores those already marked. Returns the number of new ones.
  std::uint32_t want(BuiltSlice& slice, std::span<const SourceIndex> sources);
  std::uint32_t want_all(BuiltSlice& slice);
  // Returns true if these fragments have arrived or are known to be missing: wanting them completes the step.
  [[nodiscard]] bool is_here(const BuiltSlice& slice, const Selection& selection) const;
  // Hides all fragments but those of `named` from the filter until a step wants them: before the first step
  // of a slice that was requested whole, or that begins again. Requires: none is outstanding.
  void hide_unnamed(BuiltSlice& slice, const Selection& named);
  // Shows the fragments that hide_unnamed() has hidden. Requires: no filter reads the slice.
  void show_unnamed(BuiltSlice& slice);
  // Marks sources as requested ahead of a later step: of a slice that has been completed and not decided.
  // Ignores sources requested before. Returns how many are new.
  std::uint32_t want_ahead(BuiltSlice& slice, std::span<const SourceIndex> sources);
  // Cancels unsent requests ahead; returns false if there were none.
  bool cancel_unsent(BuiltSlice& slice);
  // Cancels fragments ahead of these readouts.
  void cancel_ahead_of(BuiltSlice& slice, std::span<const std::uint32_t> readouts);
  // No step follows: cancels fragments ahead, and counts arrived ones as in vain.
  void end_ahead(BuiltSlice& slice);
  // The step's requests go out now: its deadline runs from here.
  void requested(BuiltSlice& slice, TimeNs now_ns);
  // The step's fragments arrive unrequested until `deadline`.
  void expect(BuiltSlice& slice, TimeNs deadline_ns);

  [[nodiscard]] Reception begin(const wire::FrameHeader& header, std::uint32_t readout);
  // True: this was a range, and the next one is under way (FragmentProgress::asked) or is to be asked for
  // (ranges_wanted()).
  bool finish(const Reception& reception, const wire::FrameHeader& header, TimeNs now_ns);
  // A part of a large payload, while it is in the cache: its checksum goes along.
  void part(const Reception& reception, ConstBytes bytes);
  void abandon(const Reception& reception);
  // Handles one slice's part of a completely received block: each row like a separate fragment frame.
  BlockReception take(const wire::BlockSlice& of, const wire::BlockPart& part, std::uint32_t readout,
                      TimeNs now_ns);
  // Returns the open slice of a part of a block, or null.
  [[nodiscard]] BuiltSlice* slice_of(const wire::BlockSlice& of) const {
    return slices_.find(of.slice, of.attempt, of.slot);
  }

  // Gives up the outstanding fragments of these readouts, in all open slices or in one. Costs a step for each
  // source of the readouts and each slice.
  void readouts_lost(std::span<const std::uint32_t> readouts, MissingReason reason, TimeNs now_ns);
  void readouts_lost(BuiltSlice& slice, std::span<const std::uint32_t> readouts, MissingReason reason,
                     TimeNs now_ns);
  // Gives up outstanding fragments: of all slices past their deadline; of one slice.
  void expire(TimeNs now_ns);
  void give_up(BuiltSlice& slice, MissingReason reason, TimeNs now_ns);
  // Puts off the deadlines of steps under way: none is earlier than its step's whole deadline from now.
  void put_off_deadlines(TimeNs now_ns);
  // Bytes of a slice that still arrives may come this far apart (or half a deadline, if that is longer): on a
  // long line TCP needs several round trips after a loss.
  void set_gap(DurationNs gap_ns) { gap_ns_ = gap_ns; }
  // Bytes of the slice have arrived, or of a fragment of it.
  static void note_bytes(BuiltSlice& slice, TimeNs now_ns) { slice.last_fragment_ns = now_ns; }
  // This DCM must not build the slice any longer, though another may: outstanding fragments are neither
  // received nor missing, but cancelled. The slice becomes `decided` without take_completed(). Requires: the
  // filter's state is lost.
  void withdraw(BuiltSlice& slice);
  // Returns slices that stopped waiting for fragments since the last call. Call it before their next step, so
  // that their requests can be cancelled.
  [[nodiscard]] std::vector<BuiltSlice*> take_expired();

  // Appends complete slices in release order, as `queued`.
  void take_completed(std::vector<BuiltSlice*>& out);
  // A slice that take_completed() returned, and that has waited as `unassigned` since, is returned once more,
  // after smaller ids that were opened meanwhile.
  void complete_again(BuiltSlice& slice);
  // Hands out complete slices that wait for a smaller id, because that one waits for their memory.
  void let_overtake();
  // Marks a slice for take_crowded_out(): other slices need its memory, or hold the memory that it needs.
  void crowd_out(BuiltSlice& slice) {
    if (!std::exchange(slice.crowded_out, true)) crowded_out_.push_back(&slice);
  }
  // Returns the slices that collect or wait, and lack memory which other slices hold or hold what these lack,
  // since the last call. Fragments would be lost: they are to be withdrawn, and built later.
  [[nodiscard]] std::vector<BuiltSlice*> take_crowded_out();
  [[nodiscard]] std::vector<RangeWanted>& ranges_wanted() { return ranges_wanted_; }

  // Back to waiting for memory, for another step: want() and requested() follow.
  void next_step(BuiltSlice& slice);
  // Ends a slice: its memory and identity are free, and the object can be reused. Requires: no part of it is
  // in use (filter's state and result, gathering, shipment).
  void release(BuiltSlice& slice);

  // Number of slices with outstanding fragments; leaving(): slices in later states, which release their
  // memory without needing other memory.
  [[nodiscard]] std::size_t collecting() const { return slices_.in(BuildState::collecting).size(); }
  [[nodiscard]] std::size_t leaving() const;
  // True if no slice is open, and none is receiving a fragment.
  [[nodiscard]] bool is_empty() const {
    return slices_.open_count() == 0 && slices_.in(BuildState::released).empty();
  }
  [[nodiscard]] bool full() const {
    const std::size_t waiting = std::min(slices_.accepted_count(), settings_.waiting_max);
    return slices_.open_count() - waiting >= settings_.slices_max;
  }
  [[nodiscard]] const std::vector<SourceInfo>& sources() const { return sources_; }
  [[nodiscard]] std::optional<SourceIndex> index_of(SourceId source) const;
  // Returns the sources of one readout, ascending.
  [[nodiscard]] std::span<const SourceIndex> sources_of(std::uint32_t readout) const {
    if (readout + 1 >= first_of_.size()) return {};
    return std::span(by_readout_).subspan(first_of_[readout], first_of_[readout + 1] - first_of_[readout]);
  }
  // Returns the turns of the loops over sources of lost readouts.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] const FragmentCounters& counters() const { return counters_; }
  // Returns the counts of each source; they add up to counters().
  [[nodiscard]] const SourceTallies& tallies() const { return tallies_; }
  // Returns the memory of a slice as large as the recent ones: SliceMemory::placed_bytes() of its fragments.
  [[nodiscard]] std::size_t slice_bytes_expected() const { return slice_bytes_expected_; }
  // A slice has arrived, or a part from which its size follows: slice_bytes_expected() means something.
  [[nodiscard]] bool knows_sizes() const { return knows_sizes_; }

  // Returns true if the rows of an open slice, one for each source, are a load (64 MB with a million
  // sources): then only slices that are about to be built should be open.
  [[nodiscard]] bool has_many_sources() const { return sources_.size() > kManySources; }
  static constexpr std::size_t kManySources = 4096;

 private:
  using State = FragmentProgress::State;

  Reception place(BuiltSlice& slice, SourceIndex source, const wire::FrameHeader& header);
  Reception find_no_memory(BuiltSlice& slice, SourceIndex source, const wire::FrameHeader& header);
  Reception refuse(BuiltSlice& slice, SourceIndex source, MissingReason reason);
  // All its bytes are at their target.
  void complete_fragment(BuiltSlice& slice, SourceIndex source, const wire::BlockRow& whole, TimeNs now_ns);
  // Stores the sources of the part's rows in row_sources_. Returns true if the slice wants each of them, and
  // has received none.
  bool look_at_rows(const BuiltSlice* slice, const wire::BlockPart& part, std::uint32_t readout);
  void take_rows(BuiltSlice& slice, const wire::BlockPart& part, std::byte* memory, TimeNs now_ns);
  void take_row_alone(const wire::BlockSlice& of, const wire::BlockRow& row, ConstBytes payload,
                      std::uint32_t readout, TimeNs now_ns);
  void expect_next(BuiltSlice& slice, SourceIndex source);
  [[nodiscard]] BuiltSlice* find_next(SourceIndex source, SliceId id, Attempt attempt);
  std::uint32_t wanted(BuiltSlice& slice, std::uint32_t fresh);
  std::uint32_t want_one(BuiltSlice& slice, SourceIndex source);
  void show(BuiltSlice& slice, SourceIndex source);
  void cancel_ahead(BuiltSlice& slice, SourceIndex source);
  void miss_ahead(BuiltSlice& slice, SourceIndex source, MissingReason reason);
  // True: bytes still arrive, and the deadline is a later one now.
  bool extend_deadline(BuiltSlice& slice, TimeNs now_ns);
  void hand_out(BuiltSlice& slice, std::vector<BuiltSlice*>& out);
  void hand_out_by_id(std::vector<BuiltSlice*>& out);
  void mark_missing(BuiltSlice& slice, SourceIndex source, MissingReason reason);
  // Returns the deadline that the slice's step has of its own; 0: none.
  [[nodiscard]] DurationNs own_deadline_ns(const BuiltSlice& slice) const;
  void sort_by_readout();
  void lose(BuiltSlice& slice, SourceIndex source, MissingReason reason, TimeNs now_ns);
  void fragment_done(BuiltSlice& slice, SourceIndex source, TimeNs now_ns);
  void completed(BuiltSlice& slice);
  void learn_size(const BuiltSlice& slice);
  [[nodiscard]] bool waits_for_smaller(const BuiltSlice& slice) const {
    return slice.step == 0 && unreleased_.contains(slice.id()) && *unreleased_.begin() != slice.id();
  }
  void count_missing(SourceIndex source, MissingReason reason);
  void count_overtaken(const BuiltSlice& slice);
  void note_overtaken(SourceIndex source, const weir_filter_fragment& missing);
  void free_memory(BuiltSlice& slice);
  void take_rows_of_spare(BuiltSlice& slice);

  static constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();
  static constexpr SourceIndex kNoSource = std::numeric_limits<SourceIndex>::max();

  AssemblySettings settings_;
  std::vector<SourceInfo> sources_;
  boost::unordered_flat_map<SourceId, SourceIndex, std::hash<SourceId>> index_;
  std::vector<weir_filter_fragment> blank_table_;
  // With many sources: the rows of slices that have left, for the next ones.
  struct Rows {
    std::vector<weir_filter_fragment> table;
    std::vector<FragmentProgress> progress;
  };
  std::vector<Rows> spare_rows_;
  BufferPool& pool_;
  SliceTable& slices_;
  std::set<SliceId> unreleased_;          // ordered by id: neither handed out nor overtaken
  std::vector<BuiltSlice*> places_;       // by readout: the slice of its last fragment, or the next one
  std::vector<SourceIndex> by_readout_;   // all sources, grouped by readout
  std::vector<std::uint32_t> first_of_;   // by readout, and one more: begin of its sources in by_readout_
  std::vector<bool> named_;               // scratch: by source
  std::vector<SourceIndex> row_sources_;  // scratch: of the current block; kNoSource: not this readout's
  std::vector<FragmentSize> taken_;       // of the last block
  std::uint64_t steps_ = 0;
  std::vector<BuiltSlice*> expired_;
  std::vector<BuiltSlice*> crowded_out_;
  std::vector<RangeWanted> ranges_wanted_;
  FragmentCounters counters_;
  SourceTallies tallies_;
  std::size_t slice_bytes_expected_ = 0;
  bool knows_sizes_ = false;
  DurationNs gap_ns_ = 0;
  TimeNs earliest_deadline_ns_ = kNever;  // of the slices that collect, or wait to
};

}  // namespace weir::assembly
