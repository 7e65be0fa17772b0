#pragma once

#include <weir/node/folder_watch.hpp>
#include <weir/node/setup.hpp>
#include <weir/v1/bus.pb.h>

#include <memory>
#include <vector>

namespace weir::node {

// Returns the setup of the run that the order begins, for a process with this configuration. Throws
// std::runtime_error for a bad override, another farm than the run's, or a folder that does not exist.
[[nodiscard]] std::unique_ptr<Setup> run_setup(const Setup& configured, const v1::Order& order);

// Returns the folders in which the process keeps data.
[[nodiscard]] std::vector<FolderWatch::Folder> data_folders(const Setup& setup, FolderWatch::Links run_out);

}  // namespace weir::node
