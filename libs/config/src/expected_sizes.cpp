#include "expected_sizes.hpp"

#include <algorithm>
#include <cmath>

namespace weir::config {
namespace {

constexpr double kHitBytes = 6;
constexpr double kWaveformBytes = 257;  // more than a hit without waveform, one channel sampled

// The dummy source cuts the tail of a distribution at its last of 4096 quantiles (source/dummy_content.hpp).
constexpr double kTail = 0.5 / 4096;
constexpr double kTailSigmas = 3.669;  // a normal variable is above with probability kTail

ExpectedSizes dummy_sizes(const v1::SourceSettings& source) {
  using Source = v1::SourceSettings;
  switch (source.distribution()) {
    case Source::DISTRIBUTION_FIXED:
      return {source.size_bytes(), source.size_bytes(), 0};
    case Source::DISTRIBUTION_UNIFORM:
      return {(source.size_bytes_min() + source.size_bytes_max()) / 2, source.size_bytes_max(), 0};
    case Source::DISTRIBUTION_EXPONENTIAL:
    case Source::DISTRIBUTION_LOG_NORMAL:
      break;
  }
  const bool exponential = source.distribution() == Source::DISTRIBUTION_EXPONENTIAL;
  const double sigma = source.sigma();
  const double tail = exponential ? -std::log(kTail) : std::exp(sigma * kTailSigmas - sigma * sigma / 2);
  const double largest = std::ceil(static_cast<double>(source.size_bytes()) * tail);
  const double allowed = static_cast<double>(source.size_bytes_max());
  return {source.size_bytes(), static_cast<std::uint64_t>(std::min(largest, allowed)), 0};
}

ExpectedSizes hits_sizes(const v1::HitsSettings& hits, double slice_ms) {
  const double burst_share = hits.burst_fraction() * std::max(0.0, hits.burst_factor() - 1);
  const double count = hits.background_hz() * (1 + burst_share) * slice_ms / 1000;
  const double bytes = count * (kHitBytes + hits.waveform_fraction() * kWaveformBytes);
  return {static_cast<std::uint64_t>(std::llround(bytes)), 0, 0};
}

}  // namespace

ExpectedSizes expected_sizes(const v1::Farm& farm, const FarmPlan& plan, const ReplayContents& recorded) {
  const std::uint64_t read = plan.sources.size() - std::min(plan.masked.size(), plan.sources.size());
  ExpectedSizes sizes;
  switch (farm.source().kind()) {
    case v1::SourceSettings::KIND_DUMMY:
    case v1::SourceSettings::KIND_PLUGIN:
    case v1::SourceSettings::KIND_UDP:
      sizes = dummy_sizes(farm.source());
      break;
    case v1::SourceSettings::KIND_HITS:
      sizes = hits_sizes(farm.hits(), farm.trigger().slice_ms());
      break;
    case v1::SourceSettings::KIND_REPLAY: {
      const std::uint64_t sources = std::max<std::uint64_t>(1, recorded.sources.size());
      return {recorded.slice_bytes_max / sources, recorded.fragment_bytes_max, recorded.slice_bytes_max};
    }
  }
  sizes.slice = sizes.fragment * read;
  return sizes;
}

}  // namespace weir::config
