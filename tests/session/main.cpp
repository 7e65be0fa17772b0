// weir-session: runs conversations of the real nodes with a peer that sends arbitrary messages, from seeds.
// See README.md.
#include "search.hpp"

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace {

using namespace weir::session_test;

std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    throw std::runtime_error("'" + text + "' is not a seed");
  return seed;
}

void parse_range(const std::string& text, SearchOptions& options) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) throw std::runtime_error("--seeds wants A..B");
  options.first = parse_seed(text.substr(0, dots));
  options.last = parse_seed(text.substr(dots + 2));
  if (options.last < options.first) throw std::runtime_error("--seeds wants A..B with A up to B");
}

void parse_roles(const std::vector<std::string>& names, SearchOptions& options) {
  for (const std::string& each : names) {
    if (each == "all") continue;
    const auto role = part_of(each);
    if (!role)
      throw std::runtime_error("--role wants stranger, dcm, readout, writer, supervisor, control or all");
    options.roles.push_back(*role);
  }
  if (!options.roles.empty()) return;
  for (std::size_t i = 0; i < kParts; ++i) options.roles.push_back(static_cast<Part>(i));
}

int run_one(const SearchOptions& options) {
  int status = 0;
  for (const Part role : options.roles) {
    const Outcome outcome = converse(role, options.first);
    std::printf("%s seed %llu: %llu sequences; %s\n", std::string(name(role)).c_str(),
                static_cast<unsigned long long>(options.first),
                static_cast<unsigned long long>(outcome.sequences),
                outcome.problem.empty() ? "good" : outcome.problem.c_str());
    if (!outcome.problem.empty()) status = 1;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app(
        "weir-session: an impostor sends arbitrary messages to the nodes of a farm, one farm per seed");
    SearchOptions options;
    std::vector<std::string> roles;
    std::string seed;
    std::string range;
    bool log = false;
    app.add_option("--role", roles,
                   "the role to impersonate: stranger, dcm, readout, writer, supervisor, control; all")
        ->delimiter(',');
    app.add_option("--seed", seed, "one seed, in this process");
    app.add_option("--seeds", range, "A..B: all of them");
    app.add_option("--jobs", options.jobs, "processes side by side")->check(CLI::Range(1U, 64U));
    app.add_option("--seconds", options.seconds_max, "begin no conversation after so long");
    app.add_option("--failures", options.failures_max, "give up after so many that fail");
    app.add_flag("--log", log, "print the nodes' logs");
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app.exit(error) == 0 ? 0 : 2;
    }
    spdlog::set_level(log ? spdlog::level::debug : spdlog::level::off);
    parse_roles(roles, options);
    if (!seed.empty()) options.first = options.last = parse_seed(seed);
    if (!range.empty()) parse_range(range, options);
    return range.empty() ? run_one(options) : search(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-session: %s\n", error.what());
    return 2;
  }
}
