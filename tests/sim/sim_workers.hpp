#pragma once

#include "scenario.hpp"
#include <weir/filter_host/worker_process.hpp>
#include <weir/simnet/random.hpp>
#include <weir/simnet/world.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weir::sim {

// Filter workers of one DCM on the simulated clock: each runs the real worker's side of its lane. Until the
// scenario's faults end, workers die between slices, run out of memory and hang, depending on the seed; a
// filter that ends its process ends its worker at any time.
class SimWorkers final : public filter_host::WorkerHost {
 public:
  struct Surroundings {
    simnet::World& world;
    const Scenario& scenario;
    std::vector<std::string> plugin_path;
    std::function<void()> wake;        // the DCM
    std::function<bool()> take_death;  // the filter has just ended its process
  };

  SimWorkers(Surroundings around, int slice_memory, simnet::Random random);
  ~SimWorkers() override;
  SimWorkers(const SimWorkers&) = delete;
  SimWorkers& operator=(const SimWorkers&) = delete;

  [[nodiscard]] Expected<std::unique_ptr<filter_host::WorkerProcess>, std::string> start(
      const filter_host::LaneLayout& layout) override;
  void wait(DurationNs patience_ns) override;
  [[nodiscard]] bool has_news() override { return true; }
  [[nodiscard]] TimeNs now_ns() const override;

  struct Shared;
  class Life;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace weir::sim
