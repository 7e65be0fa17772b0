#pragma once

#include <weir/run_record/run_fields.hpp>

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace weir::commands {

// Fields of a run, on the command line.
struct RunFieldOptions {
  run_record::RunFields named;       // by --comment, --type, --shifter, --quality
  std::vector<std::string> further;  // name=value

  // Throws std::invalid_argument, a sentence.
  [[nodiscard]] run_record::RunFields given() const;
};

// `options` outlives the app.
void add_field_options(CLI::App& command, RunFieldOptions& options);

}  // namespace weir::commands
