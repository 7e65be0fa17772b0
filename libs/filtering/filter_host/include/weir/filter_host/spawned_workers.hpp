#pragma once

#include <weir/filter_host/worker_process.hpp>
#include <weir/ports/readiness.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::filter_host {

// Workers as processes of this machine, started by posix_spawn. Their descendants end with them. Their output
// goes to standard error of this process.
class SpawnedWorkers final : public WorkerHost {
 public:
  // `command`: the program's path and its arguments: weir-filter-worker, or a Python that hosts filters.
  // `slice_memory`: a sealed memfd, which is the caller's. A worker that has published results while its lane
  // says that the DCM is asleep wakes the loop of `readiness`; without one the caller looks by itself. Throws
  // std::runtime_error when the system gives no pipe.
  SpawnedWorkers(std::vector<std::string> command, int slice_memory, ports::Readiness* readiness = nullptr);
  ~SpawnedWorkers() override;
  SpawnedWorkers(const SpawnedWorkers&) = delete;
  SpawnedWorkers& operator=(const SpawnedWorkers&) = delete;

  [[nodiscard]] Expected<std::unique_ptr<WorkerProcess>, std::string> start(
      const LaneLayout& layout) override;
  // By a control group for each worker, where this process' own group is delegated to it.
  [[nodiscard]] std::string limit_memory(std::uint64_t bytes) override;
  // In a sealed file in memory.
  [[nodiscard]] std::string share_library(const std::string& bytes) override;
  void wait(DurationNs patience_ns) override;
  [[nodiscard]] bool has_news() override;
  [[nodiscard]] TimeNs now_ns() const override;

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<ports::Watch> watch_;
};

}  // namespace weir::filter_host
