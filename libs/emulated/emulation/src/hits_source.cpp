#include "random.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/emulation/hits_source.hpp>

#include <boost/random/exponential_distribution.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace weir::emulation {
namespace {

constexpr int kStreamBackground = 3;
constexpr int kStreamBurst = 4;

// Time over threshold of one photo-electron is 18 to 33 ns, plus a fixed time for each doubling of the light.
constexpr unsigned kTotMinNs = 18;
constexpr unsigned kTotSpreadNs = 16;
constexpr double kTotPerDoublingNs = 12;

// A photomultiplier's pulse in the analogue ring sampler: fast rise, slow fall, on a pedestal. The second
// sampled channel has a fifth of the gain.
constexpr std::size_t kPulseBytes = kWaveformChannelsMax * kWaveformBytes;
std::array<std::byte, kPulseBytes> make_pulse() {
  constexpr double kPedestal = 200;
  constexpr double kHeight = 800;
  constexpr double kStart = 20;
  constexpr double kRise = 3;
  constexpr double kFall = 9;
  std::array<std::byte, kPulseBytes> pulse{};
  for (std::size_t sample = 0; sample < kWaveformSamples; ++sample) {
    const double t = static_cast<double>(sample) - kStart;
    const double height = t < 0 ? 0 : kHeight * (1 - std::exp(-t / kRise)) * std::exp(-t / kFall);
    store_le(pulse.data() + 2 * sample, static_cast<std::uint16_t>(kPedestal + height));
    store_le(pulse.data() + kWaveformBytes + 2 * sample, static_cast<std::uint16_t>(kPedestal + height / 5));
  }
  return pulse;
}

// Appends hits without checking the size each time. Requires: the caller has made room.
class HitWriter {
 public:
  HitWriter(std::byte* at, std::uint8_t channel, double waveform_fraction)
      : at_(at), channel_(channel), waveform_below_(static_cast<std::uint64_t>(waveform_fraction * 0x1p32)) {}

  // `random` decides whether the hit has a waveform.
  void write(std::uint32_t time_ns, std::uint8_t tot_ns, std::uint64_t random) {
    static const auto kPulse = make_pulse();
    Hit hit{channel_, time_ns, tot_ns, {}};
    if ((random >> 32U) < waveform_below_) {
      const std::size_t channels = 1 + (random & 1U);
      hit.waveform = ConstBytes(kPulse).first(channels * kWaveformBytes);
      at_ += encode_waveform_hit(hit, at_);
    } else {
      encode_hit(hit, at_);
      at_ += kHitBytes;
    }
  }
  [[nodiscard]] std::byte* at() const { return at_; }

 private:
  std::byte* at_;
  std::uint8_t channel_;
  std::uint64_t waveform_below_;
};

std::uint8_t tot_of(std::uint32_t photoelectrons, std::uint64_t random) {
  const double more = kTotPerDoublingNs * std::log2(static_cast<double>(photoelectrons));
  return static_cast<std::uint8_t>(
      std::min(255.0, kTotMinNs + static_cast<double>(random % kTotSpreadNs) + more));
}

struct Burst {
  double start_ns = 0;  // from the beginning of a slice
  double end_ns = 0;
};

// Returns a number with a Poisson distribution, from a uniform one in [0, 1).
int poisson(double mean, double uniform) {
  constexpr int kMost = 64;
  double share = std::exp(-mean);
  double sum = share;
  int number = 0;
  while (uniform >= sum && number < kMost) {
    ++number;
    share *= mean / number;
    sum += share;
  }
  return number;
}

// Returns the bursts of a floor between `from` and `end_ns` later, by their start. Time is divided into cells
// of the longest burst, and each cell draws the bursts that start in it. Half of them are active on average,
// so that the share of time without any is exp(-mean / 2).
std::vector<Burst> bursts_of(const HitsSettings& settings, std::uint32_t floor_index, UtcNs from,
                             double end_ns) {
  const double longest = settings.burst_s_max * 1e9;
  const double mean = -2 * std::log1p(-settings.burst_fraction);
  const auto cell_ns = static_cast<std::int64_t>(longest);
  std::vector<Burst> bursts;
  for (std::int64_t cell = from / cell_ns - (from % cell_ns < 0 ? 1 : 0) - 1;; ++cell) {
    const auto cell_start = static_cast<double>(cell * cell_ns - from);
    if (cell_start >= end_ns) break;
    SmallEngine engine(seed_of(settings.seed, kStreamBurst, floor_index, cell));
    for (int n = poisson(mean, engine.uniform()); n > 0; --n) {
      const double start = cell_start + longest * engine.uniform();
      const double stop = start + longest * engine.uniform();
      if (stop > 0 && start < end_ns) bursts.push_back({start, stop});
    }
  }
  std::ranges::sort(bursts, {}, &Burst::start_ns);
  return bursts;
}

}  // namespace

void background_rate(const HitsSettings& settings, std::uint32_t floor_index, UtcNs from, DurationNs duration,
                     std::vector<RateSegment>& segments) {
  segments.clear();
  const double calm = settings.background_hz;
  const auto end = static_cast<double>(duration);
  double until = 0;
  if (settings.burst_fraction > 0) {
    for (const Burst& burst : bursts_of(settings, floor_index, from, end)) {
      const double stop = std::min(burst.end_ns, end);
      if (stop <= until) continue;  // within another one
      if (burst.start_ns > until) segments.push_back({burst.start_ns, calm});
      segments.push_back({stop, calm * settings.burst_factor});
      until = stop;
    }
  }
  if (until < end) segments.push_back({end, calm});
}

