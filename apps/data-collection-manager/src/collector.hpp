#pragma once

#include "lost_readouts.hpp"
#include "pending_requests.hpp"
#include "wants.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/shaping/expected_size.hpp>
#include <weir/shaping/readout_choice.hpp>
#include <weir/shaping/shaper.hpp>
#include <weir/slice_rows/absences.hpp>
#include <weir/wire/batch.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weir::dcm {

struct CollectorSettings {
  assembly::AssemblySettings assembly;
  std::uint32_t readouts = 0;
  shaping::ReadoutOrder order = shaping::ReadoutOrder::least_loaded;
  std::uint32_t first_readout = 0;  // this DCM's own place among the readouts (rotation)
  std::size_t memory_bytes = 0;     // size of the pool
  // Nonzero for a DCM of a remote group: no step ends while the line may be down, and a longer silence was an
  // outage.
  DurationNs silence_ns = 0;
  std::uint64_t piece_bytes_max =
      UINT64_MAX;  // most that is requested at a time, whatever the shaper allows; at most twice as much
};

// Decides when which request goes to which readout, and how slices proceed without a lost readout. Pure: the
// caller sends the frames of take_frames(), and reports connections by readout_up() and readout_down().
class Collector {
 public:
  Collector(CollectorSettings settings, assembly::Assembler& assembler, assembly::SliceTable& slices,
            BufferPool& pool, std::unique_ptr<shaping::Shaper> shaper);

  [[nodiscard]] std::shared_ptr<const assembly::Selection> select(std::span<const SourceId> sources) const;
  [[nodiscard]] const std::shared_ptr<const assembly::Selection>& everything() const { return everything_; }

  // A slice that was just opened, or that goes into its next step: it waits for memory.
  void collect(assembly::BuiltSlice& slice, std::shared_ptr<const assembly::Selection> selection);
  // Adds a slice of push running: readouts send its fragments without a request.
  void expect_pushed(assembly::BuiltSlice& slice, TimeNs now_ns);
  // Marks the fragments of absent readouts in a slice that was opened by fragments before its assignment.
  void assignment_came(assembly::BuiltSlice& slice, TimeNs now_ns);
  // Requests the missing fragments of a pushed slice from these readouts.
  void ask_for_rest(assembly::BuiltSlice& slice, std::span<const std::uint32_t> readouts);
  // Sources that the farm file names for the step after each step, in the order of steps.
  void prefetch_after_steps(std::vector<std::vector<SourceId>> sources);
  // Call when a step of the slice is complete: requests the sources that the next step will probably need, if
  // window and memory have room to spare.
  void fetch_ahead(assembly::BuiltSlice& slice, TimeNs now_ns) {
    if (slice.gathering.hint != nullptr || slice.step < after_steps_.size()) begin_ahead(slice, now_ns);
  }
  // Sends the requests that fetch_ahead() has begun in this pass.
  void issue_ahead(TimeNs now_ns) {
    if (std::exchange(ahead_begun_, false)) issue(now_ns);
  }
  // The slice is decided: cancels its fragments that are ahead, at the readouts, too.
  void end_ahead(assembly::BuiltSlice& slice) {
    if (!slice.early.empty()) cancel_ahead(slice);
  }
  // Builds the rest of a slice from the readouts that was to come from the DCM that keeps it.
  void build_from_readouts(assembly::BuiltSlice& slice, TimeNs now_ns);
  // Slices that wait for the DCM that keeps them, and have memory; the caller that requests them clears the
  // list.
  [[nodiscard]] std::vector<std::pair<SliceId, Attempt>>& to_fetch() { return to_fetch_; }
  // Fetched slices with a fragment of a wrong checksum: the caller has the rest built from the readouts.
  [[nodiscard]] std::vector<std::pair<SliceId, Attempt>> take_wrong_copies() {
    return std::exchange(wrong_copies_, {});
  }
  // Any readout with sources has no connection, or a silent one.
  [[nodiscard]] bool any_readout_lost() const;
  // A slice is about to be released.
  void forget(assembly::BuiltSlice& slice);

  // Which readouts have no part in which slices, from now on: their fragments are missing (`removed`) without
  // being asked for. Of slices that are open, too.
  void set_absences(slice_rows::AbsenceTable absences, TimeNs now_ns);

  void readout_up(std::uint32_t readout, TimeNs now_ns);
  void readout_down(std::uint32_t readout);
  [[nodiscard]] bool is_up(std::uint32_t readout) const { return flows_[readout].up; }

