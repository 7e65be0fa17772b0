#include "field_options.hpp"

#include <CLI/CLI.hpp>

#include <stdexcept>

namespace weir::commands {

run_record::RunFields RunFieldOptions::given() const {
  run_record::RunFields fields = named;
  for (const std::string& one : further) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw std::invalid_argument("'" + one + "' is not a field: write it as name=value");
    fields[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return fields;
}

void add_field_options(CLI::App& command, RunFieldOptions& options) {
  const auto add = [&](const char* option, const char* name, const char* what) {
    return command.add_option_function<std::string>(
        option, [&options, name](const std::string& value) { options.named[name] = value; }, what);
  };
  add("--comment", run_record::field::kComment, "text for the run's record");
  add("--type", run_record::field::kType, "type of the run, such as physics");
  add("--shifter", run_record::field::kShifter, "name of the person on shift")->type_name("NAME");
  add("--quality", run_record::field::kQuality, "good, questionable or bad");
  command.add_option("--field", options.further, "a field of your own, any number of times: name=value")
      ->expected(1)
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

}  // namespace weir::commands