HitsGroup::HitsGroup(const HitsSettings& settings, bool checksums)
    : detector_([&settings]() -> const HitsSettings& {
        if (const std::string why = Detector::check(settings); !why.empty()) {
          throw std::runtime_error("hits source: " + why);
        }
        return settings;
      }()),
      checksums_(checksums) {}

source::SourceFragment HitsGroup::produce(SourceId source, RunNumber run, const source::Trigger& trigger) {
  find_light(source, run, trigger);
  const bool whole = append_hits(source, run, trigger);
  const auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes_.size());
  if (!bytes_.empty()) std::memcpy(memory.get(), bytes_.data(), bytes_.size());
  source::SourceFragment fragment;
  if (!whole) fragment.status = FragmentStatus::truncated;
  fragment.bytes = ConstBytes(memory.get(), bytes_.size());
  fragment.owner = memory;
  if (checksums_) fragment.crc32c = crc32c(fragment.bytes);
  return fragment;
}

void HitsGroup::find_light(SourceId source, RunNumber run, const source::Trigger& trigger) {
  light_.clear();
  const auto duration = static_cast<double>(slice_duration(detector_.settings(), trigger));
  const std::vector<Track> tracks = tracks_of(detector_, run, trigger);
  for (std::size_t index = 0; index < tracks.size(); ++index) {
    const TrackHit hit = track_hit(detector_, run, trigger.slice, index, tracks[index], source);
    if (hit.photoelectrons == 0 || hit.time_ns < 0 || hit.time_ns >= duration) continue;
    light_.push_back(
        {static_cast<std::uint32_t>(hit.time_ns),
         tot_of(hit.photoelectrons, seed_of(run.value, trigger.slice.value, index, source.value))});
  }
  std::sort(light_.begin(), light_.end(),
            [](const LightHit& a, const LightHit& b) { return a.time_ns < b.time_ns; });
}

HitsGroup::CellHits HitsGroup::produce_cell(SourceId source, RunNumber run, const source::Trigger& cell) {
  light_.clear();
  const DurationNs reach = light_reach(detector_);
  for (const CellTrack& one :
       tracks_between(detector_, run, cell.time - reach, cell.time + cell.duration + reach)) {
    const TrackHit hit = track_hit(detector_, run, one.cell.slice, one.index, one.track, source);
    const double time_ns = hit.time_ns + static_cast<double>(one.cell.time - cell.time);
    if (hit.photoelectrons == 0 || time_ns < 0 || time_ns >= static_cast<double>(cell.duration)) continue;
    light_.push_back(
        {static_cast<std::uint32_t>(time_ns),
         tot_of(hit.photoelectrons, seed_of(run.value, one.cell.slice.value, one.index, source.value))});
  }
  std::ranges::sort(light_, {}, &LightHit::time_ns);
  const bool whole = append_hits(source, run, cell);
  return {bytes_, whole};
}

bool HitsGroup::append_hits(SourceId source, RunNumber run, const source::Trigger& trigger) {
  const HitsSettings& settings = detector_.settings();
  background_rate(settings, detector_.floor_index(source), trigger.time, slice_duration(settings, trigger),
                  segments_);
  SmallEngine engine(seed_of(settings.seed, run.value, trigger.slice.value, kStreamBackground, source.value));
  boost::random::exponential_distribution<double> gap;
  const auto channel = static_cast<std::uint8_t>(detector_.place(source).module);
  constexpr std::size_t kHitMax = waveform_hit_bytes(kWaveformChannelsMax);
  constexpr std::size_t kHitsAhead = 64;  // hits between two checks for room

  bytes_.resize(bytes_.capacity());
  std::size_t used = 0;
  bool whole = true;
  auto light = light_.begin();
  double start_ns = 0;
  for (const RateSegment& segment : segments_) {
    const double mean_gap_ns = segment.rate_hz > 0 ? 1e9 / segment.rate_hz : 1e18;
    double time_ns = start_ns + mean_gap_ns * gap(engine);
    const auto next_time = [&] { return std::min(time_ns, light == light_.end() ? 1e18 : light->time_ns); };
    while (whole && next_time() < segment.end_ns) {
      const std::size_t needed = used + kHitsAhead * kHitMax;
      if (needed > kHitsBytesMax) {
        whole = false;
        break;
      }
      if (bytes_.size() < needed) bytes_.resize(std::min(std::max(needed, 2 * bytes_.size()), kHitsBytesMax));
      HitWriter writer(bytes_.data() + used, channel, settings.waveform_fraction);
      for (std::size_t n = 0; n < kHitsAhead && next_time() < segment.end_ns; ++n) {
        const std::uint64_t random = engine();
        if (light != light_.end() && light->time_ns <= time_ns) {
          writer.write(light->time_ns, light->tot_ns, random);
          ++light;
          continue;
        }
        writer.write(static_cast<std::uint32_t>(time_ns),
                     static_cast<std::uint8_t>(kTotMinNs + (random >> 8U) % kTotSpreadNs), random);
        time_ns += mean_gap_ns * gap(engine);
      }
      used = static_cast<std::size_t>(writer.at() - bytes_.data());
      WEIR_ASSERT(used <= bytes_.size());  // kHitsAhead of the largest hits were made room for
    }
    start_ns = segment.end_ns;
  }
  bytes_.resize(used);
  return whole;
}

HitsSource::HitsSource(SourceId id, std::shared_ptr<HitsGroup> group) : id_(id), group_(std::move(group)) {
  WEIR_ASSERT(group_ && group_->detector().contains(id));
}

}  // namespace weir::emulation