  // A readout is lost when it has no connection, or a silent one.
  void set_lost(std::uint32_t readout, bool lost) { lost_.set_lost(readout, lost); }
  // The last time at which data arrived from it.
  void set_heard(std::uint32_t readout, TimeNs heard_ns) { heard_[readout] = heard_ns; }
  // Sets the farm's verdict, by readout: fragments of lost readouts that are `missing` are given up
  // immediately until the readout is back. `cut_off`: see take_stranded().
  void set_verdict(const std::vector<bool>& missing, bool cut_off) { lost_.set_verdict(missing, cut_off); }
  // Returns, while this DCM is cut off, the slices that wait for a lost readout without such a verdict.
  [[nodiscard]] std::vector<assembly::BuiltSlice*> take_stranded();
  // It has sources.
  [[nodiscard]] bool serves(std::uint32_t readout) const { return flows_[readout].sources > 0; }

  // One pass: deadlines, lost readouts, requests.
  void pass(TimeNs now_ns);
  // Returns when a pass is needed even if nothing arrives; shaping::kNever: never.
  [[nodiscard]] TimeNs wake_at_ns() const { return shaper_->next_ns(); }

  // Records received bytes of a frame of this readout; `slice` is the slice that they belong to, or null.
  void arrived(std::uint32_t readout, assembly::BuiltSlice* slice, std::uint64_t bytes, TimeNs now_ns);
  // Handles a complete frame (a fragment, a range of one, or `missing`), after arrived() for its last bytes.
  // `reception` is the assembler's result for this frame.
  void answered(std::uint32_t readout, const assembly::Reception& reception, const wire::FrameHeader& header);
  // The same of a block, after the assembler has taken it.
  void answered(std::uint32_t readout, const assembly::BlockReception& reception,
                const wire::FrameHeader& header);
  // Handles a readout's timing of the request that it answered last; `arrived_ns`: its arrival at this host.
  void timed(std::uint32_t readout, const wire::Timing& timing, TimeNs arrived_ns);
  // It is not known after all when that came.
  void forget_timing(std::uint32_t readout);
  // Readouts with frames to send; the caller that sends them clears the list.
  [[nodiscard]] std::vector<std::uint32_t>& to_send() { return to_send_; }
  // Request and cancel frames for this readout, in order, appended.
  void take_frames(std::uint32_t readout, std::vector<std::byte>& out);
  // Iterations of all loops over readouts, slices and lost sources, and of the choice: the cost of collecting
  // so far.
  [[nodiscard]] std::uint64_t steps() const {
    return steps_ + wants_.steps() + ahead_wants_.steps() + choice_.steps() + absences_.steps() +
           assembler_.steps();
  }
  [[nodiscard]] shaping::Shaper& shaper() { return *shaper_; }
  // Requests sent although the shaper's window was full, because its outstanding requests made no progress.
  [[nodiscard]] std::uint64_t overdrawn() const { return overdrawn_; }
  // Returns how many slices passed their deadline without a byte while all readouts were connected.
  [[nodiscard]] std::uint64_t expired_empty() const { return expired_empty_; }

