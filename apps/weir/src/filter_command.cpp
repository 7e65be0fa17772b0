#include "commands.hpp"
#include "filter_project.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/plugin_file.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/source_groups.hpp>
#include <weir/filter_try/command.hpp>
#include <weir/filter_try/command_json.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/recordings.hpp>
#include <weir/python_host/interpreter.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace weir::commands {
namespace {

constexpr const char* kTryFooter =
    "\nExit status: 0 fine; 1 the filter failed on a slice, the plugins disagree, or a repeated slice got "
    "another\n"
    "decision; 2 the plugin or the recording cannot be used. docs/writing-a-filter.md explains the output.";

// Returns g++'s path of AddressSanitizer's library; empty without g++ or the library.
std::string asan_library() {
  std::string path;
  if (std::FILE* pipe = ::popen("g++ -print-file-name=libasan.so 2>/dev/null", "r"); pipe != nullptr) {
    std::array<char, 4096> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) path = line.data();
    ::pclose(pipe);
  }
  while (path.ends_with('\n')) path.pop_back();
  return path.starts_with('/') ? path : "";
}

// Starts this command line again, without --asan, under AddressSanitizer: its library must be loaded before
// all others. Returns only when that fails.
int restart_with_asan() {
  const std::string library = asan_library();
  if (library.empty()) {
    std::cerr << "weir filter try: --asan: g++ has no libasan.so: install g++ with its sanitizers (package "
                 "libgcc-12-dev on Debian 12)\n";
    return kUsage;
  }
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string words{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<char*> arguments;
  std::string kept;
  kept.reserve(words.size() + 1);  // pointers into it stay valid
  for (std::size_t at = 0; at < words.size(); at += std::strlen(words.c_str() + at) + 1) {
    const std::string word(words.c_str() + at);
    if (word == "--asan") continue;
    WEIR_ASSERT(kept.size() + word.size() < kept.capacity());
    arguments.push_back(kept.data() + kept.size());
    kept += word;
    kept += '\0';
  }
  arguments.push_back(nullptr);
  ::setenv("LD_PRELOAD", library.c_str(), 1);
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
  ::execv("/proc/self/exe", arguments.data());
  std::cerr << "weir filter try: --asan: " << std::strerror(errno) << "\n";
  return kUsage;
}

struct TryWords {
  filter_try::TryCommand command;
  std::vector<std::string> sets;
  std::string farm_file;
  std::string python;
  std::uint64_t slice = 0;
  bool asan = false;
};

// "minimum=5000"; returns false without a name or '='.
bool add_parameter(const std::string& word, filter_try::TryCommand& command) {
  const std::size_t sign = word.find('=');
  if (sign == 0 || sign == std::string::npos) {
    std::cerr << "weir filter try: --set " << word << ": write NAME=VALUE, for example --set minimum=5000\n";
    return false;
  }
  command.trial.parameters.emplace_back(word.substr(0, sign), word.substr(sign + 1));
  return true;
}

// Takes source groups and the first step from a farm file, and its filter's parameters where that filter is
// tried and --set does not give them. Returns a sentence when that is not possible.
std::string take_farm(const std::string& path, const std::string& plugin, filter_try::TrialOptions& trial) {
  if (path.empty()) return {};
  auto file = config::load_farm(path);
  if (!file) return config::to_text(file.error());
  const auto plan = config::expand(file->farm, file->locations, node::read_recording);
  if (!plan) return config::to_text(plan.error());
  const auto groups = config::source_groups(file->farm, *plan, file->locations);
  if (!groups) return config::to_text(groups.error());
  if (const auto problems = config::check_group_names(file->farm, file->locations); !problems.empty())
    return config::to_text(problems);
  trial.groups = filter_host::filter_groups(*groups);
  const auto name_of = [](const std::string& path_or_name) {
    return std::filesystem::path(path_or_name).stem();
  };
  const bool is_same = name_of(plugin) == name_of(file->farm.filter().plugin());
  for (const auto& [name, value] : file->farm.filter().parameters()) {
    if (!is_same) break;
    const bool is_set =
        std::ranges::any_of(trial.parameters, [&](const auto& one) { return one.first == name; });
    if (!is_set) trial.parameters.emplace_back(name, value);
  }
  std::vector<std::uint32_t> first;
  for (const SourceId source : config::first_sources(file->farm, *groups)) first.push_back(source.value);
  if (!first.empty()) trial.first_sources = std::move(first);
  return {};
}

// Becomes the interpreter of a filter in Python. Returns only when that fails.
int try_in_python(const filter_try::TryCommand& command, const std::string& interpreter) {
  const auto python = python_host::find_interpreter(interpreter);
  if (!python) {
    std::cerr << "weir filter try: " << python.error() << "\n";
    return kUsage;
  }
  std::vector<std::string> words =
      python_host::filter_host_command(*python, "try", {filter_try::to_json(command)});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::cout.flush();
  ::execv(arguments.front(), arguments.data());
  std::cerr << "weir filter try: " << words.front() << ": " << std::strerror(errno) << "\n";
  return kUsage;
}

int try_filter(TryWords& words, bool has_slice) {
  if (words.asan) return restart_with_asan();
  filter_try::TryCommand& command = words.command;
  for (const std::string& word : words.sets)
    if (!add_parameter(word, command)) return kUsage;
  if (const std::string why = take_farm(words.farm_file, command.plugin, command.trial); !why.empty()) {
    std::cerr << "weir filter try: --farm: " << why << "\n";
    return kUsage;
  }
  if (has_slice) command.trial.slice = SliceId(words.slice);
  command.search_path.push_back(node::plugin_folder());
  if (is_python_plugin(command.plugin) || is_python_plugin(command.against))
    return try_in_python(command, words.python);
  return filter_try::run_try_command(command, std::cout, std::cerr);
}

void add_try(CLI::App& filter, int& status) {
  auto words = std::make_shared<TryWords>();
  CLI::App* command = filter.add_subcommand("try", "Run a filter over recorded slices, without a farm");
  filter_try::TryCommand& settings = words->command;
  command->add_option("PLUGIN", settings.plugin, "path of a filter plugin, or the name of an installed one")
      ->required();
  command->add_option("RECORDING", settings.recording, "a run file, the folder of a run, or a replay folder")
      ->required();
  command->add_option("--run", settings.run, "number of the run, if the folder has several")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_option("--set", words->sets, "parameter of the filter; repeatable")
      ->type_name("NAME=VALUE")
      ->take_all();
  command
      ->add_option("--farm", words->farm_file,
                   "farm file: take its source groups, first step and filter parameters")
      ->type_name("FILE");
  command
      ->add_option("--jobs", settings.trial.jobs, "threads, each with an instance of the filter (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  CLI::Option* slice = command->add_option("--slice", words->slice, "only this slice")->type_name("ID");
  command
      ->add_option("--against", settings.against,
                   "a second plugin: list the slices on which the two disagree")
      ->type_name("PLUGIN");
  command
      ->add_option("--repeat", settings.trial.repeat,
                   "process each slice N times and compare the decisions (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command->add_option("--search-path", settings.search_path, "folder of plugins; repeatable")
      ->type_name("FOLDER");
  command->add_option("--lines", settings.lines_max, "errors and disagreements to list (default 20; 0: all)")
      ->type_name("N");
  command
      ->add_option("--python", words->python, "interpreter of a filter in Python (default: as filter.python)")
      ->type_name("PROGRAM");
  command->add_flag("--list", settings.list, "print a line for each slice");
  command->add_flag("--json", settings.json, "print JSON lines instead of text");
  command->add_flag("--asan", words->asan,
                    "run under AddressSanitizer; build the plugin with -fsanitize=address");
  command->footer(kTryFooter);
  command->callback([words, slice, &status] { status = try_filter(*words, slice->count() > 0); });
}

void add_new(CLI::App& filter, int& status) {
  auto name = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  CLI::App* command =
      filter.add_subcommand("new", "Create a filter project: source, test, farm file and CI job");
  command->add_option("NAME", *name, "name of the filter: lower-case letters, digits and '-'")->required();
  command->add_option("--folder", *folder, "where to create it (default: a new folder NAME)")
      ->type_name("FOLDER");
  auto in_python = std::make_shared<bool>(false);
  command->add_flag("--python", *in_python, "a filter in Python instead of C++");
  command->callback([name, folder, in_python, &status] {
    status =
        create_filter_project(*name, folder->empty() ? *name : *folder, *in_python, std::cout, std::cerr);
  });
}

}  // namespace

void add_filter(CLI::App& app, int& status) {
  CLI::App* filter = app.add_subcommand("filter", "Create filters and try them on recorded slices");
  filter->require_subcommand(1);
  add_new(*filter, status);
  add_try(*filter, status);
}

}  // namespace weir::commands
