#pragma once

#include "farm_run.hpp"
#include "stored_run.hpp"

#include <csignal>
#include <random>
#include <string>
#include <vector>

// Common parts of random attacks on farms of real processes. Environment variables set number and seed;
// docs/benchmarks/soak.md lists them with figures.
namespace weir::system_test {

[[nodiscard]] int from_environment(const char* name, int otherwise);

class Random {
 public:
  explicit Random(int seed) : engine_(static_cast<std::uint64_t>(seed)) {}
  [[nodiscard]] std::size_t below(std::size_t end) { return engine_() % end; }
  [[nodiscard]] Seconds between(double low_s, double high_s) {
    return Seconds(low_s + (high_s - low_s) * static_cast<double>(engine_() >> 11) * 0x1.0p-53);
  }
  template <class Range>
  [[nodiscard]] const auto& one_of(const Range& range) {
    return range[below(std::size(range))];
  }

 private:
  std::mt19937_64 engine_;  // the same on every platform
};

// Checks that the ledger balances, that each triggered slice is stored once with the bytes that its sources
// made, and that every file is sound, after recovery if needed. Returns the missing fragments.
DummyCheck check_all_stored(const TemporaryFolder& folder, const FarmEnd& end, const std::string& out);

}  // namespace weir::system_test