 private:
  // A request that was answered.
  struct Reply {
    std::uint32_t readout = 0;
    TimeNs asked_ns = 0;
    std::uint64_t bytes = 0;
    std::uint64_t owed = 0;
    TimeNs arrived_ns = 0;
    DurationNs held_ns = 0;  // at the readout
  };
  // Bytes received from a readout; the shaper is informed once per pass.
  struct Progress {
    std::uint64_t bytes = 0;      // requested bytes
    std::uint32_t fragments = 0;  // answered
    std::uint64_t rest = 0;       // bytes that will not come any more, of those
    bool told = true;             // false: listed in progressed_
  };
  struct Flow {
    wire::RequestWriter requests;
    std::vector<std::byte> frames;
    std::size_t sources = 0;
    bool up = false;
    bool full = false;        // in this pass: the shaper allows no further request to it
    bool touched = false;     // listed in touched_
    bool sends = false;       // listed in to_send_
    Progress progress;        // since the last pass
    std::uint64_t owed = 0;   // bytes
    PendingRequests pending;  // where the shaper learns
    // Outstanding fragments of slices that have left: they arrive late or never.
    std::uint64_t late_fragments = 0;
    std::uint64_t late_bytes = 0;
    // Bytes that all its sources together are expected to send of a slice.
    std::uint64_t expected = 0;
    std::size_t unknown = 0;  // sources without any fragment so far
    // Most bytes requested of each of these; 0 before the first request.
    std::uint32_t guess = 0;
  };
  // One request as it is put together.
  struct Piece {
    std::uint32_t fragments = 0;
    std::uint64_t bytes = 0;  // expected bytes with headers; 0: unknown
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    bool all = false;    // every source of the readout, without a list
    bool range = false;  // the rest of a fragment
    // The progress of requests after this one: the next source of the selection, and the next byte of its
    // fragment.
    std::uint32_t end = 0;
    std::uint32_t end_offset = 0;
  };
  // Returns the memory that the slice's next step is expected to take, as SliceMemory places it.
  [[nodiscard]] std::size_t bytes_expected(const assembly::BuiltSlice& slice,
                                           const assembly::Selection& selection) const;
  // Returns the memory that is to be reserved for the slice's next step.
  [[nodiscard]] std::size_t bytes_to_reserve(const assembly::BuiltSlice& slice) const;
  // Reserves memory for the slice's next step. False: it has to wait.
  [[nodiscard]] bool make_room(assembly::BuiltSlice& slice);
  void start_slices(TimeNs now_ns);
  // All plannable memory may belong to newer slices that wait for readouts without room before the oldest
  // slice is built: a slice older than all of them is started first. If no memory is left for it and no byte
  // arrives, the newest gives way.
  void start_oldest(TimeNs now_ns);
  [[nodiscard]] assembly::BuiltSlice* oldest_waiting();
  void start(assembly::BuiltSlice& slice, TimeNs now_ns);
  void want(assembly::BuiltSlice& slice, const assembly::Selection& selection);
  void start_fetch(assembly::BuiltSlice& slice);
  void begin_ahead(assembly::BuiltSlice& slice, TimeNs now_ns);
  void cancel_ahead(assembly::BuiltSlice& slice);
  [[nodiscard]] bool has_room_ahead(assembly::BuiltSlice& slice, const assembly::Selection& selection);
  [[nodiscard]] std::vector<assembly::Gathering::Range> parts_under_way(
      const assembly::BuiltSlice& slice) const;
  [[nodiscard]] Wants& wants_of(const assembly::BuiltSlice& slice) {
    return slice.gathering.ahead ? ahead_wants_ : wants_;
  }
  [[nodiscard]] assembly::BuiltSlice* oldest_want(std::uint32_t readout) const {
    assembly::BuiltSlice* const oldest = wants_.oldest(readout);
    return oldest != nullptr ? oldest : ahead_wants_.oldest(readout);
  }
  void lose_given_up(assembly::BuiltSlice& slice, TimeNs now_ns);
  void issue(TimeNs now_ns);
  // Starts the deadlines of slices before `order` that a lost readout holds up, although no request could be
  // sent.
  void start_deadlines(std::uint64_t order, TimeNs now_ns);
  // Marks a change that may affect this readout's turn; the next round of requests checks it.
  void touch(std::uint32_t readout) {
    if (!flows_[readout].touched) touch_first(readout);
  }
  void touch_first(std::uint32_t readout);
  // Called for each fragment, and more than once.
  Progress& progress_of(Flow& flow, std::uint32_t readout) {
    if (std::exchange(flow.progress.told, false)) progressed_.push_back(readout);
    return flow.progress;
  }
  void note_answer(Flow& flow, std::uint32_t readout, std::uint32_t fragments, std::uint64_t rest) {
    Progress& progress = progress_of(flow, readout);
    progress.fragments += fragments;
    progress.rest += rest;
    flow.owed -= std::min(flow.owed, rest);
  }
  void take_answer(std::uint32_t readout, assembly::BuiltSlice* slice, const PendingRequests::Answer& answer,
                   std::span<const assembly::FragmentSize> sizes);
  void tell_progress(TimeNs now_ns);
  void refresh(std::uint32_t readout);
  // Likewise nullopt if the slice does not collect.
  [[nodiscard]] std::optional<Piece> piece_of(assembly::BuiltSlice& slice, std::uint32_t readout);
  // Returns the oldest slice that wants data of the readout and awaits none; nullptr: none.
  [[nodiscard]] assembly::BuiltSlice* first_unasked(std::uint32_t readout);
  [[nodiscard]] std::uint64_t bytes_left(const assembly::Gathering& gathering, std::uint32_t readout) const;
  // Returns the next request to this readout; nullopt if no further one is needed.
  [[nodiscard]] std::optional<Piece> next_piece(assembly::BuiltSlice& slice, std::uint32_t readout);
  [[nodiscard]] std::optional<Piece> next_sources(assembly::BuiltSlice& slice, std::uint32_t readout);
  [[nodiscard]] Piece rest_of(SourceId source, assembly::SourceIndex index,
                              const assembly::Gathering::Part& part, std::uint64_t most);
  [[nodiscard]] std::uint32_t guess_of(std::uint32_t readout, std::uint64_t most);
  static void learn_guess(Flow& flow, std::span<const assembly::FragmentSize> sizes);
  void note_asked(assembly::BuiltSlice& slice, const Piece& piece);
  void send(assembly::BuiltSlice& slice, std::uint32_t readout, const Piece& piece, TimeNs now_ns);
  void want_of(assembly::BuiltSlice& slice, std::uint32_t readout);
  void want_nothing(assembly::BuiltSlice& slice);
  void sends_to(std::uint32_t readout);
  void queue_ranges();
  void learn_size(assembly::SourceIndex source, std::uint32_t readout, std::uint32_t bytes);
  [[nodiscard]] TimeNs line_up_until(TimeNs now_ns);
  void give_up_readouts(TimeNs now_ns);
  [[nodiscard]] bool waits_for_lost(const assembly::BuiltSlice& slice);
  [[nodiscard]] bool wants_lost(const assembly::BuiltSlice& slice);
  [[nodiscard]] bool is_absent(std::uint32_t readout, SliceOrder slice) const;
  // absent_ is of this slice then. False: no readout is, and it is not looked at.
  bool find_absent(SliceOrder slice);
  void mark_absent(assembly::BuiltSlice& slice, TimeNs now_ns);
  void cancel_expired();
  void add_entry(std::uint32_t readout, std::span<const SourceId> sources, bool all,
                 const wire::RequestEntry& entry);

