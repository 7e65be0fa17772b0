#include <weir/config/expected_sizes.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace weir::config {
namespace {

constexpr double kHitBytes = 6;
constexpr std::uint64_t kPlaceBytes = 8;  // fragments are placed at multiples of this in a DCM's memory

std::uint64_t placed(std::uint64_t bytes) { return (bytes + kPlaceBytes - 1) / kPlaceBytes * kPlaceBytes; }
constexpr double kWaveformBytes = 385;  // mean length of a waveform in a hit: 257 or 513

// The dummy source cuts the tail of a distribution at its last of 4096 quantiles (source/dummy_content.hpp).
constexpr double kTail = 0.5 / 4096;
constexpr double kTailSigmas = 3.669;  // a normal variable exceeds this with probability kTail

// `Sizes` is the size settings of a whole farm's sources, or of listed sources.
template <class Sizes>
ExpectedSizes dummy_sizes(const Sizes& source) {
  using Source = v1::SourceSettings;
  switch (source.distribution()) {
    case Source::DISTRIBUTION_FIXED:
      return {source.size_bytes(), source.size_bytes(), 0, 0};
    case Source::DISTRIBUTION_UNIFORM:
      return {(source.size_bytes_min() + source.size_bytes_max()) / 2, source.size_bytes_max(), 0, 0};
    case Source::DISTRIBUTION_EXPONENTIAL:
    case Source::DISTRIBUTION_LOG_NORMAL:
      break;
  }
  const bool exponential = source.distribution() == Source::DISTRIBUTION_EXPONENTIAL;
  const double sigma = source.sigma();
  const double tail = exponential ? -std::log(kTail) : std::exp(sigma * kTailSigmas - sigma * sigma / 2);
  const double largest = std::ceil(static_cast<double>(source.size_bytes()) * tail);
  const double allowed = static_cast<double>(source.size_bytes_max());
  return {source.size_bytes(), static_cast<std::uint64_t>(std::min(largest, allowed)), 0, 0};
}

ExpectedSizes hits_sizes(const v1::HitsSettings& hits, double slice_ms) {
  const double burst_share = hits.burst_fraction() * std::max(0.0, hits.burst_factor() - 1);
  const double count = hits.background_hz() * (1 + burst_share) * slice_ms / 1000;
  const double bytes = count * (kHitBytes + hits.waveform_fraction() * kWaveformBytes);
  return {static_cast<std::uint64_t>(std::llround(bytes)), 0, 0, 0};
}

// Returns the expected sizes of the sources that are read, with the exceptions listed for some of them.
ExpectedSizes dummy_sizes(const v1::SourceSettings& settings, const std::vector<SourceId>& read) {
  std::unordered_map<std::uint32_t, ExpectedSizes> others;
  for (const v1::SourceSizesSettings& sizes : settings.sizes()) {
    for (const std::uint32_t source : sizes.sources()) others.emplace(source, dummy_sizes(sizes));
  }
  const ExpectedSizes common = dummy_sizes(settings);
  ExpectedSizes all;
  for (const SourceId source : read) {
    const auto other = others.find(source.value);
    const ExpectedSizes& one = other == others.end() ? common : other->second;
    all.slice += one.fragment;
    all.placed += placed(one.fragment);
    all.fragment_max = std::max(all.fragment_max, one.fragment_max);
  }
  all.fragment = read.empty() ? 0 : all.slice / read.size();
  return all;
}

}  // namespace

ExpectedSizes expected_sizes(const NodeFarms::Kind& readouts, const FarmPlan& plan,
                             const ReplayContents& recorded) {
  const v1::Farm& farm = readouts.shared.farm;
  std::vector<SourceId> read;
  for (const NodePlan* node : readouts.nodes) {
    std::copy_if(node->sources.begin(), node->sources.end(), std::back_inserter(read), [&](SourceId source) {
      return !std::binary_search(plan.masked.begin(), plan.masked.end(), source);
    });
  }
  switch (farm.source().kind()) {
    case v1::SourceSettings::KIND_DUMMY:
    case v1::SourceSettings::KIND_PLUGIN:
    case v1::SourceSettings::KIND_UDP:
      return dummy_sizes(farm.source(), read);
    case v1::SourceSettings::KIND_HITS: {
      ExpectedSizes sizes = hits_sizes(farm.hits(), farm.trigger().slice_ms());
      sizes.slice = sizes.fragment * read.size();
      sizes.placed = placed(sizes.fragment) * read.size();
      return sizes;
    }
    case v1::SourceSettings::KIND_REPLAY:
      break;
  }
  const std::uint64_t sources = std::max<std::uint64_t>(1, recorded.sources.size());
  const std::uint64_t slice = recorded.slice_bytes_max * read.size() / sources;
  return {recorded.slice_bytes_max / sources, recorded.fragment_bytes_max, slice,
          slice + read.size() * (kPlaceBytes - 1)};
}

ExpectedSizes expected_sizes(const v1::Farm& farm, const FarmPlan& plan, const ReplayReader& replay) {
  ExpectedSizes all;
  for (const NodeFarms::Kind& readouts : NodeFarms(farm).kinds(plan, Role::readout)) {
    ReplayContents recorded;
    if (readouts.shared.farm.source().kind() == v1::SourceSettings::KIND_REPLAY && replay) {
      if (auto contents = replay(readouts.shared.farm.replay().path())) recorded = std::move(*contents);
    }
    const ExpectedSizes part = expected_sizes(readouts, plan, recorded);
    all.fragment_max = std::max(all.fragment_max, part.fragment_max);
    all.slice += part.slice;
    all.placed += part.placed;
  }
  const std::size_t read = plan.sources.size() - std::min(plan.masked.size(), plan.sources.size());
  all.fragment = read == 0 ? 0 : all.slice / read;
  return all;
}

// The pool hands out powers of two. A slice that no single block holds takes a large block and smaller ones,
// and each may end with a gap that is too short for the next fragment.
std::uint64_t dcm_buffer_min(const ExpectedSizes& sizes) { return sizes.placed + sizes.placed / 3; }

}  // namespace weir::config
