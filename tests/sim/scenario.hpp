#pragma once

#include "front_end_plan.hpp"
#include <weir/base/time.hpp>
#include <weir/simnet/disk.hpp>
#include <weir/simnet/world.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::sim {

enum class FaultKind : std::uint8_t {
  break_connections,  // between `who` and `other`
  silence,            // from `who` to `other`
  stall,              // `who` runs no pass
  kill,  // the process dies, its kernel lives; restarts after `lasts_ns`; `amount` 1: dies in the middle of
         // its next pass
  lose_machine,  // including unsynced disk data; otherwise as `kill`
  refuse,        // connections to `who` are refused
  slow_disk,     // an operation of `who` takes `amount` ns
  full_disk,     // the disk of `who` has room for `amount` bytes more
  disk_error,    // the next operation of `who` fails
  jump_utc,      // of `who`, by `amount` ns
  drain,         // run control removes `who` from the run, and adds it again after `lasts_ns`
  pause,         // run control pauses the run
  partition,     // nothing passes between `who` and `other`, either way
  burst,         // an alert, from `amount` ms before to `lasts_ns` after
  flip,          // a bit is flipped in `amount` of 1,000 chunks from `who` to `other`
  cut            // nothing passes between `who` and others in plane `amount`
};
constexpr std::size_t kFaultKinds = 10;     // faults of a farm
constexpr std::size_t kScenarioKinds = 16;  // and what is done to it
[[nodiscard]] const char* name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::stall;
  TimeNs at_ns = 0;
  DurationNs lasts_ns = 0;
  std::string who;
  std::string other;
  std::int64_t amount = 0;
};
[[nodiscard]] std::string describe(const Fault& fault);
// Value of `other`: the link of the DCM that is cut off loses its carrier.
inline constexpr const char* kCarrier = "carrier";

// Origin of the slice ids: the farm itself, or a client outside, which repeats some of its ids.
enum class IdOrder : std::uint8_t { of_the_farm, dense, sparse, descending };

// Everything that a run is made of, drawn from one number.
struct Scenario {
  std::uint64_t seed = 0;
  std::string farm;  // YAML
  simnet::WorldSettings world;
  simnet::DiskSettings disk;
  std::vector<Fault> faults;  // sorted by time
  TimeNs faults_end_ns = 0;   // no fault lasts beyond this time
  std::uint32_t readouts = 0;
  std::uint32_t sources = 0;  // of each readout
  std::uint32_t dcms = 0;
  std::uint32_t writers = 0;
  std::uint64_t slices = 0;
  std::uint64_t prescale = 1;      // accepted: ids that this divides
  std::uint64_t killers = 0;       // every n-th slice kills its filter's process at each attempt; 0: never
  bool workers = false;            // filters run in simulated worker processes
  DurationNs worker_start_ns = 0;  // filter.workers.start_timeout_ms
  bool filter_errors = false;      // now and then
  bool patient = false;            // no deadline and no grace time ends within the run
  bool push = false;
  std::vector<std::uint32_t> groups;  // DCMs of each group, in a split farm; else empty
  bool remote = false;                // the last group is
  std::int64_t remote_lease_ms = 0;
  bool fetches = false;           // groups after the first get whole slices from the DCMs that forward them
  bool fetches_in_plane = false;  // ... through the first plane
  std::size_t killer_group = 0;   // whose filter the killers end
  IdOrder ids = IdOrder::of_the_farm;
  bool text_triggers = false;      // triggers are lines of text
  DurationNs grace_ns = 0;         // dcm.grace_ms
  bool two_step = false;           // some sources may not be asked for
  bool remembers = false;          // the filter fails a slice that lost what its first step remembered
  bool strict_blame = false;       // one death of a worker makes the slice in it poison
  std::uint64_t windows = 0;       // that all fragments of the run fill, with many sources
  bool many_sources = false;       // with tiny fragments, or with fragments around a power of two
  DurationNs clock_slice_ns = 0;   // with clock triggers: ids are a function of the time
  std::uint64_t alerts_every = 0;  // the filter gives a burst alert for every n-th slice; 0: never
  DurationNs filter_alerts_apart = 0;
  FrontEndPlan front_ends;
  std::uint32_t planes = 0;         // from readouts to DCMs; 0: one network
  bool busy = false;                // single passes take long; fragments in order wait for their slices
  bool only_planes = false;         // the farm's only faults are cuts of one plane: nothing may be missing
  std::int64_t plane_bound_ms = 0;  // heartbeat_ms x heartbeat_misses
  bool journal_checked = false;     // after every pass, against the supervisor's state
  std::uint32_t ring_disk_fails_permille = 0;  // operations of a burst ring's disk
  DurationNs ring_disk_ns_max = 5 * kMillisecond;
};

struct ScenarioLimits {
  std::uint32_t faults_max = 12;
  bool supervisor_dies = true;
  std::uint32_t supervisor_permille = 200;  // share of the faults of a single process
  // Farms with front-ends that count events, have clocks, or slip. Drawn by generators of their own.
  std::uint32_t front_ends_permille = 0;
  FrontEnds front_ends_kind = FrontEnds::none;  // of all these farms; none: any
  std::uint32_t planes_permille = 0;            // farms with planes, likewise
  bool busy = false;                            // every farm has busy machines, and half of them push
  std::uint32_t together_permille = 0;          // faults that come within 100 ms of the one before
  // Farms in which two nodes, or a DCM and all readouts, exchange no messages for a while. Drawn last, so
  // that the rest of the scenario is unchanged.
  std::uint32_t partition_permille = 300;
  // How often a kind is drawn, against the others.
  std::array<std::uint32_t, kFaultKinds> weights = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
};
// Disk faults, power loss and deaths of the supervisor, frequent and concurrent.
[[nodiscard]] ScenarioLimits hard_limits();
// "normal", "hard", "front-ends", "by-trigger", "by-number", "by-time", "planes", "busy", and KIND=WEIGHT,
// one after another, with commas. Throws std::runtime_error.
void set_rates(std::string_view text, ScenarioLimits& limits);
[[nodiscard]] Scenario make_scenario(std::uint64_t seed, const ScenarioLimits& limits = {});

}  // namespace weir::sim
