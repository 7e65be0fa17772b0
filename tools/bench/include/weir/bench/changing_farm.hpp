#pragma once

#include <weir/bench/figure.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

// `weir bench changing-farm`: DCMs leave a run and rejoin, and the rate of stored slices follows. The test of
// the paper on remote farms (atlas-remote-farms-wan-2005, section III.B, Fig. 8), in which farm nodes were
// removed and returned at set times.
namespace weir::bench {

constexpr double kRateWindowS = 0.5;
constexpr double kRateBand = 0.05;
constexpr double kUnlikeSettleS = 2;  // of unlike DCMs, before a phase is measured
constexpr double kUnlikeBand = 0.1;   // they store a few slices a second

// A sample of the supervisor's reports.
struct StoredUntil {
  double at_s = 0;  // since the first one
  std::uint64_t slices = 0;
};

struct FarmChange {
  double at_s = 0;  // on the same clock
  std::string what;
  std::uint32_t dcms = 0;  // present from now on
  std::string dcm = {};    // that left or came
};

// The time between two changes.
struct Phase {
  FarmChange change;
  double until_s = 0;
  double expected_hz = 0;  // the whole farm's rate times the share of present DCMs
  // Time from the change to the first two consecutive windows with rates within the band around the expected
  // rate; nullopt: none.
  std::optional<double> followed_s;
  double rate_hz = 0;  // from then to the phase's end
  double band = kRateBand;

  [[nodiscard]] double deviation() const { return rate_hz / expected_hz - 1; }
  [[nodiscard]] bool good() const;
};

// Slices per second between two times, counts in between taken as linear. Zero for an empty time.
[[nodiscard]] double rate_between(const std::vector<StoredUntil>& stored, double from_s, double until_s);

// The first change is the begin, with all DCMs; its phase, without its first second, is the reference for the
// others. Both lists are ascending. Pure.
[[nodiscard]] std::vector<Phase> phases_of(const std::vector<StoredUntil>& stored,
                                           const std::vector<FarmChange>& changes);

// The same for unlike DCMs. The first removal of a DCM shows its rate: the difference to the phase before.
// All later phases are expected to have the sum of the present DCMs' rates. Pure.
[[nodiscard]] std::vector<Phase> phases_of_unlike(const std::vector<StoredUntil>& stored,
                                                  const std::vector<FarmChange>& changes);

// Fig. 8 of the paper: remote nodes behind a long line, and what happens to them. Rates and sizes are scaled,
// so that times stay.
struct RemoteNode {
  std::string name;
  double port_mbit = 0;  // the paper's
};
struct RemoteNodeChange {
  double at_s = 0;  // the paper's
  bool removes = true;
  std::string node;
};
struct RemoteNodes {
  std::vector<RemoteNode> nodes;
  std::vector<RemoteNodeChange> changes;
  double until_s = 0;             // the paper's
  double event_bytes = 0;         // likewise
  double delay_ms = 0;            // of the line, in each direction
  double processing_ms = 0;       // of an event, asleep
  std::uint32_t in_progress = 1;  // events that a node has at a time
  std::string paper;              // the paper's values, a sentence
  std::string differs;            // why ours differ, a sentence
};
[[nodiscard]] const RemoteNodes& remote_nodes();

struct ChangingFarmOptions {
  bool remote = false;  // Fig. 8 in a lab, instead of the DCMs below
  double scale = 0.25;  // of its rates and sizes
  double pace = 0.2;    // of its times
  std::uint32_t dcms = 6;
  double filter_ms = 25;  // that each DCM's filter takes for a slice, asleep: the rate is dcms / filter_ms
  double step_s = 8;      // between two changes
  Output output{.name = "changing-farm"};
};

struct ChangingFarmResult {
  std::vector<StoredUntil> stored;
  std::vector<Phase> phases;
  bool balanced = false;
  std::uint64_t stored_slices = 0;  // from the account
  std::uint64_t discarded = 0;
  std::string reason;  // that the account gives
};

[[nodiscard]] Line line_of(const ChangingFarmResult& result, const ChangingFarmOptions& options);
// A row for each phase of the line.
[[nodiscard]] std::string changing_farm_page(const Line& line, const ChangingFarmOptions& options,
                                             const std::string& machine);

// The changes of the farm, in order: half of the DCMs leave and rejoin, one is killed and restarted.
struct FarmStep {
  enum class Kind : std::uint8_t { remove, add, kill, start };
  Kind kind = Kind::remove;
  std::string dcm;
};
[[nodiscard]] std::vector<FarmStep> changing_farm_steps(std::uint32_t dcms);

// The farm and the lab of `remote_nodes()`.
[[nodiscard]] std::string remote_nodes_farm(const RemoteNodes& remote, double scale, const std::string& name);
[[nodiscard]] std::string remote_nodes_lab(const RemoteNodes& remote, double scale);

// 0: every phase is good and the ledger balances.
[[nodiscard]] int run_changing_farm(const ChangingFarmOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
