#include "serve_switch.hpp"
#include <weir/launch/control_process.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace {

int serve_from_control(const std::string& control, const std::string& keys, const std::string& name) {
  using namespace weir;
  const auto settings = launch::bus_client(control, keys, security::BusRole::node);
  if (settings) return switch_node::serve_switch(*settings, name, stdout, stderr);
  std::fprintf(stderr, "weir-switch: %s\n", settings.error().c_str());
  return switch_node::kStatusUsage;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace weir;
  std::string path;
  std::vector<std::string> sets;
  bool checks = false;
  std::string control;
  std::string keys;
  std::string name = "switch";
  CLI::App app("weir-switch: forwards frames between network interfaces, with a queue for each DCM");
  app.footer(
      "\nThe switch file lists interfaces, addresses and rings (docs/switching.md). Ctrl-C ends the switch\n"
      "and prints its summary; the status is 3 if frames were dropped for lack of room.");
  app.add_option("FILE", path, "switch file");
  app.add_option("--control", control,
                 "HOST:PORT of run control, which has the switch file (control.switches), instead of FILE");
  app.add_option("--keys", keys, "with --control: folder of the bus' keys, with node.curve");
  app.add_option("--name", name, "with --control: name of this switch in its file")->capture_default_str();
  app.add_option("--set", sets, "key of the switch file with its value: key=value");
  app.add_flag("--check", checks, "check the switch file, and open nothing");
  CLI11_PARSE(app, argc, argv);
  if (path.empty() == control.empty()) {
    std::fputs("weir-switch: give a switch file, or run control's address with --control\n", stderr);
    return switch_node::kStatusUsage;
  }
  if (!control.empty() && (checks || !sets.empty())) {
    std::fputs("weir-switch: --check and --set are for a switch file\n", stderr);
    return switch_node::kStatusUsage;
  }
  if (!control.empty()) return serve_from_control(control, keys, name);
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
