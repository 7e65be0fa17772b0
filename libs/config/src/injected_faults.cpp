#include <weir/config/injected_faults.hpp>

#include <algorithm>

namespace weir::config {
namespace {

bool is_of(const v1::SourceFaultsSettings& faults, Injected kind) {
  if (kind == Injected::damage) return faults.corrupt() > 0;
  return faults.drop() > 0 || faults.delay() > 0 || faults.reorder() > 0 || faults.silent_every_s() > 0;
}

}  // namespace

bool injects(const v1::SourceSettings& settings, SourceId source, Injected kind) {
  return std::ranges::any_of(settings.faults(), [&](const v1::SourceFaultsSettings& one) {
    const auto& sources = one.sources();
    const bool named = sources.empty() || std::ranges::find(sources, source.value) != sources.end();
    return named && is_of(one, kind);
  });
}

bool entries_inject(const v1::Farm& farm, Injected kind) {
  const auto has_own = [kind](const auto& entry) {
    return std::ranges::any_of(entry.own().source().faults(),
                               [&](const auto& one) { return is_of(one, kind); });
  };
  const v1::ReadoutSettings& readout = farm.readout();
  return std::ranges::any_of(readout.nodes(), has_own) || std::ranges::any_of(readout.profiles(), has_own);
}

}  // namespace weir::config
