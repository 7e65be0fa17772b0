#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/store.hpp>

#include <boost/json.hpp>

#include <filesystem>

using namespace weir;
using namespace weir::bench;

TEST_CASE("a store point relates the farm's bytes per second to the disk's, and names the file system") {
  StorePoint point;
  point.slice_bytes = 65'536;
  const Line line =
      line_of(point, {2.0, 1000, 80'000'000, 20, 0.04}, {0.5, 40'000'000, 0.03}, "ext4 on /dev/sda1");
  CHECK(line.at("slices_per_s").to_number<double>() == 500);
  CHECK(line.at("bytes_per_s").to_number<double>() == 40e6);
  CHECK(line.at("disk_bytes_per_s").to_number<double>() == 80e6);
  CHECK(line.at("ratio").to_number<double>() == 0.5);
  CHECK(line.at("syncs_per_s").to_number<double>() == 10);
  CHECK(line.at("writer_cpu_ns_per_byte").to_number<double>() == 0.5);
  CHECK(line.at("disk_cpu_ns_per_byte").to_number<double>() == 0.75);
  CHECK(line.at("file_system").as_string() == "ext4 on /dev/sda1");
}

TEST_CASE("the disk's own rate is measured for any number of bytes and syncs, and leaves no file behind") {
  const ScratchFolder folder;
  for (const std::uint64_t bytes : {1ULL, 3'000'000ULL}) {
    for (const std::uint64_t syncs : {0ULL, 1ULL, 7ULL}) {
      const auto disk = measure_disk(folder.path().string(), bytes, syncs);
      REQUIRE(disk);
      CHECK(disk->seconds > 0);
      CHECK(disk->bytes == bytes);
    }
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}
