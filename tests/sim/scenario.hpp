#pragma once

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
  stall,              // `who` gets no pass
  kill,               // its kernel lives; back after `lasts_ns`; `amount` 1: in the middle of its next pass
  lose_machine,       // with its unsynced disk; otherwise as `kill`
  refuse,             // nobody connects to `who`
  slow_disk,          // an operation of `who` takes `amount` ns
  full_disk,          // `who` has room for `amount` bytes more
  disk_error,         // the next operation of `who` fails
  jump_utc,           // of `who`, by `amount` ns
  drain,              // run control takes `who` out of the run, and adds it again after `lasts_ns`
  pause,              // run control pauses the run
  partition,          // nothing passes between `who` and `other`, either way
  burst               // an alert, from `amount` ms before to `lasts_ns` after
};
constexpr std::size_t kFaultKinds = 10;     // those that happen to a farm
constexpr std::size_t kScenarioKinds = 14;  // and what is done to it
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

// Origin of the slice ids: the farm itself, or a client outside, which repeats some of its ids.
enum class IdOrder : std::uint8_t { of_the_farm, dense, sparse, descending };

// Everything that a run is made of, drawn from one number.
struct Scenario {
  std::uint64_t seed = 0;
  std::string farm;  // YAML
  simnet::WorldSettings world;
  simnet::DiskSettings disk;
  std::vector<Fault> faults;  // in order of time
  TimeNs faults_end_ns = 0;   // nothing is wrong after that
  std::uint32_t readouts = 0;
  std::uint32_t sources = 0;  // of each readout
  std::uint32_t dcms = 0;
  std::uint32_t writers = 0;
  std::uint64_t slices = 0;
  std::uint64_t prescale = 1;  // accepted: ids that this divides
  std::uint64_t killers =
      0;                 // each n-th slice ends its filter's process whenever it is filtered; 0: none does
  bool workers = false;  // filters run in simulated worker processes
  DurationNs worker_start_ns = 0;  // filter.workers.start_timeout_ms
  bool filter_errors = false;      // now and then
  bool patient = false;            // no deadline and no grace time ends within the run
  bool push = false;
  std::vector<std::uint32_t> groups;  // DCMs of each group, in a split farm; else empty
  std::size_t killer_group = 0;       // whose filter the killers end
  IdOrder ids = IdOrder::of_the_farm;
  DurationNs grace_ns = 0;        // dcm.grace_ms
  bool two_step = false;          // some sources may not be asked for
  bool many_sources = false;      // with tiny fragments, or with fragments around a power of two
  DurationNs clock_slice_ns = 0;  // with triggers by the clock: ids are a function of the time
};

struct ScenarioLimits {
  std::uint32_t faults_max = 12;
  bool supervisor_dies = true;
  std::uint32_t supervisor_permille = 200;  // of what befalls one process
  std::uint32_t together_permille = 0;      // faults that come within 100 ms of the one before
  // Farms in which two nodes, or a DCM and all readouts, hear nothing of each other for a while. Drawn after
  // all else, which stays as it is.
  std::uint32_t partition_permille = 300;
  // How often a kind is drawn, against the others.
  std::array<std::uint32_t, kFaultKinds> weights = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
};
// Disks that fail, power that is lost and supervisors that die, often and at once.
[[nodiscard]] ScenarioLimits hard_limits();
// "normal", "hard", and KIND=WEIGHT, one after another, with commas. Throws std::runtime_error.
void set_rates(std::string_view text, ScenarioLimits& limits);
[[nodiscard]] Scenario make_scenario(std::uint64_t seed, const ScenarioLimits& limits = {});

}  // namespace weir::sim
