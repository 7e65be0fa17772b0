#include "options.hpp"

#include "networks.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace weir::packet_model {
namespace {

constexpr const char* kShapers =
    "adaptive,none,byte-credits:32k,byte-credits:72k,byte-credits:144k,byte-credits:1M";

std::uint64_t parse_number(const std::string& text, const char* what) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    throw std::runtime_error("'" + text + "' is not " + what);
  return number;
}

void parse_range(const std::string& text, Options& options) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) throw std::runtime_error("--seeds wants A..B");
  options.first = parse_number(text.substr(0, dots), "a seed");
  options.last = parse_number(text.substr(dots + 2), "a seed");
  if (options.last < options.first) throw std::runtime_error("--seeds wants A..B with A up to B");
}

ShaperSpec parse_shaper(const std::string& text) {
  const std::size_t colon = text.find(':');
  ShaperSpec spec{text.substr(0, colon), 0};
  if (colon == std::string::npos) return spec;
  std::string size = text.substr(colon + 1);
  std::uint64_t unit = 1;
  if (!size.empty() && (size.back() == 'k' || size.back() == 'M')) {
    unit = size.back() == 'k' ? 1'000 : 1'000'000;
    size.pop_back();
  }
  spec.window_bytes = unit * parse_number(size, "a window");
  return spec;
}

}  // namespace

int parse_options(int argc, char** argv, Options& options) {
  CLI::App app(
      "weir-shaper-search: traffic shapers on modelled networks, and networks that are bad for them");
  std::string seed;
  std::string range;
  std::vector<std::string> shapers;
  app.add_option("--seed", seed, "the network of one seed");
  app.add_option("--seeds", range, "A..B: all of them");
  app.add_flag("--cases", options.cases, "all networks that have a name");
  app.add_option("--case", options.case_name, "one of them");
  app.add_option("--shapers", shapers,
                 "NAME or NAME:WINDOW (32k, 1M); the first one is compared with the others")
      ->delimiter(',')
      ->default_str(kShapers);
  app.add_flag("--describe", options.describe, "print the network, and run nothing");
  app.add_flag("--trace", options.run.trace, "print what the shapers do, a hundred times a run");
  app.add_flag("!--no-host-times", options.run.host_times, "do not give shapers the hosts' processing times");
  app.add_option("--port-known", options.run.port_known,
                 "give shapers the port's rate and buffer, times this factor");
  app.add_flag("--core-known", options.run.core_known, "DCMs behind a narrow core share it like a port");
  app.add_option("--jobs", options.jobs, "processes side by side")->check(CLI::Range(1U, 64U));
  app.add_option("--runs", options.runs, "runs of each network, with other random numbers; their mean counts")
      ->check(CLI::Range(1U, 100U));
  app.add_option("--seconds", options.seconds_max, "begin no seed after so long");
  app.add_option("--worst", options.worst, "so many of the worst seeds are printed");
  app.add_option("--goodput-min", options.limits.goodput,
                 "a seed fails below this share of the best other one");
  app.add_option("--p99-max", options.limits.p99, "a seed fails above so many times the other's latency");
  app.add_flag("--shrink", options.shrink,
               "of a seed: what of its network it can be without and still be bad");
  app.add_option("--without", options.without, "of the seeds' networks take these features away")
      ->delimiter(',');
  app.add_flag("--quiet", options.quiet, "print the worst seeds and the sum only");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.limits_given = app.count("--goodput-min") + app.count("--p99-max") > 0;
  for (const std::string& feature : options.without) {
    if (std::find(features().begin(), features().end(), feature) == features().end())
      throw std::runtime_error("'" + feature + "' is not a feature of a network");
  }
  if (!seed.empty()) options.first = options.last = parse_number(seed, "a seed");
  if (!range.empty()) parse_range(range, options);
  if (shapers.empty()) shapers = CLI::detail::split(kShapers, ',');
  for (const std::string& text : shapers) options.shapers.push_back(parse_shaper(text));
  return -1;
}

}  // namespace weir::packet_model
