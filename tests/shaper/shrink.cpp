#include "shrink.hpp"

#include "networks.hpp"

namespace weir::shaper_model {

Shrunk shrink(const Network& network, const std::vector<ShaperSpec>& shapers, const RunSettings& settings,
              const Limits& limits) {
  Shrunk smallest{network, {}, judge(run_all(network, shapers, settings))};
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const std::string& feature : features()) {
      Network candidate = smallest.network;
      if (!take_away(candidate, feature)) continue;
      const Judgement judgement = judge(run_all(candidate, shapers, settings));
      if (!limits.fails(judgement)) continue;
      smallest.network = candidate;
      smallest.without.push_back(feature);
      smallest.judgement = judgement;
      smaller = true;
    }
  }
  return smallest;
}

}  // namespace weir::shaper_model
