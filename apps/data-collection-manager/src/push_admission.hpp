#pragma once

#include "builder.hpp"
#include "slice_router.hpp"
#include <weir/assembly/push_window.hpp>
#include <weir/config/push_timing.hpp>
#include <weir/ports/clock.hpp>
#include <weir/slice_codec/tables.hpp>
#include <weir/slice_rows/destinations.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::dcm {

struct PushAdmissionSettings {
  NodeIndex self;
  std::uint32_t readouts;
  config::PushTiming timing;
  DurationNs slice_ns;  // length of a time slice
  DurationNs wait_ns;   // from a fragment's time to its request
  DurationNs deadline_ns;
  std::uint32_t unbound_max;  // slices that may wait for their assignment
  std::uint32_t active_slices;
  bool gives_up;  // missing fragments are given up, not requested (dcm.incomplete: order)
};

// Push running at a DCM: slices that readouts send unrequested. A fragment opens its slice, and the
// assignment follows (`unbound` until then); overdue fragments are requested, or given up. Pure.
class PushAdmission {
 public:
  PushAdmission(const PushAdmissionSettings& settings, const ports::Clock& clock, Builder& builder,
                SliceRouter& router);

  [[nodiscard]] Expected<void, slice_codec::BadRow> take_destinations(const v1::Destinations& message) {
    return slice_codec::decode(message, destinations_);
  }
  // Its readouts send it here, on their own.
  [[nodiscard]] bool comes_here(SliceId slice, Attempt attempt) const {
    return attempt.value == 0 && destinations_.of(slice) == self_;
  }

  // Whether a fragment that may have come on its own is to be received. It opens its slice where that is not
  // known here and `may_open`. A readout has the destinations before the slice; here they may come later.
  [[nodiscard]] bool takes(std::uint32_t readout, const wire::FrameHeader& header, bool may_open,
                           TimeNs now_ns);
  // A slice that was assigned before any fragment of it came, and was just opened.
  void open_assigned(assembly::BuiltSlice& slice, TimeNs now_ns) { open(slice, true, now_ns); }
  // Returns the slice that a fragment has opened and that this assignment belongs to, or null. The assignment
  // moves to it, and `assigned` is spare. If it was already complete it goes to the filter in this pass.
  [[nodiscard]] assembly::BuiltSlice* bind(assembly::BuiltSlice& assigned, TimeNs now_ns);
  // A later attempt of it has come: the first one's assignment was lost, and will not.
  void drop_unbound(SliceId slice);
  // Once a pass: slices that have waited too long.
  void end_waiting(TimeNs now_ns);

  // complete(): a pushed slice goes to the filter. leaves(): it is about to be released.
  void complete(const assembly::BuiltSlice& slice);
  void leaves(const assembly::BuiltSlice& slice);
  void readout_lost(std::uint32_t readout) { window_.readout_lost(readout); }

  [[nodiscard]] std::uint32_t unbound() const { return unbound_; }
  // Returns false if slices are to go to the filter in order, and one has gone after a newer one.
  [[nodiscard]] bool keeps_order() const { return in_order_ || !gives_up_; }
  void add_to(v1::Report& report) const;

 private:
  void open(assembly::BuiltSlice& slice, bool bound, TimeNs now_ns);
  assembly::BuiltSlice& open_early(SliceId id, TimeNs now_ns);
  void set_due(assembly::BuiltSlice& slice, TimeNs now_ns) const;
  void end_waiting_for(const assembly::PushWindow::Due& due, TimeNs now_ns);
  void ask_for_rest(assembly::BuiltSlice& slice, bool all);
  void give_up_rest(assembly::BuiltSlice& slice, TimeNs now_ns);

  NodeIndex self_;
  std::uint32_t readouts_;
  const ports::Clock& clock_;
  Builder& builder_;
  SliceRouter& router_;
  config::PushTiming timing_;
  DurationNs slice_ns_;
  DurationNs wait_ns_;
  DurationNs deadline_ns_;
  std::uint32_t unbound_max_;
  bool gives_up_;
  slice_rows::DestinationTable destinations_;
  assembly::PushWindow window_;
  std::vector<std::uint32_t> asked_;  // scratch: readouts of one slice
  std::optional<SliceId> newest_filtered_;
  bool in_order_ = true;
  std::uint32_t unbound_ = 0;         // slices that wait for their assignment
  std::uint64_t opened_early_ = 0;    // slices opened by a fragment
  std::uint64_t never_assigned_ = 0;  // of these
  std::uint64_t pushed_out_ = 0;      // slices
  std::uint64_t asked_for_ = 0;       // slices of which something was asked for when its time had come
  std::uint64_t given_up_ = 0;        // of `pushed_out_`, those of which something was missing
  std::uint64_t no_memory_ = 0;       // fragments thrown away, to be asked for later
};

}  // namespace weir::dcm
