#include "commands.hpp"
#include <weir/node/paths.hpp>
#include <weir/run/farm_command.hpp>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

namespace weir::commands {
namespace {

namespace fs = std::filesystem;

struct DemoOptions {
  std::string out;  // empty: a folder that is removed at the end
  std::string page;
  double duration_s = 0;  // 0: until Ctrl-C
};

constexpr const char* kIntroduction =
    "The sector line of the ANTARES test farm, emulated: 5 readouts send the hits of 15 optical modules,\n"
    "3 DCMs build slices of 10 ms, and the filter 'coincidence' keeps those with hits of a muon.\n"
    "\n"
    "Open the page that is named below, or type in a second terminal:\n"
    "  weir top               each process with its rates\n"
    "  weir ctl kill dcm-1    a process ends: it is restarted, and no slice is lost\n"
    "Ctrl-C ends the run with its summary.\n\n";

constexpr const char* kNext =
    "\nNext, a filter of your own, in Python (without --python: in C++):\n"
    "  weir filter new my-filter --python && cd my-filter\n"
    "  weir run farm.yaml --page 127.0.0.1:0\n"
    "or a farm of your own, with front-end and filter in Python:\n"
    "  weir new my-farm && weir run my-farm --page 127.0.0.1:0\n";

std::string share() { return fs::path(node::program_folder()).parent_path() / "share/weir"; }

// A new folder below the system's temporary one. Empty: there is none, and errno says why.
std::string temporary_folder() {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  std::string name = (error ? fs::path("/tmp") : place) / "weir-demo-XXXXXX";
  return ::mkdtemp(name.data()) == nullptr ? std::string() : name;
}

int run_demo(const DemoOptions& options) {
  run::RunOptions run;
  run.farm.farm_file = share() + "/configs/demo.yaml";
  if (std::error_code error; !fs::exists(run.farm.farm_file, error)) {
    std::fprintf(stderr, "weir demo: there is no %s: install Weir again\n", run.farm.farm_file.c_str());
    return kUsage;
  }
  run.duration_s = options.duration_s;
  run.page = options.page;
  run.out = options.out.empty() ? temporary_folder() : options.out;
  if (run.out.empty()) {
    std::fprintf(stderr, "weir demo: no temporary folder: %s: name a folder with --out\n",
                 std::strerror(errno));
    return 1;
  }
  std::fputs(kIntroduction, stdout);
  std::fflush(stdout);
  if (options.out.empty()) run.removed = run.out;
  const int status = run::run_farm(run, stdout, stderr);
  if (options.out.empty()) {
    std::error_code error;
    fs::remove_all(run.out, error);
    std::printf("%s and its files are removed; `weir demo --out DIR` keeps them.\n", run.out.c_str());
  }
  std::fputs(kNext, stdout);
  return status;
}

}  // namespace

void add_demo(CLI::App& app, int& status) {
  auto options = std::make_shared<DemoOptions>();
  options->page = "127.0.0.1:0";
  CLI::App* command =
      app.add_subcommand("demo", "Run a small farm with an emulated detector and a page for your browser");
  command->footer("\nExit status: as of `weir run`.");
  command->add_option("--duration", options->duration_s, "seconds after which the run ends; 0: with Ctrl-C")
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--page", options->page, "address of the farm's page; port 0: any free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command
      ->add_option("--out", options->out,
                   "folder for data, records and logs; without: a temporary one that is removed at the end")
      ->type_name("DIR");
  command->callback([options, &status] { status = run_demo(*options); });
}

}  // namespace weir::commands
