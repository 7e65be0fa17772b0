#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>

#include <cstdint>
#include <optional>
#include <string>

// Which run has a number. A folder holds one run of each number: a run that begins claims its number there,
// by a file that can be made once (run-000001-claim.yaml; on a shared folder as far as its file system
// lets one of several make a link). Its id goes to the run's processes, and no process works in a folder
// whose run of that number is another's: neither goes on from its journal nor writes beside its data.
namespace weir::node {

[[nodiscard]] std::string claim_path(const std::string& folder, RunNumber run);

// The id under which this run was claimed; empty: it was not claimed, 0: the file does not say.
[[nodiscard]] std::optional<std::uint64_t> read_claim(const std::string& folder, RunNumber run);

// True: claimed; of several processes that try at once, one succeeds. False: another has claimed it already.
// The error is a sentence.
[[nodiscard]] Expected<bool, std::string> claim_run(const std::string& folder, RunNumber run,
                                                    const std::string& farm, std::uint64_t id);

// For a process of the run: claims it where nobody has (true), or finds the claim to be the run's own
// (false). The error is a sentence: the run of this number is another's.
[[nodiscard]] Expected<bool, std::string> hold_claim(const std::string& folder, RunNumber run,
                                                     const std::string& farm, std::uint64_t id);

// Of a run that is not to be after all: takes back the claim that is this id's.
void give_up_claim(const std::string& folder, RunNumber run, std::uint64_t id);

}  // namespace weir::node
