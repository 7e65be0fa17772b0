#include "commands.hpp"
#include <weir/run_record/version.hpp>
#include <weir/storage/format.hpp>
#include <weir/weir_filter.h>
#include <weir/wire/frame.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

namespace weir::commands {

void add_version(CLI::App& app, int& status) {
  app.set_version_flag("--version", std::string("weir ") + run_record::kVersion,
                       "print the version of this program");
  app.add_subcommand("version",
                     "Print the versions of this program, its protocol, file format and filter ABI")
      ->callback([&status] {
        std::printf("weir %s\nprotocol %u\nfile format %u\nfilter ABI %u\n", run_record::kVersion,
                    static_cast<unsigned>(wire::kVersion), static_cast<unsigned>(storage::kFormatVersion),
                    static_cast<unsigned>(WEIR_FILTER_ABI_VERSION));
        status = 0;
      });
}

}  // namespace weir::commands
