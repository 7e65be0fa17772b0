#include "settings.hpp"

#include <weir/base/assert.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/node/process.hpp>

#include <limits>

namespace weir::writer {
namespace {

template <class Number>
Number or_no_limit(Number value) {
  return value > 0 ? value : std::numeric_limits<Number>::max();
}

}  // namespace

storage::RunStoreConfig store_config(const node::Setup& setup, std::uint32_t first_sequence) {
  const v1::WriterSettings& writer = setup.farm.writer();
  storage::RunStoreConfig config;
  config.directory = setup.farm.run().out();
  config.writer = setup.self.name;
  config.farm = setup.farm.farm();
  config.run = setup.run;
  config.first_sequence = first_sequence;
  config.file_bytes_max = or_no_limit(writer.file_bytes_max());
  config.file_bytes_limit = node::file_bytes_limit();
  config.file_duration_max = or_no_limit(static_cast<DurationNs>(writer.file_seconds_max() * 1e9));
  config.sync_bytes = writer.sync_bytes();
  config.sync_interval = writer.sync_interval_ms() * kMillisecond;
  // Granted records fit: the store's own bound is for records without a grant.
  config.queue_bytes_max = 2 * writer.buffer_bytes();
  config.check_fragments = setup.farm.run().checksums();
  config.files_leave = !writer.on_close().empty();
  return config;
}

std::string begin_of_run_record(const node::Setup& setup) {
  WEIR_ASSERT(setup.whole_farm != nullptr);
  return "# farm file, every key\n" + config::to_yaml(*setup.whole_farm);
}

std::uint64_t burst_grant_bytes(const v1::Farm& farm) { return farm.writer().buffer_bytes() / 4; }

}  // namespace weir::writer
