#pragma once

#include <weir/config/push_timing.hpp>
#include <weir/shaping/barrel.hpp>
#include <weir/slice_codec/tables.hpp>
#include <weir/slice_rows/destinations.hpp>
#include <weir/source/source.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace weir::readout {

struct PushSettings {
  std::vector<SourceId> sources;
  bool checksums;
  config::PushTiming timing;
  DurationNs clock_offset_max_ns;  // a larger difference from the supervisor's clock is reported
  shaping::BarrelSettings barrel;
};

// A readout's part of push running: gets slices when their fragments are available, and decides the
// destination and time of each. Sends from the fragment buffer, as for requests. One thread.
class PushSender {
 public:
  // Used in place of a connection: a request to the buffer with an answer when the fragment is available.
  static constexpr std::uint32_t kProbe = UINT32_MAX;

  explicit PushSender(const PushSettings& settings);

  [[nodiscard]] Expected<void, slice_codec::BadRow> take_destinations(const v1::Destinations& message);
  // The supervisor's clock when it sent an announcement, and this readout's now.
  void compare_clocks(UtcNs theirs, UtcNs own, TimeNs now_ns);

  [[nodiscard]] const config::PushTiming& timing() const { return timing_; }
  // Asked of the buffer by the caller: one probe for each source. `ready_ns`: the end of the slice.
  void expect(SliceId slice, TimeNs ready_ns);
  // The answer to a probe.
  void is_there(SliceId slice, SourceId source, const source::SourceFragment& fragment);
  void asked_for(SliceId slice, SourceId source);
  void not_wanted(SliceId slice);  // by its destination, any longer
  void settled(SliceId slice);
  void end_run();

  // By DCM; update before next().
  [[nodiscard]] std::vector<shaping::PushLink>& links() { return links_; }
  [[nodiscard]] std::optional<shaping::PushPiece> next(TimeNs now_ns) { return barrel_.next(now_ns, links_); }
  [[nodiscard]] TimeNs wake_at_ns() const { return barrel_.wake_at_ns(); }
  [[nodiscard]] SourceId source(std::uint32_t place) const { return sources_[place]; }

  // Returns the fragment as all receivers see it: if it was cut, suppressed or dropped, it is so for all of
  // them. Refers to the data of `fragment`.
  [[nodiscard]] source::SourceFragment shown(SliceId slice, SourceId source,
                                             const source::SourceFragment& fragment) const;

  void add_to(v1::Report& report) const;

 private:
  struct Coming {
    TimeNs ready_ns = 0;
    std::vector<std::uint32_t> sizes;
    std::size_t missing = 0;
  };

  [[nodiscard]] std::optional<std::uint32_t> place_of(SourceId source) const;

  std::vector<SourceId> sources_;  // ascending
  bool checksums_;
  config::PushTiming timing_;
  DurationNs clock_offset_max_ns_;
  slice_rows::DestinationTable destinations_;
  shaping::Barrel barrel_;
  std::vector<shaping::PushLink> links_;
  std::map<SliceId, Coming> coming_;  // bounded by the slices that are announced and not made
  std::uint64_t no_destination_ = 0;  // slices
  std::uint64_t probes_served_ = 0;
  std::array<std::uint64_t, kMissingReasons> probes_missing_{};
  // The least difference of the clocks over the present second, and over the one before.
  TimeNs clocks_since_ns_ = 0;
  std::optional<DurationNs> least_ahead_ns_;
  DurationNs ahead_ns_ = 0;
  std::uint64_t clocks_off_ = 0;  // seconds in which they were too far apart
};

}  // namespace weir::readout
