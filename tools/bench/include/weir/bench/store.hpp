#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/figure.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace weir::bench {

// One point: a whole farm on loopback with its default settings, dummy data, every slice stored.
struct StorePoint {
  std::uint32_t readouts = 4;
  std::uint32_t sources = 4;  // of each readout
  std::uint32_t dcms = 1;
  std::uint32_t writers = 1;
  std::uint32_t slice_bytes = 16'384;
};

struct StoreOptions {
  std::vector<std::uint32_t> slice_bytes{16'384, 65'536, 262'144, 1'048'576};
  std::vector<std::uint32_t> dcms{1};
  std::uint32_t readouts = 4;
  std::uint32_t sources = 4;
  std::uint32_t writers = 1;
  std::uint32_t rounds = 3;
  double seconds = 3;  // of each farm
  std::string folder;  // on the disk to be measured
};

struct StoreRate {
  double seconds = 0;
  std::uint64_t slices = 0;
  std::uint64_t bytes = 0;  // in run files
  std::uint64_t syncs = 0;
  double writer_cpu_s = 0;
};

// Runs one farm that stores in `folder`, and removes its files. Requires: `folder` exists.
[[nodiscard]] Expected<StoreRate, std::string> measure_store(const StorePoint& point, double seconds,
                                                             const std::string& folder);
struct DiskRate {
  double seconds = 0;
  std::uint64_t bytes = 0;
  double cpu_s = 0;
};
// Writes bytes into one file in `folder`, with so many syncs between them, and removes it: the disk's own
// rate.
[[nodiscard]] Expected<DiskRate, std::string> measure_disk(const std::string& folder, std::uint64_t bytes,
                                                           std::uint64_t syncs);

[[nodiscard]] Line line_of(const StorePoint& point, const StoreRate& farm, const DiskRate& disk,
                           const std::string& file_system);

// Measures each point round after round. Returns the exit status.
[[nodiscard]] int run_store(const StoreOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
