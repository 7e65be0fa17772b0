#pragma once

#include <cstdlib>
#include <string>

namespace weir::system_test {

// Returns the line of a switch file for the sockets of weir-switch that the ctest test asks for.
inline std::string sockets_line() {
  const char* const name = std::getenv("WEIR_TEST_SOCKETS");
  return name == nullptr ? "" : "sockets: " + std::string(name) + "\n";
}

}  // namespace weir::system_test
