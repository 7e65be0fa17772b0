#include <weir/base/bytes.hpp>
#include <weir/bench/emulated_trigger.hpp>
#include <weir/bench/figure.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <stdexcept>

namespace weir::bench {
namespace {

constexpr RunNumber kEmulatedRun{7};

// Of an output event, plugins/coincidence/README.md.
constexpr std::size_t kEventHitsAt = 4;
constexpr std::size_t kEventHeaderBytes = 16;
constexpr std::size_t kEventHitBytes = 12;

DurationNs thread_cpu_ns() {
  std::timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * kSecond + used.tv_nsec;
}

TrackCounts sum_from(const std::map<std::uint32_t, TrackCounts>& counts, std::uint32_t least) {
  TrackCounts sum;
  for (auto at = counts.lower_bound(least); at != counts.end(); ++at) {
    sum.tracks += at->second.tracks;
    sum.found += at->second.found;
  }
  return sum;
}

}  // namespace

source::Trigger emulated_trigger(std::uint64_t slice) {
  return {.slice = SliceId(slice),
          .time = static_cast<UtcNs>(slice) * kEmulatedSliceNs,
          .duration = kEmulatedSliceNs,
          .type = {}};
}

EmulatedSlice::EmulatedSlice(emulation::HitsGroup& group, std::uint64_t id)
    : id_(id), detector_(&group.detector()) {
  for (std::uint32_t i = 0; i < detector_->modules(); ++i) {
    const SourceId source(detector_->first_source().value + i);
    fragments_.push_back(group.produce(source, kEmulatedRun, emulated_trigger(id)));
    weir_filter_fragment fragment{};
    fragment.source = source.value;
    fragment.data = fragments_.back().bytes.data();
    fragment.length = fragment.total = static_cast<std::uint32_t>(fragments_.back().bytes.size());
    table_.push_back(fragment);
    bytes_ += fragment.length;
  }
}

std::vector<TrackLight> EmulatedSlice::tracks(double pair_window_ns) const {
  std::vector<TrackLight> lights;
  const auto tracks = emulation::tracks_of(*detector_, kEmulatedRun, emulated_trigger(id_));
  for (std::size_t index = 0; index < tracks.size(); ++index) {
    TrackLight& light = lights.emplace_back();
    std::map<std::uint32_t, std::vector<double>> times_by_floor;
    for (const weir_filter_fragment& row : table_) {
      const SourceId source(row.source);
      const auto hit =
          emulation::track_hit(*detector_, kEmulatedRun, SliceId(id_), index, tracks[index], source);
      if (hit.photoelectrons == 0) continue;
      light.time_by_source[source.value] = hit.time_ns;
      times_by_floor[detector_->floor_index(source)].push_back(hit.time_ns);
    }
    for (auto& [floor, times] : times_by_floor) {
      std::sort(times.begin(), times.end());
      const auto pair = std::adjacent_find(times.begin(), times.end(), [pair_window_ns](double a, double b) {
        return b - a <= pair_window_ns;
      });
      light.floors += pair == times.end() ? 0 : 1;
    }
  }
  return lights;
}

EmulatedTrigger::EmulatedTrigger(const emulation::HitsSettings& settings,
                                 std::vector<std::pair<std::string, std::string>> parameters,
                                 const std::vector<std::string>& search_path) {
  auto plugin = filter_host::FilterPlugin::load("coincidence", search_path);
  if (!plugin) throw std::runtime_error(plugin.error().text);
  filter_host::FilterConfig config;
  config.parameters = std::move(parameters);
  config.parameters.emplace_back("strings", std::to_string(settings.strings));
  config.parameters.emplace_back("floors_per_string", std::to_string(settings.floors_per_string));
  config.parameters.emplace_back("modules_per_floor", std::to_string(settings.modules_per_floor));
  auto instance = filter_host::FilterInstance::create(*plugin, config, metrics_);
  if (!instance) throw std::runtime_error(instance.error().text);
  instance_ = std::move(*instance);
  if (auto begun = instance_->begin_run({.run = kEmulatedRun, .start_time = 0, .sources = {}}); !begun)
    throw std::runtime_error(begun.error().text);
}

const filter_job::FilterResult& EmulatedTrigger::process(const EmulatedSlice& slice) {
  filter_host::KeptState state;
  weir_filter_slice view = filter_host::empty_slice();
  view.run = kEmulatedRun.value;
  view.slice = slice.id();
  view.trigger_time_utc_ns = emulated_trigger(slice.id()).time;
  view.duration_ns = kEmulatedSliceNs;
  view.fragments = slice.table().data();
  view.fragment_count = static_cast<std::uint32_t>(slice.table().size());
  view.state = state.raw();
  const DurationNs before = thread_cpu_ns();
  instance_->process(view, result_);
  cpu_ns_ = thread_cpu_ns() - before;
  if (result_.verdict == filter_job::StepVerdict::error)
    throw std::runtime_error("coincidence: slice " + std::to_string(slice.id()) + ": the filter failed");
  return result_;
}

bool is_of_track(const filter_job::FilterResult& result, const filter_job::EventSpan& event,
                 const TrackLight& track) {
  const std::byte* at = result.event_bytes.data() + event.offset;
  const auto hits = load_le<std::uint32_t>(at + kEventHitsAt);
  std::uint32_t own = 0;
  for (std::uint32_t i = 0; i < hits; ++i) {
    const std::byte* entry = at + kEventHeaderBytes + kEventHitBytes * i;
    const auto known = track.time_by_source.find(load_le<std::uint32_t>(entry));
    const bool is_own = known != track.time_by_source.end() &&
                        std::abs(known->second - load_le<std::uint32_t>(entry + 4)) <= 1.0;
    own += is_own ? 1 : 0;
  }
  return 2 * own > hits;
}

void TriggerScore::add(const EmulatedSlice& slice, const std::vector<TrackLight>& tracks,
                       const filter_job::FilterResult& result, DurationNs cpu_ns) {
  ++slices;
  accepted += result.verdict == filter_job::StepVerdict::accept ? 1 : 0;
  events += result.events.size();
  bytes_in += slice.bytes();
  std::vector<bool> found(tracks.size());
  for (const filter_job::EventSpan& event : result.events) {
    bytes_out += event.size;
    bool is_true = false;
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      if (!is_of_track(result, event, tracks[i])) continue;
      is_true = true;
      found[i] = true;
    }
    true_events += is_true ? 1 : 0;
  }
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    by_floors[tracks[i].floors].add(found[i]);
    by_hits[tracks[i].hits()].add(found[i]);
  }
  cpu_ms.push_back(static_cast<double>(cpu_ns) / static_cast<double>(kMillisecond));
}

TrackCounts TriggerScore::long_tracks(std::uint32_t floors) const { return sum_from(by_floors, floors); }

TrackCounts TriggerScore::bright_tracks(std::uint32_t hits) const { return sum_from(by_hits, hits); }

double TriggerScore::median_cpu_ms() const { return median(cpu_ms); }

}  // namespace weir::bench
