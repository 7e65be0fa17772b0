#pragma once

#include <weir/emulation/detector.hpp>
#include <weir/emulation/slip.hpp>
#include <weir/emulation/tracks.hpp>
#include <weir/hits.hpp>
#include <weir/source/source.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace weir::emulation {

// The background rate of a module, constant from the end of the previous segment (or the slice's start) to
// `end_ns`.
struct RateSegment {
  double end_ns = 0;  // from the slice's start
  double rate_hz = 0;
};

// Computes a floor's background rate from `from` on, as segments that end with `duration` (replaces
// `segments`). Bursts are a pure function of time, seed and floor. They start independently of each other, so
// that the times between them have an exponential distribution (van Rantwijk 2002, section 4.3.3), and take
// burst_fraction of the time together. They span slices, and all modules of a floor have the same ones.
void background_rate(const HitsSettings& settings, std::uint32_t floor_index, UtcNs from, DurationNs duration,
                     std::vector<RateSegment>& segments);

// A fragment that would grow beyond this is cut at a hit, with status truncated.
constexpr std::size_t kHitsBytesMax = std::size_t{16} << 20U;

// The common part of a process' modules. Not thread-safe.
class HitsGroup {
 public:
  // Throws std::runtime_error with the text of Detector::check.
  HitsGroup(const HitsSettings& settings, bool checksums);

  [[nodiscard]] const Detector& detector() const { return detector_; }
  // Returns all hits of one module in the slice, ascending in time, in the format of hit.hpp.
  [[nodiscard]] source::SourceFragment produce(SourceId source, RunNumber run,
                                               const source::Trigger& trigger);
  // Returns the module's hits in a cell of absolute time (cell_of()), valid until the next call.
  struct CellHits {
    ConstBytes bytes;
    bool whole = true;  // not cut at kHitsBytesMax
  };
  [[nodiscard]] CellHits produce_cell(SourceId source, RunNumber run, const source::Trigger& cell);
  [[nodiscard]] bool checksums() const { return checksums_; }

 private:
  struct LightHit {
    std::uint32_t time_ns;
    std::uint8_t tot_ns;
  };

  void find_light(SourceId source, RunNumber run, const source::Trigger& trigger);
  // Returns false if the hits were cut at kHitsBytesMax.
  [[nodiscard]] bool append_hits(SourceId source, RunNumber run, const source::Trigger& trigger);

  Detector detector_;
  bool checksums_;
  std::vector<RateSegment> segments_;  // scratch memory, like the following members
  std::vector<LightHit> light_;
  std::vector<std::byte> bytes_;
};

// One optical module of a string detector: background, waveforms, bioluminescence bursts and the light of
// tracks.
class HitsSource final : public source::FragmentSource {
 public:
  // Requires: the source is one of the detector's.
  HitsSource(SourceId id, std::shared_ptr<HitsGroup> group);

  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber run) override { run_ = run; }
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override {
    return group_->produce(id_, run_, trigger);
  }

  [[nodiscard]] Stamp stamp(const source::Trigger& trigger) const override { return stamp_in_step(trigger); }

 private:
  SourceId id_;
  RunNumber run_;
  std::shared_ptr<HitsGroup> group_;
};

}  // namespace weir::emulation