  CollectorSettings settings_;
  assembly::Assembler& assembler_;
  assembly::SliceTable& slices_;
  BufferPool& pool_;
  std::unique_ptr<shaping::Shaper> shaper_;
  const bool learns_;  // the shaper does
  const bool strict_;  // no request exceeds the shaper's window
  std::shared_ptr<const assembly::Selection> everything_;
  std::vector<Flow> flows_;
  slice_rows::AbsenceTable absences_;
  std::vector<bool> absent_;                     // by readout
  std::vector<std::uint32_t> absent_readouts_;   // the same, as a list
  std::vector<shaping::ExpectedSize> expected_;  // for each source's fragment
  Wants wants_;
  Wants ahead_wants_;  // served if no request of wants_ is possible
  std::vector<std::shared_ptr<const assembly::Selection>> after_steps_;
  std::vector<assembly::SourceIndex> ahead_sources_;  // scratch: for the current slice
  bool ahead_begun_ = false;
  shaping::ReadoutChoice choice_;          // among readouts that are up, not full, and wanted
  std::vector<std::uint32_t> progressed_;  // readouts
  std::vector<std::uint32_t> touched_;     // refreshed before the next choice
  std::vector<std::uint32_t> full_;        // of this pass
  std::vector<std::uint32_t> down_;        // readouts that are not up
  std::vector<std::uint32_t> to_send_;
  std::vector<std::pair<SliceId, Attempt>> to_fetch_;
  std::vector<std::pair<SliceId, Attempt>> wrong_copies_;
  TimeNs oldest_looked_ns_ = 0;
  bool oldest_first_ = false;  // a slice has given way to the oldest that waits for memory
  std::uint64_t steps_ = 0;
  std::vector<SourceId> asked_sources_;
  std::vector<Reply> replies_;     // of this pass, for a shaper that learns
  TimeNs moved_ns_ = 0;            // something was asked for, or came
  std::uint64_t stuck_bytes_ = 0;  // outstanding at the last standstill
  std::uint64_t overdraft_ = 0;    // requests that may exceed the window after it; 0: it has had room since
  std::uint64_t overdraft_left_ = 0;  // of them, not sent yet
  std::uint64_t overdrawn_ = 0;
  std::uint64_t expired_empty_ = 0;
  LostReadouts lost_;
  std::vector<TimeNs> heard_;  // by readout; CollectorSettings::silence_ns
  TimeNs line_up_until_ = 0;
  TimeNs recovers_until_ = 0;  // after an outage
};

}  // namespace weir::dcm
