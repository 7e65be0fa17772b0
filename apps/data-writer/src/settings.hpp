#pragma once

#include <weir/node/member_settings.hpp>
#include <weir/node/setup.hpp>
#include <weir/storage/run_store.hpp>

#include <cstdint>
#include <string>

namespace weir::writer {

// The settings of a writer, made once from the farm file.
struct WriterNodeSettings {
  node::MemberSettings member;
  storage::RunStoreConfig store;    // of the run; the caller sets the first sequence
  std::string begin_of_run;         // begin_of_run_record()
  std::uint64_t grant_bytes;        // of slices that may be in transit to this writer
  std::uint64_t burst_grant_bytes;  // of alerts' records
  bool has_burst_saver;             // the farm's DCMs keep slices for alerts
  bool runs_on_close;               // writer.on_close
  DurationNs on_close_ns;           // its longest time
  DurationNs close_patience_ns;     // longest time in which the writer tries to close its files
  bool has_more_runs;               // the process may take part in further runs
};
[[nodiscard]] WriterNodeSettings node_settings(const node::Setup& setup);

[[nodiscard]] storage::RunStoreConfig store_config(const node::Setup& setup);
// Returns the begin-of-run record that each run file contains: the whole farm as YAML, with every key.
// Requires: `setup` is of make_setup().
[[nodiscard]] std::string begin_of_run_record(const node::Setup& setup);

}  // namespace weir::writer
