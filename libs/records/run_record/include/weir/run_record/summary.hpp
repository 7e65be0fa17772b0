#pragma once

#include <weir/launch/child.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/reports/lab.hpp>
#include <weir/reports/loop_use.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/run_record/steady_part.hpp>
#include <weir/run_record/truth.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_record {

using Counts = std::map<std::string, std::uint64_t>;

struct Percentiles {
  std::uint64_t count = 0;
  std::uint64_t p50 = 0;
  std::uint64_t p90 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t p999 = 0;
  std::uint64_t max = 0;
  double mean = 0;
  double sigma = 0;  // standard deviation, from the middles of the histogram's buckets
};

// One step of the filter, over all DCMs.
struct StepSummary {
  std::string group;  // of DCMs; empty: the farm has none
  std::uint32_t step = 0;
  std::uint64_t slices = 0;  // that reached it
  std::uint64_t rejected = 0;
  std::uint64_t bytes = 0;  // that slices gained for it
  double wait_us = 0;       // these three: of a slice, on average
  double process_us = 0;
  double cpu_us = 0;
};

// CPU time of one DCM, or of all.
struct CpuSummary {
  std::string dcm;  // empty: all
  std::uint64_t slices = 0;
  double filter_s = 0;
  double transport_s = 0;
  double seconds = 0;  // of the run
};

// The time from assignment to decision, as a distribution.
struct DecisionTimes {
  struct Above {
    std::uint64_t us = 0;
    double share = 0;  // of the slices that took longer
  };
  double mean_us = 0;
  double sigma_us = 0;
  std::vector<Above> above;  // ascending, from the shortest time to the longest
};

// A DCM's move from one plane to another.
struct PlaneChange {
  std::string dcm;
  double at_s = 0;  // after the run's begin
  std::string from;
  std::string to;
  std::uint64_t lacking = 0;  // readouts without a heartbeat in `from`; 0: the DCM returned
  double gap_s = 0;           // the longest time without data of a readout, around the move; 0: unknown
};

// The lab in which a farm ran.
struct LabSummary {
  std::string name;
  std::string topology;
  std::string back_pressure;  // "none", "pause", "credits"
  std::uint64_t hosts = 0;
  std::uint64_t machine_drops = 0;
  std::uint64_t cpu_load = 0;  // spinners besides the farm
  double cpu_load_s = 0;       // CPU time that they used
  std::optional<reports::RelayReport> relay;
};

// The run without its start.
struct SteadySummary {
  double seconds = 0;
  double goodput_bytes_per_s = 0;
  double goodput_share_of_theory = 0;
  double slices_per_s = 0;
  Percentiles latency_us;
  Percentiles build_latency_us;
  std::uint64_t retransmits = 0;
  double dcm_share_min = 0;
  double dcm_share_max = 0;
  metrics::ValueHistogram latency;  // of latency_us; not in the JSON
};

// One group of DCMs and its slices.
struct GroupSummary {
  std::string name;
  std::uint64_t arrived = 0;  // forwarded to it; of the first group, triggered
  std::uint64_t stored = 0;
  std::uint64_t rejected = 0;
  std::uint64_t discarded = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t reassigned = 0;
  Percentiles decision_latency_us;
  DecisionTimes decision_times;
};

// One process start.
struct ProcessRecord {
  std::string name;
  std::string role;
  launch::ProcessEnd end;
};

// A part of the run (v1::RunIdentity) as loaded by one process.
struct RanPart {
  std::string process;
  std::string kind;  // "farm", "filter plugin", "source plugin", "recording"
  std::string name;
  std::uint32_t crc32c = 0;
};

// The end of a run in numbers: docs/summary.md explains each.
struct Summary {
  struct Equation {
    std::string name;
    std::string left;
    std::string right;
    bool good = false;
    std::string note;
  };
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    std::uint64_t slices = 0;
    std::uint32_t crc32c = 0;

