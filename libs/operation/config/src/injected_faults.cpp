#include <weir/config/injected_faults.hpp>

#include <algorithm>

namespace weir::config {
namespace {

bool is_of(const v1::SourceFaultsSettings& faults, Injected kind) {
  if (kind == Injected::damage) return faults.corrupt() > 0;
  return faults.drop() > 0 || faults.delay() > 0 || faults.reorder() > 0 || faults.silent_every_s() > 0;
}

// Returns whether a readout's own entry or profile has such a fault.
bool entries_inject(const v1::Farm& farm, Injected kind) {
  const auto has_own = [kind](const auto& entry) {
    return std::ranges::any_of(entry.own().source().faults(),
                               [&](const auto& one) { return is_of(one, kind); });
  };
  const v1::ReadoutSettings& readout = farm.readout();
  return std::ranges::any_of(readout.nodes(), has_own) || std::ranges::any_of(readout.profiles(), has_own);
}

}  // namespace

bool InjectedSources::contains(SourceId source) const {
  return all || std::ranges::binary_search(named, source);
}

InjectedSources injected_sources(const v1::Farm& farm, Injected kind) {
  InjectedSources injected{.all = entries_inject(farm, kind), .named = {}};
  for (const v1::SourceFaultsSettings& one : farm.source().faults()) {
    if (!is_of(one, kind)) continue;
    injected.all = injected.all || one.sources().empty();
    for (const std::uint32_t source : one.sources()) injected.named.emplace_back(source);
  }
  std::ranges::sort(injected.named);
  return injected;
}

}  // namespace weir::config
