#include "judge.hpp"

#include <algorithm>

namespace weir::packet_model {
namespace {

constexpr double kAsGood = 0.99;                // share of the best goodput
constexpr std::uint64_t kNextSeed = 1'000'003;  // between the runs of a network

RunResult run_mean(PullNetwork network, const ShaperSpec& shaper, const PullRunSpec& settings,
                   std::uint32_t runs) {
  RunResult mean;
  for (std::uint32_t i = 0; i < runs; ++i) {
    const RunResult run = PullModel(network, shaper, settings).run();
    mean.goodput += run.goodput / runs;
    mean.start_goodput += run.start_goodput / runs;
    mean.p50 += run.p50 / runs;
    mean.p99 += run.p99 / runs;
    mean.slices += run.slices;
    mean.drops += run.drops;
    mean.late_drops += run.late_drops;
    mean.random_losses += run.random_losses;
    mean.retransmissions += run.retransmissions;
    mean.timeouts += run.timeouts;
    mean.packets += run.packets;
    mean.events += run.events;
    network.seed += kNextSeed;
  }
  return mean;
}

}  // namespace

std::vector<RunResult> run_all(const PullNetwork& network, const std::vector<ShaperSpec>& shapers,
                               const PullRunSpec& settings, std::uint32_t runs) {
  std::vector<RunResult> results;
  for (const ShaperSpec& shaper : shapers) results.push_back(run_mean(network, shaper, settings, runs));
  return results;
}

Judgement judge(const std::vector<RunResult>& runs) {
  Judgement judgement;
  judgement.drops = runs[0].drops;
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
