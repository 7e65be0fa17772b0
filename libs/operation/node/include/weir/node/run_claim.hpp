#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>

#include <cstdint>
#include <optional>
#include <string>

// Ownership of a run number. A folder holds one run of each number. A run claims its number there when it
// begins, with a file that can be made only once (run-000001-claim.yaml; on a shared folder this depends on
// its file system's links). The run's processes receive the id of the claim. No process resumes a journal, or
// writes data, in a folder where another run has claimed the number.
namespace weir::node {

[[nodiscard]] std::string claim_path(const std::string& folder, RunNumber run);

// Returns the id under which this run was claimed; nothing: not claimed, 0: the file has no id.
[[nodiscard]] std::optional<std::uint64_t> read_claim(const std::string& folder, RunNumber run);

// Returns true if the run is claimed now; of several processes that try at once, one succeeds. False: it is
// claimed already. The error is a sentence.
[[nodiscard]] Expected<bool, std::string> claim_run(const std::string& folder, RunNumber run,
                                                    const std::string& farm, std::uint64_t id);

// For a process of the run: claims the number if it is free (true), or finds it claimed by this run (false).
// Errors: another run has claimed it.
[[nodiscard]] Expected<bool, std::string> hold_claim(const std::string& folder, RunNumber run,
                                                     const std::string& farm, std::uint64_t id);

// Removes this id's claim, for a run that will not take place.
void give_up_claim(const std::string& folder, RunNumber run, std::uint64_t id);

}  // namespace weir::node
