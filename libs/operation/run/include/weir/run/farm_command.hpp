#pragma once

#include <weir/run_record/run_fields.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_record {
struct Summary;
}

namespace weir::run {

struct FarmOptions {
  std::string farm_file;
  std::vector<std::string> sets;  // key=value; keys with the prefix lab. are the lab's
};

struct RunOptions {
  FarmOptions farm;
  std::optional<std::uint64_t> slices;  // these four override the farm file
  std::optional<double> duration_s;
  std::string out;
  std::string log_level;
  std::string summary_file;      // in addition to the end-of-run record; may be empty
  run_record::RunFields fields;  // of the run, by its operator
  std::string page;              // host:port of the farm's page; empty: no page
  std::string removed;  // folder that the caller removes: no records and commands are listed; may be empty
  bool quiet = false;   // no live view, no summary: problems only
  double settle_s = 1;  // Summary::after_1s and the ports' drops after 1 s leave this out
  std::string trace_network;  // file for the ports and requests of the lab over time; empty: none
  std::string lab_file;       // the farm runs in a virtual network; empty: on this machine as it is
  // Returns true if the caller received a signal to end: then no process is started. May be empty.
  std::function<bool()> signalled = {};
};

// Runs the whole farm on this machine (`weir run`). Returns the exit status (exit_status.hpp). `told`, if
// given, receives the summary of a run that began. With a lab the calling thread stays in the lab's network.
[[nodiscard]] int run_farm(const RunOptions& options, std::FILE* out, std::FILE* err,
                           run_record::Summary* told = nullptr);

// Prints problems and warnings, then the plan (`weir check`). Rates and buffers of the network are those of
// the lab file, and processor times those of the file of `weir bench costs`, if they are given. Returns 0, or
// 2 if the farm cannot run.
[[nodiscard]] int check_farm(const FarmOptions& options, const std::string& lab_file,
                             const std::string& costs_file, std::FILE* out, std::FILE* err);

// Prints every key of a node, its value, and where it was given (`weir check --explain NODE`). Returns 0, or
// 2 if the farm cannot run or has no such node.
[[nodiscard]] int explain_node(const FarmOptions& options, const std::string& name, std::FILE* out,
                               std::FILE* err);

}  // namespace weir::run
