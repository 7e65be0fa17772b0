#include "field_value.hpp"
#include "validation.hpp"
#include <weir/config/filter_settings.hpp>

#include <string>

namespace weir::config {
namespace {

// A slice that ends its worker is tried once more in another one.
void check_worker_lease(Validation& found) {
  const v1::FilterSettings& filter = found.here().filter();
  if (!runs_in_workers(filter)) return;
  const std::uint64_t two_tries =
      2 * (std::uint64_t{filter.timeout_ms()} + filter.workers().start_timeout_ms());
  const std::uint64_t lease_ms = found.farm().supervisor().lease_ms();
  if (two_tries < lease_ms) return;
  found.inconsistent("filter.timeout_ms", "2 x (filter.timeout_ms + filter.workers.start_timeout_ms) is " +
                                              std::to_string(two_tries) +
                                              ", not below supervisor.lease_ms, " + std::to_string(lease_ms) +
                                              ": the slice would be taken away before its second try");
}

void check_lease(Validation& found) {
  const std::uint32_t lease_ms = found.farm().supervisor().lease_ms();
  const std::uint32_t step_ms = found.farm().filter().step_deadline_ms();
  if (lease_ms <= step_ms) {
    found.warn("supervisor.lease_ms", std::to_string(lease_ms) + " is not above filter.step_deadline_ms, " +
                                          std::to_string(step_ms) +
                                          ": a long step is ended before it counts as stalled");
  }
  found.for_kinds(Role::dcm, found.farm().dcm().nodes_size(), [&] { check_worker_lease(found); });
}

void check_heartbeat(Validation& found) {
  const v1::ControlSettings& control = found.farm().control();
  if (control.heartbeat_ms() < control.silence_ms()) return;
  found.inconsistent("control.heartbeat_ms", std::to_string(control.heartbeat_ms()) +
                                                 " is not below control.silence_ms, " +
                                                 std::to_string(control.silence_ms()) +
                                                 ": run control would consider live processes dead between "
                                                 "two heartbeats; set at most a third of it");
}

// Nothing arrives within less than a round trip.
void check_round_trip(Validation& found) {
  constexpr std::uint64_t kMicroseconds = 1000;
  const v1::NetworkSettings& network = found.farm().network();
  const auto needs_longer = [&](const std::string& key, std::uint64_t limit_ms, const std::string& outcome) {
    if (limit_ms * kMicroseconds > network.round_trip_us()) return;
    found.inconsistent(key, std::to_string(limit_ms) + " is not above network.round_trip_us, " +
                                std::to_string(network.round_trip_us()) + ": " + outcome);
  };
  needs_longer("dcm.deadline_ms", found.farm().dcm().deadline_ms(), "every slice would be incomplete");
  needs_longer("network.hello_timeout_ms", network.hello_timeout_ms(), "no connection would be accepted");
}

}  // namespace

void check_times(Validation& found) {
  check_lease(found);
  check_heartbeat(found);
  check_round_trip(found);
}

// A writer acknowledges a slice with the sync after it.
void check_sync_times(Validation& found, const FarmPlan& plan) {
  const std::uint32_t lease_ms = found.farm().supervisor().lease_ms();
  const double drain_ms = found.farm().run().drain_timeout_s() * 1000;
  const bool several = plan.of_role(Role::writer).size() > 1;
  for (const NodeFarms::Kind& writers : found.node_farms().kinds(plan, Role::writer)) {
    found.look_at(writers.shared, [&] {
      const std::uint32_t sync_ms = found.here().writer().sync_interval_ms();
      const std::string value = std::to_string(sync_ms);
      if (several && sync_ms >= lease_ms) {
        found.inconsistent("writer.sync_interval_ms",
                           value + " is not below supervisor.lease_ms, " + std::to_string(lease_ms) +
                               ": each slice would go to another writer before it is acknowledged");
      }
      if (drain_ms > 0 && sync_ms >= drain_ms) {
        found.warn("writer.sync_interval_ms",
                   value + " is not below run.drain_timeout_s, " +
                       print_number(found.farm().run().drain_timeout_s()) +
                       " s: the last slices of a run are discarded before they are synced");
      }
    });
  }
}

}  // namespace weir::config
