// weir-shaper-search: shapers on modelled networks. See README.md.
#include "options.hpp"
#include "search.hpp"
#include "table.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace weir::packet_model;
  try {
    Options options;
    if (const int status = parse_options(argc, argv, options); status >= 0) return status;
    const bool named = options.cases || !options.case_name.empty();
    return named ? run_cases(options) : run_search(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-shaper-search: %s\n", error.what());
    return 2;
  }
}
