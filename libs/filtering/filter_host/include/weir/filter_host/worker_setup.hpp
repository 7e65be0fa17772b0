#pragma once

#include <weir/filter_host/instance.hpp>
#include <weir/plugin_loader/plugin_copy.hpp>
#include <weir/v1/worker.pb.h>

#include <string>
#include <vector>

namespace weir::filter_host {

// Describes a filter to another process: the plugin with its search path, parameters, groups and limits.
// FilterConfig::log stays here.
[[nodiscard]] v1::WorkerMessage::Setup setup_of(const std::string& plugin,
                                                const std::vector<std::string>& search_path,
                                                const FilterConfig& config);
// Returns the plugin's files that a DCM has added.
[[nodiscard]] plugin_loader::PluginCopy copy_of(const v1::WorkerMessage::Setup& setup);
// Returns the config that setup_of() described.
[[nodiscard]] FilterConfig config_of(const v1::WorkerMessage::Setup& setup);

}  // namespace weir::filter_host
