#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/config/plan.hpp>
#include <weir/v1/control.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What stands beside a run's data, in files of their own.
namespace weir::run_record {

struct RecordPaths {
  std::string begin;  // run-000001-begin.yaml: versions, plugin, nodes and sources, configuration
  std::string farm;   // run-000001-farm.yaml: every key; `weir run` takes it
  std::string lab;    // run-000001-lab.yaml: every key of the lab, where there is one
  std::string end;    // run-000001-end.json: the summary
  std::string log;    // folder: a file per node
};
[[nodiscard]] RecordPaths record_paths(const std::string& out, RunNumber run);

// The first run number from `from` on of which `file_names` hold nothing: data of two runs never share a
// name. Nothing: there is none, for 4294967295 is the last.
[[nodiscard]] std::optional<RunNumber> free_run_number(RunNumber from,
                                                       const std::vector<std::string>& file_names);
// What to do when a folder has no run number left, a sentence.
[[nodiscard]] std::string no_run_number_left(const std::string& out);
// Claims the first run number from `from` on that is free and that no other process claims at this moment
// (node/run_claim.hpp), for the process with this id. The error is a sentence.
[[nodiscard]] Expected<RunNumber, std::string> claim_free_run(const std::string& out, RunNumber from,
                                                              const std::string& farm, std::uint64_t id);
// The names in a folder; none when there is no such folder.
[[nodiscard]] std::vector<std::string> file_names_in(const std::string& folder);

// The begin-of-run record, YAML: versions, the parts that the run is made of, nodes and sources,
// configuration.
[[nodiscard]] std::string begin_record(const v1::Farm& farm, const config::FarmPlan& plan, UtcNs begin_utc,
                                       const v1::RunIdentity& identity);

// Writes the begin-of-run record and the farm file, the latter below a line of comment. False: one could not
// be written, errno says why.
[[nodiscard]] bool write_begin_records(const RecordPaths& paths, const std::string& comment,
                                       const v1::Farm& farm, const config::FarmPlan& plan, UtcNs begin_utc,
                                       const v1::RunIdentity& identity);

// All of the text or nothing: what was there before stays until the new file is whole. (What is no regular
// file, such as a terminal, is written to as it is.) False: it could not be written, errno says why.
[[nodiscard]] bool write_file(const std::string& path, const std::string& text);

}  // namespace weir::run_record
