#include "filter_runtime.hpp"

#include <weir/filter_host/processing_units.hpp>
#include <weir/node/identity.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace weir::dcm {
namespace {

void write_log(int level, std::string_view line) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  spdlog::log(kLevels[std::clamp(level, 0, 3)], "filter {}", line);
}

std::vector<std::string> search_path(const FilterRuntimeSettings& settings,
                                     const FilterSurroundings& around) {
  std::vector<std::string> path = settings.search_path;
  path.insert(path.end(), around.plugin_path.begin(), around.plugin_path.end());
  return path;
}

filter_host::FilterConfig with_log(filter_host::FilterConfig config) {
  config.log = write_log;
  return config;
}

}  // namespace

FilterRuntime::FilterRuntime(FilterRuntimeSettings settings, const FilterSurroundings& around,
                             MemoryRegion& memory, std::span<const assembly::SourceInfo> sources)
    : settings_(std::move(settings)) {
  for (const assembly::SourceInfo& source : sources) sources_.push_back(source.id.value);
  if (settings_.isolated) {
    launch(around, memory);
  } else {
    load(around);
  }
}

void FilterRuntime::load(const FilterSurroundings& around) {
  auto plugin = filter_host::FilterPlugin::load(settings_.plugin, search_path(settings_, around));
  if (!plugin) throw std::runtime_error("filter.plugin: " + plugin.error().text);
  plugin_part_ = node::plugin_part(settings_.name, (*plugin)->path(), (*plugin)->file_crc32c());
  node::require(settings_.run_identity, plugin_part_);
  filter_host::ProcessingUnitsOptions options;
  options.units = settings_.units;
  options.jobs_max = settings_.jobs_max;
  options.wake = around.wake;
  auto units = filter_host::ProcessingUnits::create(*plugin, with_log(settings_.config), options);
  if (!units) throw std::runtime_error("filter " + (*plugin)->name() + ": " + units.error().text);
  units_ = std::move(*units);
  library_ = *plugin;
  plugin_ = (*plugin)->name() + " " + (*plugin)->version();
  spdlog::info("filter loaded plugin={} version={} path={} crc32c={:08x}", (*plugin)->name(),
               (*plugin)->version(), (*plugin)->path(), (*plugin)->file_crc32c());
}

void FilterRuntime::launch(const FilterSurroundings& around, MemoryRegion& memory) {
  if (!around.make_workers)
    throw std::runtime_error("filter.isolation: this process cannot start filter workers");
  memory.seal();
  workers_ = around.make_workers(memory.descriptor());
  filter_host::WorkerUnitsOptions options;
  options.pool = settings_.workers;
  options.jobs_max = settings_.jobs_max;
  options.rows_max = static_cast<std::uint32_t>(sources_.size());
  options.memory_bytes = settings_.worker_memory_bytes;
  options.measure_cpu = settings_.measure_cpu;
  options.slice_memory = memory.bytes();
  auto units = filter_host::WorkerUnits::launch(settings_.plugin, search_path(settings_, around),
                                                with_log(settings_.config), options, *workers_);
  starting_ = units.get();
  units_ = std::move(units);
}

Expected<bool, std::string> FilterRuntime::poll_start() {
  const auto done = units_->poll_start();
  if (!done) {
    return Unexpected<std::string>((plugin_.empty() ? "filter.plugin: " : "filter " + plugin_ + ": ") +
                                   done.error().text);
  }
  if (!*done || starting_ == nullptr) return *done;
  try {
    take_worker_plugin();
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
  return true;
}

// Throws std::runtime_error when the workers have loaded another file than the run's.
void FilterRuntime::take_worker_plugin() {
  const filter_host::WorkerPlugin& plugin = starting_->plugin();
  plugin_ = plugin.name + " " + plugin.version;
  plugin_part_ = node::plugin_part(settings_.name, plugin.path, plugin.file_crc32c);
  node::require(settings_.run_identity, plugin_part_);
  spdlog::info("filter loaded plugin={} version={} path={} crc32c={:08x} workers={}", plugin.name,
               plugin.version, plugin.path, plugin.file_crc32c, units_->figures().workers);
  if (const std::string limit = units_->figures().memory_limit; !limit.empty())
    spdlog::info("filter workers limited memory=\"{}\"", limit);
  starting_ = nullptr;
  loaded_ = true;
}

Expected<void, std::string> FilterRuntime::begin_run(RunNumber number, UtcNs start_utc_ns) {
  filter_host::RunInfo run;
  run.run = number;
  run.start_time = start_utc_ns;
  run.sources = sources_;
  if (auto begun = units_->begin_run(run); !begun)
    return Unexpected<std::string>("filter " + plugin_ + ": " + begun.error().text);
  return {};
}

}  // namespace weir::dcm
