#include "shrink.hpp"

#include "networks.hpp"

namespace weir::packet_model {

Shrunk shrink(const PullNetwork& network, const std::vector<ShaperSpec>& shapers, const PullRunSpec& settings,
              const Limits& limits) {
  Shrunk smallest{network, {}, judge(run_all(network, shapers, settings))};
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const std::string& feature : features()) {
      PullNetwork candidate = smallest.network;
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

}  // namespace weir::packet_model
