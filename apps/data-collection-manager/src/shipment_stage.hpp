#pragma once

#include "builder.hpp"
#include "burst_saver.hpp"
#include "histogram_stage.hpp"
#include "node_link.hpp"
#include "outlet.hpp"
#include "push_admission.hpp"
#include "slice_router.hpp"
#include "slice_samples.hpp"
#include <weir/base/hash.hpp>
#include <weir/slice_rows/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::dcm {

struct ShipmentSettings {
  LinkSettings link;
  std::size_t writers;  // places in the farm
  RecordContext record;
};

// The end of slices: confirmed, shipped, stored, given up, released. Counts the outcomes for the ledger.
class ShipmentStage final : private OutletEvents {
 public:
  // `pushing`: null in pull running.
  ShipmentStage(ShipmentSettings settings, sessions::PeerCounters& counters, Builder& builder,
                PushAdmission* pushing, SliceSamples& samples, HistogramStage& histograms,
                SliceRouter& router, const TimeNs& now_ns);

  // Handles the supervisor's confirmations. A slice that is to be stored and is no longer here is answered as
  // lost.
  void confirm(std::span<const slice_rows::Confirmation> rows);
  // Gives up the slice: this DCM must not deliver it.
  void give_up(assembly::BuiltSlice& slice);
  // Call once per pass; connections make no callbacks, because they may release memory at any point.
  void release_unreferenced();
  // Gives up every slice: no supervisor expects them from this DCM. `stored_too`: including slices on their
  // way to a writer.
  void give_up_all(bool stored_too);
  // The same at the end of this DCM's part in the run, except for slices on their way to a writer.
  void end_run();
  void release(assembly::BuiltSlice& slice);
  // Gives up the forwarded slice that has been kept longest and is not being sent; false if there is none.
  bool drop_kept();

  // From now on `saver` receives settled slices before their memory is released.
  void keep_for(BurstSaver* saver) { burst_ = saver; }
  [[nodiscard]] Outlet& outlet() { return outlet_; }
  // `final`: no acknowledgement is expected for slices on their way to a writer.
  void add_to(v1::Report& report, bool final) const;

 private:
  struct Counts {
    SliceSum rejected;
    SliceSum stored;
    SliceSum discarded;
    SliceSum forwarded;
    std::uint64_t refused = 0;  // decisions that came too late
    // Refused when they were sent again: a writer may have stored the first copy, and its acknowledgement was
    // lost.
    std::uint64_t unheard = 0;
    std::uint64_t output_events = 0;
    std::uint64_t kept = 0;          // forwarded slices
    std::uint64_t kept_dropped = 0;  // for want of memory
    std::uint64_t kept_at_end = 0;   // not settled before this DCM's part in the run ended
  };

  void tell(std::span<const slice_rows::AttemptDecision> failures);
  void keep(assembly::BuiltSlice& slice);
  void keep_for_alerts(const assembly::BuiltSlice& slice);
  void confirm_one(assembly::BuiltSlice& slice, const slice_rows::Confirmation& row);
  void ship(assembly::BuiltSlice& slice, StoreEpoch epoch, NodeIndex writer);
  void on_stored(assembly::BuiltSlice& slice) override;
  void on_refused(assembly::BuiltSlice& slice, storage::StoreResult reason) override;

  ShipmentSettings settings_;
  Builder& builder_;
  PushAdmission* pushing_;
  SliceSamples& samples_;
  HistogramStage& histograms_;
  SliceRouter& router_;
  const TimeNs& now_ns_;
  Counts counts_;
  Outlet outlet_;
  BurstSaver* burst_ = nullptr;
};

}  // namespace weir::dcm
