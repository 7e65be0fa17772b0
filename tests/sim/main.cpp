// weir-sim: farms from seeds, on a simulated network. See README.md.
#include "options.hpp"
#include "planted.hpp"
#include "seeds.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    weir::sim::Options options;
    if (const int status = weir::sim::parse_options(argc, argv, options); status >= 0) return status;
    if (options.planted == "all" || options.planted == "ways") return weir::sim::find_planted(options);
    if (!options.planted.empty()) weir::sim::plant(options.planted);
    return weir::sim::run_seeds(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-sim: %s\n", error.what());
    return 2;
  }
}
