#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/ingest/error.hpp>
#include <weir/ingest/recorded_run.hpp>

#include <string>
#include <vector>

namespace weir::ingest {

// Returns the files of the recording at `path`, a folder's index first, each with its checksum
// (RecordedFile). Reads a folder's data; of run files it reads the tables and slice heads. Blocks: for
// start-up only.
[[nodiscard]] Expected<std::vector<RecordedFile>, IngestFailure> fingerprint(const std::string& path,
                                                                             const ReplayLimits& limits = {});

}  // namespace weir::ingest
