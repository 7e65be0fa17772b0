#include "judge.hpp"

#include <algorithm>

namespace weir::packet_model {
namespace {

constexpr double kAsGood = 0.99;  // share of the best goodput

}  // namespace

std::vector<RunResult> run_all(const PullNetwork& network, const std::vector<ShaperSpec>& shapers,
                               const PullRunSpec& settings) {
  std::vector<RunResult> runs;
  for (const ShaperSpec& shaper : shapers) runs.push_back(PullModel(network, shaper, settings).run());
  return runs;
}

Judgement judge(const std::vector<RunResult>& runs) {
  Judgement judgement;
  for (const RunResult& run : runs) judgement.packets += run.packets;
  if (runs.size() == 1) {
    judgement.goodput = runs[0].goodput;
    judgement.p99 = runs[0].p99;
    return judgement;
  }
  double goodput = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) goodput = std::max(goodput, runs[i].goodput);
  if (goodput > 0) judgement.goodput = runs[0].goodput / goodput;
  double p99 = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].goodput < kAsGood * goodput || runs[i].p99 <= 0) continue;
    p99 = p99 > 0 ? std::min(p99, runs[i].p99) : runs[i].p99;
  }
  if (p99 > 0 && runs[0].p99 > 0) judgement.p99 = runs[0].p99 / p99;
  return judgement;
}

}  // namespace weir::packet_model
