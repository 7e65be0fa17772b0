#pragma once

#include <weir/assembly/assembler.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/memory_region.hpp>
#include <weir/filter_host/filter_units.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/filter_host/worker_process.hpp>
#include <weir/filter_host/worker_units.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::dcm {

struct FilterRuntimeSettings {
  RunNumber run;
  std::string plugin;                    // name or path
  std::vector<std::string> search_path;  // before that of the surroundings
  filter_host::FilterConfig config;      // without log
  v1::RunIdentity::Part name;            // node::filter_name()
  v1::RunIdentity run_identity;          // a plugin that differs from the run's is refused
  std::uint32_t units;                   // filters that run side by side in this process
  std::size_t jobs_max;                  // slices that are submitted and not drained
  bool isolated;                         // the filter is in workers
  worker_pool::PoolSettings workers;     // of such a filter
  std::uint64_t worker_memory_bytes;     // 0: no limit
  bool measure_cpu;                      // of each job in a worker
};

// Where filters run, and where their plugins are.
struct FilterSurroundings {
  std::vector<std::string> plugin_path;  // searched after the farm file's
  std::function<void()> wake;            // as in ProcessingUnitsOptions
  // As in Environment.
  std::function<std::unique_ptr<filter_host::WorkerHost>(int slice_memory)> make_workers = {};
};

// The filter's plugin with its units, in this process or in workers, from its start to its end.
class FilterRuntime {
 public:
  // Workers map `memory`. Throws std::runtime_error with a sentence if the plugin cannot be loaded.
  FilterRuntime(FilterRuntimeSettings settings, const FilterSurroundings& around, MemoryRegion& memory,
                std::span<const assembly::SourceInfo> sources);

  // Advances the start of workers, or their begin of the run, without waiting. Returns true when it is
  // complete, which it is at once for a filter in this process. Errors: why the filter does not start.
  [[nodiscard]] Expected<bool, std::string> poll_start();
  // Returns true once, when workers have loaded their plugin.
  [[nodiscard]] bool take_loaded() { return std::exchange(loaded_, false); }
  // Requires: poll_start() has returned true; the run has begun when it does so again. Errors: why the filter
  // does not begin it.
  [[nodiscard]] Expected<void, std::string> begin_run(RunNumber run, UtcNs start_utc_ns);
  // Waits for running steps, and ends the units. The plugin's code stays.
  void end() { units_.reset(); }

  [[nodiscard]] filter_host::FilterUnits& units() const { return *units_; }
  [[nodiscard]] const std::string& plugin() const { return plugin_; }  // name and version
  [[nodiscard]] const v1::RunIdentity::Part& plugin_part() const { return plugin_part_; }

 private:
  void load(const FilterSurroundings& around);
  void launch(const FilterSurroundings& around, MemoryRegion& memory);
  void take_worker_plugin();

  const FilterRuntimeSettings settings_;
  std::vector<std::uint32_t> sources_;
  // Holds the code that destroys the states of slices, which may outlive the units.
  std::shared_ptr<const filter_host::FilterPlugin> library_;
  std::string plugin_;
  v1::RunIdentity::Part plugin_part_;
  std::unique_ptr<filter_host::WorkerHost> workers_;  // null: in this process
  std::unique_ptr<filter_host::FilterUnits> units_;
  const filter_host::WorkerUnits* starting_ = nullptr;  // `units_`, until its workers have created the filter
  bool loaded_ = false;
};

}  // namespace weir::dcm
