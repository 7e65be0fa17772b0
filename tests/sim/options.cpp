#include "options.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <stdexcept>

namespace weir::sim {
namespace {

std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    throw std::runtime_error("'" + text + "' is not a seed");
  return seed;
}

void parse_range(const std::string& text, Options& options) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) throw std::runtime_error("--seeds wants A..B");
  options.first = parse_seed(text.substr(0, dots));
  options.last = parse_seed(text.substr(dots + 2));
  if (options.last < options.first) throw std::runtime_error("--seeds wants A..B with A up to B");
}

}  // namespace

int parse_options(int argc, char** argv, Options& options) {
  CLI::App app("weir-sim: whole farms on a simulated network, one per seed");
  std::string seed;
  std::string range;
  app.add_option("--seed", seed, "one seed");
  app.add_option("--seeds", range, "A..B: all of them");
  app.add_option("--jobs", options.jobs, "processes side by side")->check(CLI::Range(1U, 64U));
  app.add_option("--seconds", options.seconds_max, "begin no seed after so long");
  app.add_option("--failures", options.failures_max, "give up after so many seeds that fail");
  app.add_flag("--trace", options.trace, "print what happens, and the nodes' logs");
  app.add_flag("--shrink", options.shrink, "of a seed that fails: the faults without which it does not");
  app.add_flag("!--no-supervisor", options.limits.supervisor_dies, "the supervisor does not die");
  app.add_option(
      "--rates", options.rates,
      "kind of faults: normal, hard (disks that fail, power loss and deaths of the supervisor, "
      "often and at once), KIND=WEIGHT (how often a kind is drawn, against the others: 1); kind of farms: "
      "front-ends, by-trigger, by-number, by-time, planes, busy; several with commas. A seed is another "
      "scenario "
      "with other rates");
  app.add_option("--progress", options.progress,
                 "FILE for the progress of --seeds: a further call with it resumes there");
  app.add_flag("--quiet", options.quiet, "print failures and the sum only");
  app.add_option("--only", options.only, "of the seed's faults only these, by number")->delimiter(',');
  app.add_flag("--no-faults", options.no_faults, "none of the seed's faults");
  app.add_flag("--check-journal", options.check_journal,
               "after every pass of the supervisor: its journal gives all of its state back");
  app.add_option(
      "--planted", options.planted,
      "a planted bug, or in turn all of them, or those of front-ends and planes (ways) (builds with "
      "WEIR_PLANTED_BUGS)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  set_rates(options.rates, options.limits);
  if (!seed.empty()) options.first = options.last = parse_seed(seed);
  if (!range.empty()) parse_range(range, options);
  return -1;
}

}  // namespace weir::sim
