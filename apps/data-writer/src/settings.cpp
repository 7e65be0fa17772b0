#include "settings.hpp"

#include <weir/base/assert.hpp>
#include <weir/config/durations.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/stop_limit.hpp>
#include <weir/node/process.hpp>

#include <algorithm>
#include <limits>

namespace weir::writer {
namespace {

template <class Number>
Number or_no_limit(Number value) {
  return value > 0 ? value : std::numeric_limits<Number>::max();
}

// Syncs come before the interval when the farm could otherwise run into one of its bounds and wait for the
// interval: at a quarter of each bound, so that the next data arrive while the disk syncs.
constexpr std::uint64_t kSyncShare = 4;

std::uint64_t sync_bytes(const node::Setup& setup, std::uint64_t writers) {
  // Half of a DCM's memory is for slices that wait for their writer, in blocks of up to twice their size.
  constexpr std::uint64_t kDcmShare = 4;
  std::uint64_t bytes =
      std::min(setup.farm.writer().sync_bytes(), setup.farm.writer().buffer_bytes() / kSyncShare);
  if (setup.whole_farm == nullptr) return bytes;
  for (const auto& dcms : config::NodeFarms(*setup.whole_farm).kinds(setup.plan, Role::dcm))
    bytes = std::min(bytes, dcms.shared.farm.dcm().buffer_bytes() / kDcmShare / kSyncShare / writers);
  return std::max<std::uint64_t>(1, bytes);
}

std::uint64_t sync_records(const node::Setup& setup, std::uint64_t writers) {
  const std::uint64_t unsettled =
      std::min(setup.farm.supervisor().in_flight_max(), setup.farm.readout().buffer_slices());
  return std::max<std::uint64_t>(1, unsettled / kSyncShare / writers);
}

}  // namespace

storage::RunStoreConfig store_config(const node::Setup& setup) {
  const v1::WriterSettings& writer = setup.farm.writer();
  storage::RunStoreConfig store;
  store.directory = setup.farm.run().out();
  store.writer = setup.self.name;
  store.farm = setup.farm.farm();
  store.run = setup.run;
  store.file_bytes_max = or_no_limit(writer.file_bytes_max());
  store.file_bytes_limit = node::file_bytes_limit();
  store.file_duration_max = or_no_limit(config::from_s(writer.file_seconds_max()));
  const std::uint64_t writers = std::max<std::uint64_t>(1, setup.plan.of_role(Role::writer).size());
  store.sync_bytes = sync_bytes(setup, writers);
  store.sync_records = sync_records(setup, writers);
  store.sync_interval = config::from_ms(writer.sync_interval_ms());
  // Granted records fit: the store's own bound is for records without a grant.
  store.queue_bytes_max = 2 * writer.buffer_bytes();
  store.check_fragments = setup.farm.run().checksums();
  store.files_leave = !writer.on_close().empty();
  return store;
}

std::string begin_of_run_record(const node::Setup& setup) {
  WEIR_ASSERT(setup.whole_farm != nullptr);
  return "# farm file, every key\n" + config::to_yaml(*setup.whole_farm);
}

WriterNodeSettings node_settings(const node::Setup& setup) {
  constexpr std::uint64_t kBurstShare = 4;
  const v1::WriterSettings& writer = setup.farm.writer();
  return {.member = node::member_settings(setup),
          .store = store_config(setup),
          .begin_of_run = begin_of_run_record(setup),
          .grant_bytes = writer.buffer_bytes(),
          .burst_grant_bytes = writer.buffer_bytes() / kBurstShare,
          .has_burst_saver = setup.farm.burst().buffer_bytes() > 0,
          .runs_on_close = !writer.on_close().empty(),
          .on_close_ns = writer.on_close_s() * kSecond,
          .close_patience_ns = config::close_patience(setup.farm),
          .has_more_runs = setup.watcher != nullptr && !setup.one_run};
}

}  // namespace weir::writer
