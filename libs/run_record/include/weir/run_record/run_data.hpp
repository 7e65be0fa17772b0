#pragma once

#include <weir/base/ids.hpp>
#include <weir/run_record/summary.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What a run left on disk, read after its end.
namespace weir::run_record {

// Adds the run's files that no report names (a writer that died left them, closed or not), by name. A file
// that cannot be read is named in `faults`.
void add_unreported_files(const std::string& out, RunNumber run, Summary& summary);

// Ids of the live slices of these files, ascending.
[[nodiscard]] std::vector<std::uint64_t> stored_slices(const std::vector<Summary::File>& files);

}  // namespace weir::run_record
