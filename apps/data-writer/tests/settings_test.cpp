#include "../src/settings.hpp"

#include "weir_catch.hpp"

namespace weir::writer {

TEST_CASE("a run file's limits are the farm file's, and 0 means unlimited") {
  node::Setup setup;
  const storage::RunStoreConfig by_default = store_config(setup);
  CHECK(by_default.file_bytes_max == 2ULL << 30);
  CHECK(by_default.file_duration_max == 600 * kSecond);

  setup.farm.mutable_writer()->set_file_bytes_max(1'000'000);
  setup.farm.mutable_writer()->set_file_seconds_max(0.5);
  const storage::RunStoreConfig small = store_config(setup);
  CHECK(small.file_bytes_max == 1'000'000);
  CHECK(small.file_duration_max == 500 * kMillisecond);

  setup.farm.mutable_writer()->set_file_bytes_max(0);
  setup.farm.mutable_writer()->set_file_seconds_max(0);
  const storage::RunStoreConfig any = store_config(setup);
  CHECK(any.file_bytes_max > 1ULL << 62);
  CHECK(any.file_duration_max > DurationNs{36'525} * 86'400 * kSecond);
}

}  // namespace weir::writer
