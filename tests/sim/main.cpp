// weir-sim: farms from seeds, on a simulated network. See README.md.
#include "options.hpp"
#include "seeds.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    weir::sim::Options options;
    if (const int status = weir::sim::parse_options(argc, argv, options); status >= 0) return status;
    return weir::sim::run_seeds(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-sim: %s\n", error.what());
    return 2;
  }
}
