#pragma once

#include "sim_farm.hpp"

#include <memory>

namespace spdlog {
class logger;
}

namespace weir::sim {

// The nodes' logs: the farm gets the warnings, and a trace has everything, with simulated time.
class TraceLog {
 public:
  TraceLog(SimFarm& farm, bool print);
  ~TraceLog();
  TraceLog(const TraceLog&) = delete;
  TraceLog& operator=(const TraceLog&) = delete;

 private:
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace weir::sim
