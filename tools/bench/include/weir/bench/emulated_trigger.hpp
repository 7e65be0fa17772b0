#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/emulation/hits_source.hpp>
#include <weir/emulation/tracks.hpp>
#include <weir/filter_host/instance.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The filter `coincidence` on emulated slices with known tracks.
namespace weir::bench {

constexpr DurationNs kEmulatedSliceNs = 10 * kMillisecond;

[[nodiscard]] source::Trigger emulated_trigger(std::uint64_t slice);

// A true track's own light.
struct TrackLight {
  std::map<std::uint32_t, double> time_by_source;  // ns; each lit module once
  std::uint32_t floors = 0;                        // with a level-1 coincidence of the track's light alone

  [[nodiscard]] std::uint32_t hits() const { return static_cast<std::uint32_t>(time_by_source.size()); }
};

// A slice of every module of the `hits` source, as a filter sees it, and its true tracks. Not copied.
class EmulatedSlice {
 public:
  EmulatedSlice(emulation::HitsGroup& group, std::uint64_t id);
  EmulatedSlice(EmulatedSlice&&) = default;
  EmulatedSlice& operator=(EmulatedSlice&&) = default;

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] std::span<const weir_filter_fragment> table() const { return table_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // `pair_window_ns`: of a level-1 coincidence.
  [[nodiscard]] std::vector<TrackLight> tracks(double pair_window_ns) const;

 private:
  std::uint64_t id_;
  const emulation::Detector* detector_;
  std::vector<source::SourceFragment> fragments_;
  std::vector<weir_filter_fragment> table_;
  std::uint64_t bytes_ = 0;
};

// One instance of the built plugin.
class EmulatedTrigger {
 public:
  // `parameters`: of the plugin, besides the detector's. Throws std::runtime_error with the plugin's message.
  EmulatedTrigger(const emulation::HitsSettings& settings,
                  std::vector<std::pair<std::string, std::string>> parameters,
                  const std::vector<std::string>& search_path);

  // Valid until the next call.
  const filter_job::FilterResult& process(const EmulatedSlice& slice);
  // CPU time of the last process(), of this thread alone.
  [[nodiscard]] DurationNs cpu_ns() const { return cpu_ns_; }

 private:
  filter_host::FilterMetrics metrics_;
  std::unique_ptr<filter_host::FilterInstance> instance_;
  filter_job::FilterResult result_;
  DurationNs cpu_ns_ = 0;
};

// Returns true if more than half of the event's hits are the track's, within 1 ns.
[[nodiscard]] bool is_of_track(const filter_job::FilterResult& result, const filter_job::EventSpan& event,
                               const TrackLight& track);

// Counts of tracks, by their length.
struct TrackCounts {
  std::uint64_t tracks = 0;
  std::uint64_t found = 0;  // an event is theirs

  void add(bool is_found) {
    ++tracks;
    found += is_found ? 1 : 0;
  }
  // 1 without a track.
  [[nodiscard]] double share() const {
    return tracks == 0 ? 1 : static_cast<double>(found) / static_cast<double>(tracks);
  }
};

// The results of a trigger, summed over slices.
struct TriggerScore {
  std::uint64_t slices = 0;
  std::uint64_t accepted = 0;
  std::uint64_t events = 0;
  std::uint64_t true_events = 0;                   // of a track
  std::uint64_t bytes_in = 0;                      // of all fragments
  std::uint64_t bytes_out = 0;                     // of events
  std::map<std::uint32_t, TrackCounts> by_floors;  // by TrackLight::floors
  std::map<std::uint32_t, TrackCounts> by_hits;    // by TrackLight::hits()
  std::vector<double> cpu_ms;                      // of each slice

  void add(const EmulatedSlice& slice, const std::vector<TrackLight>& tracks,
           const filter_job::FilterResult& result, DurationNs cpu_ns);
  // Of tracks with at least this many level-1 floors.
  [[nodiscard]] TrackCounts long_tracks(std::uint32_t floors) const;
  // Of tracks with at least this many hits.
  [[nodiscard]] TrackCounts bright_tracks(std::uint32_t hits) const;
  [[nodiscard]] double median_cpu_ms() const;
};

}  // namespace weir::bench
