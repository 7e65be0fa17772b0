#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/config/planned_farm.hpp>
#include <weir/run_record/run_fields.hpp>
#include <weir/v1/control.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The records beside a run's data, in files of their own.
namespace weir::run_record {

struct RecordPaths {
  std::string begin;       // run-000001-begin.yaml: versions, plugin, nodes and sources, configuration
  std::string farm;        // run-000001-farm.yaml: every key; input for `weir run`
  std::string lab;         // run-000001-lab.yaml: every key of the lab, if any
  std::string end;         // run-000001-end.json: the summary
  std::string histograms;  // run-000001-histograms.json, if a filter booked any
  std::string log;         // folder: a file per node
};
[[nodiscard]] RecordPaths record_paths(const std::string& out, RunNumber run);

// Returns the first run number from `from` on without any of `file_names`, so that the data of two runs never
// share a name. Nothing: none is free up to 4294967295, the last one.
[[nodiscard]] std::optional<RunNumber> free_run_number(RunNumber from,
                                                       const std::vector<std::string>& file_names);
// Returns advice for a folder without a free run number.
[[nodiscard]] std::string no_run_number_left(const std::string& out);
// Claims the first run number from `from` on that is free and not being claimed by another process
// (node/run_claim.hpp), for the process with this id. The error is a sentence.
[[nodiscard]] Expected<RunNumber, std::string> claim_free_run(const std::string& out, RunNumber from,
                                                              const std::string& farm, std::uint64_t id);
// Returns the names in a folder; none if the folder does not exist.
[[nodiscard]] std::vector<std::string> file_names_in(const std::string& folder);

// Returns the begin-of-run record as YAML: the operator's fields, versions, the run's parts, nodes and
// sources, configuration.
[[nodiscard]] std::string begin_record(const config::PlannedFarm& planned, UtcNs begin_utc,
                                       const v1::RunIdentity& identity, const RunFields& fields = {});

// Writes the begin-of-run record and the farm file, the latter below a comment line. Returns false if one
// could not be written; errno has the reason.
[[nodiscard]] bool write_begin_records(const RecordPaths& paths, const std::string& comment,
                                       const config::PlannedFarm& planned, UtcNs begin_utc,
                                       const v1::RunIdentity& identity, const RunFields& fields = {});

// Writes the run's histograms beside its other records. An account without histograms writes nothing and is a
// success.
[[nodiscard]] bool write_histograms(const RecordPaths& paths, const v1::RunSummary& account);

// Writes the text completely or not at all: an earlier file is kept until the new one is complete. (A path
// other than a regular file, such as a terminal, is written directly.) Returns false if it could not be
// written; errno has the reason.
[[nodiscard]] bool write_file(const std::string& path, const std::string& text);

}  // namespace weir::run_record
