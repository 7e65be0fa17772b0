#include "serve_switch.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

int main(int argc, char** argv) {
  using namespace weir;
  std::string path;
  std::vector<std::string> sets;
  bool checks = false;
  CLI::App app("weir-switch: forwards frames between network interfaces, with a queue for each DCM");
  app.footer(
      "\nThe switch file lists interfaces, addresses and rings (docs/switching.md). Ctrl-C ends the switch\n"
      "and prints its summary; the status is 3 if frames were dropped for lack of room.");
  app.add_option("FILE", path, "switch file")->required();
  app.add_option("--set", sets, "key of the switch file with its value: key=value");
  app.add_flag("--check", checks, "check the switch file, and open nothing");
  CLI11_PARSE(app, argc, argv);
  auto file = config::load_switch(path);
  config::Problems problems = file ? config::Problems{} : file.error();
  for (const std::string& set : sets) {
    if (!file) break;
    const config::Problems found = config::apply_switch_override(*file, set);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  if (!problems.empty()) {
    std::fprintf(stderr, "%s\n", config::to_text(problems).c_str());
    return switch_node::kStatusUsage;
  }
  return checks ? switch_node::check_switch(*file, stdout, stderr)
                : switch_node::serve_switch(*file, stdout, stderr);
}
