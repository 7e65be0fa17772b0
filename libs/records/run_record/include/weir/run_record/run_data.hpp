#pragma once

#include <weir/base/ids.hpp>
#include <weir/run_record/summary.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The data of a run on disk, read after its end.
namespace weir::run_record {

// Adds the run's files that are in no report (left by a writer that died, closed or not), by name. An
// unreadable file is named in `faults`.
void add_unreported_files(const std::string& out, RunNumber run, Summary& summary);

// Returns the ids of the live slices in these files, ascending.
[[nodiscard]] std::vector<std::uint64_t> stored_slices(const std::vector<Summary::File>& files);

}  // namespace weir::run_record
