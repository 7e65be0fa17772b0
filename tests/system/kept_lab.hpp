#pragma once

#include "farm_run.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace weir::system_test {

// Takes down a lab that was kept, however the test ends.
struct TakenDown {
  const TemporaryFolder& folder;
  const std::string& lab;
  ~TakenDown() {
    try {
      (void)run_command(folder, "weir", {"lab", "down", lab});
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", lab.c_str(), error.what());
    }
  }
};

}  // namespace weir::system_test
