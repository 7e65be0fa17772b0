#pragma once

#include "absent_readouts.hpp"
#include "lost_readouts.hpp"
#include "memory_gate.hpp"
#include "outage_clock.hpp"
#include "overdraft.hpp"
#include "request_accounts.hpp"
#include "request_cutter.hpp"
#include "request_frames.hpp"
#include "request_schedule.hpp"
#include "size_estimates.hpp"
#include "source_selections.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/shaping/readout_choice.hpp>
#include <weir/shaping/shaper.hpp>
#include <weir/slice_rows/absences.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

// Collects the fragments of slices: a facade over the parts that decide when which request goes to which
// readout, and how slices proceed without a lost readout. Pure: the caller sends the frames of take_frames(),
// and reports connections by readout_up() and readout_down().
class Collector {
 public:
  Collector(const CollectorSettings& settings, assembly::Assembler& assembler, assembly::SliceTable& slices,
            BufferPool& pool, std::unique_ptr<shaping::Shaper> shaper);

  [[nodiscard]] std::shared_ptr<const assembly::Selection> select(std::span<const SourceId> sources) const {
    return selections_.select(sources);
  }
  [[nodiscard]] const std::shared_ptr<const assembly::Selection>& everything() const {
    return selections_.everything();
  }

  // A slice that was just opened, or that goes into its next step: it waits for memory.
  void collect(assembly::BuiltSlice& slice, std::shared_ptr<const assembly::Selection> selection);
  // Adds a slice of push running: readouts send its fragments without a request.
  void expect_pushed(assembly::BuiltSlice& slice, TimeNs now_ns);
  // Marks the fragments of absent readouts in a slice that was opened by fragments before its assignment.
  void assignment_came(assembly::BuiltSlice& slice, TimeNs now_ns) { mark_absent(slice, now_ns); }
  // Requests the missing fragments of a pushed slice from these readouts.
  void ask_for_rest(assembly::BuiltSlice& slice, std::span<const std::uint32_t> readouts);
  // Sources that the farm file names for the step after each step, in the order of steps.
  void prefetch_after_steps(const std::vector<std::vector<SourceId>>& sources) {
    selections_.set_after_steps(sources);
  }
  // Call when a step of the slice is complete: requests the sources that the next step will probably need, if
  // window and memory have room to spare.
  void fetch_ahead(assembly::BuiltSlice& slice) {
    if (selections_.has_next(slice)) begin_ahead(slice);
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

  // `moved`: in another plane than before.
  void readout_up(std::uint32_t readout, bool moved = false);
  void readout_down(std::uint32_t readout);
  [[nodiscard]] bool is_up(std::uint32_t readout) const { return schedule_.is_up(readout); }

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
  [[nodiscard]] bool serves(std::uint32_t readout) const { return sizes_.sources(readout) > 0; }

  // One pass: deadlines, lost readouts, requests.
  void pass(TimeNs now_ns);
  // Returns when a pass is needed even if nothing arrives; shaping::kNever: never.
  [[nodiscard]] TimeNs wake_at_ns() const { return shaper_->next_ns(); }

  // Records received bytes of a frame of this readout; `slice` is the slice that they belong to, or null.
  void arrived(std::uint32_t readout, assembly::BuiltSlice* slice, std::uint64_t bytes, TimeNs now_ns);
  // Handles a complete frame (a fragment, a range of one, or `missing`), after arrived() for its last bytes.
  // `reception` is the assembler's result for this frame.
  void answered(std::uint32_t readout, const assembly::Reception& reception, const wire::FrameHeader& header);
  // The same of a slice's part of a block, after the assembler has taken it.
  void answered(std::uint32_t readout, const assembly::BlockReception& reception, const wire::BlockSlice& of,
                const wire::BlockPart& part);
  // Handles a readout's timing of the request that it answered last; `arrived_ns`: its arrival at this host.
  void timed(std::uint32_t readout, const wire::Timing& timing, TimeNs arrived_ns) {
    accounts_.timed(readout, timing, arrived_ns);
  }
  // It is not known after all when that came.
  void forget_timing(std::uint32_t readout) { accounts_.forget_timing(readout); }
  // Readouts with frames to send; the caller that sends them clears the list.
  [[nodiscard]] std::vector<std::uint32_t>& to_send() { return frames_.to_send(); }
  // Request and cancel frames for this readout, in order, appended.
  void take_frames(std::uint32_t readout, std::vector<std::byte>& out) { frames_.take(readout, out); }
  // Returns iterations of all loops over readouts, slices and lost sources, and of the choice: the cost of
  // collecting so far.
  [[nodiscard]] std::uint64_t steps() const {
    return steps_ + schedule_.steps() + absent_.steps() + assembler_.steps();
  }
  [[nodiscard]] shaping::Shaper& shaper() { return *shaper_; }
  // Requests sent although the shaper's window was full, because its outstanding requests made no progress.
  [[nodiscard]] std::uint64_t overdrawn() const { return overdraft_.count(); }
  // Returns how many slices passed their deadline without a byte while all readouts were connected.
  [[nodiscard]] std::uint64_t expired_empty() const { return expired_empty_; }

 private:
  void start(assembly::BuiltSlice& slice, TimeNs now_ns);
  void want(assembly::BuiltSlice& slice, const assembly::Selection& selection);
  void start_fetch(assembly::BuiltSlice& slice);
  void begin_ahead(assembly::BuiltSlice& slice);
  void cancel_ahead(assembly::BuiltSlice& slice);
  [[nodiscard]] std::vector<assembly::Gathering::Range> parts_under_way(
      const assembly::BuiltSlice& slice) const;
  void queue_ranges();
  void issue(TimeNs now_ns);
  // Sends a request beyond the shaper's window: for this slice, or for another one that wants data of the
  // readout.
  void send_beyond(assembly::BuiltSlice& slice, std::uint32_t readout, TimeNs now_ns);
  void send(assembly::BuiltSlice& slice, std::uint32_t readout, const RequestCutter::Piece& piece,
            TimeNs now_ns);
  shaping::Credit send_run(assembly::BuiltSlice& first, std::uint32_t readout, RequestCutter::Piece piece,
                           TimeNs now_ns);
  [[nodiscard]] std::optional<RequestCutter::Piece> piece_of(assembly::BuiltSlice& slice,
                                                             std::uint32_t readout);
  // Starts the deadlines of slices before `order` that a lost readout holds up, although no request could be
  // sent.
  void start_deadlines(std::uint64_t order, TimeNs now_ns);
  void take_answer(std::uint32_t readout, assembly::BuiltSlice* slice, const PendingRequests::Answer& answer,
                   std::span<const assembly::FragmentSize> sizes);
  // Returns until when deadlines are due.
  [[nodiscard]] TimeNs deadlines_until(TimeNs now_ns);
  void cancel_expired();
  void give_up_readouts(TimeNs now_ns);
  void lose_given_up(assembly::BuiltSlice& slice, TimeNs now_ns);
  void mark_absent(assembly::BuiltSlice& slice, TimeNs now_ns);
  [[nodiscard]] bool waits_for_lost(const assembly::BuiltSlice& slice);
  [[nodiscard]] bool wants_lost(const assembly::BuiltSlice& slice);

  const std::uint32_t readouts_;
  assembly::Assembler& assembler_;
  assembly::SliceTable& slices_;
  std::unique_ptr<shaping::Shaper> shaper_;
  const bool learns_;  // the shaper does
  SourceSelections selections_;
  SizeEstimates sizes_;
  MemoryGate memory_gate_;
  RequestAccounts accounts_;
  RequestSchedule schedule_;
  RequestCutter cutter_;
  Overdraft overdraft_;
  RequestFrames frames_;
  AbsentReadouts absent_;
  LostReadouts lost_;
  OutageClock outage_;
  std::vector<TimeNs> heard_;                         // by readout
  std::vector<assembly::SourceIndex> ahead_sources_;  // scratch: for the current slice
  bool ahead_begun_ = false;
  std::vector<std::pair<SliceId, Attempt>> to_fetch_;
  std::vector<std::pair<SliceId, Attempt>> wrong_copies_;
  std::uint64_t steps_ = 0;
  std::uint64_t expired_empty_ = 0;
};

}  // namespace weir::dcm
