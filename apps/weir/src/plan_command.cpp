#include "commands.hpp"
#include <weir/config/rate.hpp>
#include <weir/fabric/plan.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace weir::commands {
namespace {

constexpr double kBitsPerGbit = 1e9;

struct PlanOptions {
  fabric::Wish wish;
  std::string link = "10gbit";
  std::string bandwidth;
  std::string lab;
};

// Reads a rate into Gb/s; false: it is none.
bool read_rate(const char* option, const std::string& text, double& gbit) {
  const auto bits = config::parse_rate(text);
  if (!bits || *bits == 0) {
    std::fprintf(stderr, "weir plan: %s: '%s' is not a rate such as 10gbit\n", option, text.c_str());
    return false;
  }
  gbit = static_cast<double>(*bits) / kBitsPerGbit;
  return true;
}

int plan(PlanOptions options) {
  fabric::Wish& wish = options.wish;
  if (!read_rate("--link", options.link, wish.link_gbit)) return kUsage;
  if (!options.bandwidth.empty() && !read_rate("--bandwidth", options.bandwidth, wish.bandwidth_gbit))
    return kUsage;
  const auto made = fabric::plan_of(wish);
  if (!made) {
    std::fprintf(stderr, "weir plan: %s\n", made.error().c_str());
    return kUsage;
  }
  std::printf("%s\n%s", fabric::text_of(*made).c_str(), fabric::network_yaml(*made).c_str());
  if (options.lab.empty()) return 0;
  std::ofstream file(options.lab);
  file << fabric::lab_yaml(*made);
  if (file.flush()) return 0;
  std::fprintf(stderr, "weir plan: cannot write '%s'\n", options.lab.c_str());
  return 1;
}

}  // namespace

void add_plan(CLI::App& app, int& status) {
  auto options = std::make_shared<PlanOptions>();
  fabric::Wish& wish = options->wish;
  CLI::App* command =
      app.add_subcommand("plan", "Size a network of leaf and spine switches: planes, ports, cost, space");
  command->footer(
      "\nThe arithmetic of parallel planes of leaves and spines (Jereczek 2017, chapter 6), for building "
      "whole slices.\n"
      "Prints the `network:` section of a farm file, too. docs/lab.md has an example.");
  command->add_option("--readouts", wish.readouts, "hosts with readouts");
  command->add_option("--racks", wish.racks, "racks with DCMs, each with a link to every plane");
  command->add_option("--pods", wish.pods, "leaves of a plane (default: the fewest that fit)");
  command->add_option("--spines", wish.spines,
                      "spines of a plane (default: as many as the racks' links need)");
  command->add_option("--link", options->link, "rate of each link")->type_name("RATE");
  command->add_option("--bandwidth", options->bandwidth, "rate of all slices (default: that of one plane)")
      ->type_name("RATE");
  command->add_option("--ports", wish.kind.ports, "ports of a switch");
  command->add_option("--price", wish.kind.price, "price of a switch, in any currency")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--units", wish.kind.rack_units, "rack units of a switch")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--lab", options->lab, "lab file to write, with one plane")->type_name("FILE");
  command->add_option("--scale", wish.scale, "factor for the rates in the lab file")
      ->check(CLI::Range(0.0001, 1.0));
  command->callback([options, &status] { status = plan(*options); });
}

}  // namespace weir::commands