    [[nodiscard]] bool closed() const { return !path.ends_with(".part"); }
  };

  // A change of the farm during the run, by an operator or a rule.
  struct Operation {
    std::int64_t utc_ns = 0;
    std::string text;  // "readout-1 removed"
  };

  std::string farm;
  std::uint32_t run = 0;
  std::string reason;   // why the run ended
  std::string failure;  // why it was not a good run; may be empty
  std::string outcome;  // run_history.hpp
  int exit_status = 0;
  std::int64_t begin_utc_ns = 0;
  std::int64_t end_utc_ns = 0;
  double running_s = 0;   // from the begin to the end of triggers, without pauses
  double duration_s = 0;  // first trigger to last settled slice

  std::uint64_t offered = 0;
  std::uint64_t triggered = 0;
  std::uint64_t stored = 0;
  std::uint64_t stored_incomplete = 0;  // among the stored
  std::uint64_t rejected = 0;
  Counts vetoed;        // by reason
  Counts throttled_ms;  // how long a node throttled the triggers, by its reason
  Counts discarded;     // by reason

  Counts fragments;                       // by outcome; every name of fragment_outcomes() is present
  Counts fragments_missing;               // in valid attempts: as in the files, if all slices are stored
  std::uint64_t fragments_overtaken = 0;  // missing in attempts that were given up or overtaken
  Counts fragments_dropped;
  // DCMs that were lost before their final report: if above 0, requested, received and missing are lower
  // bounds.
  std::uint64_t dcms_lost = 0;
  v1::SourceCounts sources;    // of the supervisor's report
  double source_fairness = 0;  // reports::fairness_of() the bytes of each source,
  double dcm_fairness = 0;     // those of each DCM,
  double flow_fairness = 0;    // and those from each readout to each DCM
  double delivery_fairness = 0;

  double slices_per_s = 0;
  double fragments_per_s = 0;
  double goodput_bytes_per_s = 0;
  Percentiles latency_us;
  Percentiles build_latency_us;
  Percentiles decision_latency_us;
  std::vector<GroupSummary> groups;       // in the order of dcm.groups; none: one group
  std::uint64_t readout_bytes_peak = 0;   // the most that one readout held
  std::uint64_t readout_slices_peak = 0;  // likewise
  DecisionTimes decision_times;
  std::vector<StepSummary> steps;  // empty: the filter got all sources at once
  Counts prefetch;                 // fragments and bytes requested ahead; empty: none
  Counts fetch;                    // built slices that moved between DCMs; empty: none
  CpuSummary cpu;
  std::vector<CpuSummary> cpu_of_dcms;
  std::vector<reports::NodeUse> loops;  // of each process that moves data, over the run
  std::uint64_t retransmits = 0;
  std::uint64_t output_events = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_stored = 0;

  std::string source_plugin;  // name and version; empty for built-in sources
  Counts source;              // the plugin's counters
  Counts injected;            // fragments with an injected fault, by fault
  Counts pieces;              // with build.by: time: data with a time, and windows; empty: none
  Counts numbers;             // with build.by: number; empty: none
  Counts steps_compared;      // where front-ends' counters or times are compared; empty: none
  // The delay of a source's pieces in UTC, with its clock's error in it.
  struct Clock {
    std::uint32_t source = 0;
    double least_us = 0;
    double median_us = 0;
    double correction_us = 0;  // added to its times, the farm's sources would have the same least delay
  };
  std::vector<Clock> clocks;  // ascending
  std::string filter_plugin;  // name and version
  Counts filter;              // the plugin's counters
  Counts filter_workers;      // restarts, ends by reason, slices retried and poisoned; empty: all zero
  std::optional<TruthComparison> truth;  // of source kind `hits`

  bool ledger_balanced = false;
  std::vector<Equation> ledger;
  std::string ledger_text;
  std::vector<std::string> faults;
  // An alert of the burst saver: slices by their fate.
  struct Burst {
    std::uint32_t number = 0;
    std::int64_t from_ns = 0;
    std::int64_t until_ns = 0;
    std::string reason;
    std::uint64_t asked = 0;
    std::uint64_t saved = 0;
    std::uint64_t too_old = 0;
    std::uint64_t no_room = 0;
    std::uint64_t disk_slow = 0;
    std::uint64_t disk_failed = 0;
    std::uint64_t refused = 0;
    std::uint64_t lost = 0;
    std::uint64_t not_kept = 0;
  };
  std::vector<Operation> operations;
  std::vector<PlaneChange> plane_moves;     // by time
  std::vector<v1::SwitchAccount> switches;  // of control.switches
  std::vector<File> files;
  std::vector<Burst> bursts;      // alerts, with what became of their slices
  std::vector<File> burst_files;  // of the alerts
  std::vector<ProcessRecord> processes;
  std::vector<RanPart> ran;  // by process, in the order of the reports; each once

  Theory theory;
  std::optional<SteadySummary> after_1s;   // nothing: the run was too short
  std::optional<LabSummary> lab;           // if there is one
  std::vector<reports::PortReport> ports;  // the lab's limited ports
  std::vector<reports::ForeignReport> foreign;
  std::vector<reports::DisturbedHost> disturbed;
  std::vector<reports::AppliedChange> changes;
  std::vector<reports::AppliedOutage> outages;  // of the long line
  std::vector<reports::AppliedOutage> cuts;     // of parts of planes
};

// Returns the keys of Summary::fragments.
[[nodiscard]] const std::vector<std::string>& fragment_outcomes();
[[nodiscard]] Percentiles percentiles_of(const metrics::ValueHistogram& histogram);
[[nodiscard]] std::uint64_t total_of(const Counts& counts);
// Returns the drops of all ports of the lab together.
[[nodiscard]] std::uint64_t port_drops(const Summary& summary);
[[nodiscard]] std::uint64_t port_drops_after_1s(const Summary& summary);

// Takes the supervisor's account: everything except farm, failure, exit_status, truth, processes, theory,
// after_1s, lab and ports. For a process that died its last report counts, for a file in two reports the
// later one.
[[nodiscard]] Summary summarize(const v1::RunSummary& account);
// Adds the network's theoretical performance for the slices of this run.
void add_theory(const FarmNetwork& network, Summary& summary);
// Requires: add_theory() was called.
void add_steady_part(const SteadyPart& steady, Summary& summary);
[[nodiscard]] double share_of_theory(const Summary& summary);

// Returns JSON with an indent of two spaces and a newline at the end.
[[nodiscard]] std::string to_json(const Summary& summary);
// Returns a page of text for people.
[[nodiscard]] std::string to_text(const Summary& summary);

}  // namespace weir::run_record
