#include "../src/settings.hpp"

#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <string>
#include <utility>

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

TEST_CASE("a writer syncs at a quarter of the first bound that the farm would run into") {
  const auto limits = [](const std::string& yaml) {
    auto file = config::read_farm("farm: a\n" + yaml, "farm.yaml");
    REQUIRE(file);
    const auto plan = config::expand(file->farm);
    REQUIRE(plan);
    const storage::RunStoreConfig made =
        store_config(node::make_setup(file->farm, *plan, "writer-0", {"127.0.0.1", 7000}));
    return std::pair(made.sync_records.value(), made.sync_bytes >> 20U);
  };
  CHECK(limits("") == std::pair<std::uint64_t, std::uint64_t>(1024, 32));
  CHECK(limits("writer: {count: 2}\n") == std::pair<std::uint64_t, std::uint64_t>(512, 16));
  CHECK(limits("writer: {buffer_bytes: 64MiB}\n").second == 16);
  CHECK(limits("writer: {sync_bytes: 3MiB}\n").second == 3);
  CHECK(limits("dcm: {nodes: [{name: a}, {name: b, buffer_bytes: 128MiB}]}\n").second == 8);
  CHECK(limits("readout: {buffer_slices: 400}\n").first == 100);
  CHECK(limits("supervisor: {in_flight_max: 1}\ndcm: {credits: 1}\n").first == 1);
}

}  // namespace weir::writer
