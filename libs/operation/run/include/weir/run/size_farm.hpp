#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace weir::run {

struct SizeOptions {
  std::string farm_file;
  std::uint32_t cores = 0;      // 0: those that this process may use
  double slices_per_s = 0;      // 0: as many as the cores can
  std::string costs_file = {};  // of `weir bench costs`; empty: the built-in table
};

// Prints a farm file that includes another one and has as many processes as the host needs (`weir size`).
// Returns 0, or 2 if the farm cannot run, 1 if the host does not reach the rate.
[[nodiscard]] int size_farm(const SizeOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::run
