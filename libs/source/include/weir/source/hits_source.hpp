#pragma once

#include <weir/source/detector.hpp>
#include <weir/source/hit.hpp>
#include <weir/source/source.hpp>
#include <weir/source/tracks.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace weir::source {

// The background rate of a module, constant from the end of the segment before (or the slice's start) to
// `end_ns`.
struct RateSegment {
  double end_ns = 0;  // from the slice's start
  double rate_hz = 0;
};

// A floor's background rate from `from` on, as segments that end with `duration` (replaces `segments`).
// Bursts are a pure function of time, seed and floor: time is cut into periods of burst_s_max / 2 /
// burst_fraction, with one burst somewhere in each. So bursts go on over slices, and all modules of a floor
// see the same ones.
void background_rate(const HitsSettings& settings, std::uint32_t floor_index, UtcNs from, DurationNs duration,
                     std::vector<RateSegment>& segments);

// A fragment that would grow beyond this is cut at a hit, with status truncated.
constexpr std::size_t kHitsBytesMax = std::size_t{16} << 20U;

// What the modules of one process share. One thread.
class HitsGroup {
 public:
  // Throws std::runtime_error with the sentence of Detector::check.
  HitsGroup(const HitsSettings& settings, bool checksums);

  [[nodiscard]] const Detector& detector() const { return detector_; }
  // All hits of one module in the slice, ascending in time, as hit.hpp lays them out.
  [[nodiscard]] Fragment produce(SourceId source, RunNumber run, const Trigger& trigger);

 private:
  struct LightHit {
    std::uint32_t time_ns;
    std::uint8_t tot_ns;
  };

  void find_light(SourceId source, RunNumber run, const Trigger& trigger);
  // False: cut at kHitsBytesMax.
  [[nodiscard]] bool append_hits(SourceId source, RunNumber run, const Trigger& trigger);

  Detector detector_;
  bool checksums_;
  std::vector<RateSegment> segments_;  // scratch, as what follows
  std::vector<LightHit> light_;
  std::vector<std::byte> bytes_;
};

// One optical module of a string detector: background, waveforms, bioluminescence bursts and the light of
// tracks.
class HitsSource final : public Source {
 public:
  // The source must be one of the detector's.
  HitsSource(SourceId id, std::shared_ptr<HitsGroup> group);

  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber run) override { run_ = run; }
  [[nodiscard]] Fragment produce(const Trigger& trigger) override {
    return group_->produce(id_, run_, trigger);
  }

 private:
  SourceId id_;
  RunNumber run_;
  std::shared_ptr<HitsGroup> group_;
};

}  // namespace weir::source
