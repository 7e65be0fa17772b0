#include "commands.hpp"
#include "control_connection.hpp"
#include "field_options.hpp"
#include <weir/base/figures.hpp>
#include <weir/clock/clock.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/run_database/moment.hpp>
#include <weir/run_database/run_comparison.hpp>
#include <weir/run_database/run_database.hpp>
#include <weir/run_database/run_document.hpp>
#include <weir/run_database/run_table.hpp>
#include <weir/run_record/annotations.hpp>
#include <weir/run_record/json.hpp>
#include <weir/run_record/run_history.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::commands {
namespace {

namespace fs = std::filesystem;
using run_database::RunDatabase;
using run_database::RunRow;

constexpr int kNoRun = 1;
constexpr std::size_t kShown = 50;
constexpr double kChangeMin = 0.01;  // of the numbers that `diff` prints
constexpr const char* kFailedOutcomes[] = {run_record::outcome::kFailed, run_record::outcome::kUnbalanced,
                                           run_record::outcome::kNeverBegan, run_record::outcome::kNoAccount};

struct RunsOptions {
  std::string in;
  std::string since;
  std::string until;
  std::string outcomes;
  run_database::RunQuery query{.limit = kShown};
  bool failed = false;
  bool csv = false;
  bool json = false;
  bool rebuild = false;
  bool all = false;
  std::uint32_t run = 0;
  std::optional<std::uint32_t> other;
  RunFieldOptions fields;
};

bool has_runs(const fs::path& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name == "runs.jsonl" || (name.starts_with("run-") && name.ends_with("-begin.yaml"))) return true;
  }
  return false;
}

std::string folder_of_farm(const std::string& file) {
  const auto farm = config::load_farm(file);
  if (!farm) throw std::invalid_argument(config::to_text(farm.error()));
  const std::string& out = farm->farm.control().out();
  return out.empty() ? farm->farm.run().out() : out;
}

// Without --in: the folder of the default run.out, or the only one in it.
std::string folder_of(const std::string& in) {
  if (!in.empty()) return fs::is_regular_file(in) ? folder_of_farm(in) : in;
  const std::string usual = "run";
  if (has_runs(usual)) return usual;
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(usual, none)) {
    if (entry.is_directory(none) && has_runs(entry.path())) found.push_back(entry.path().string());
  }
  if (found.size() == 1) return found.front();
  std::string names;
  for (const std::string& one : found) names += " " + one;
  throw std::invalid_argument("name the folder of the records, or the farm file, with --in" +
                              (found.empty() ? std::string() : ": there are" + names));
}

UtcNs moment_of(const std::string& text, const char* option) {
  if (const auto moment = run_database::read_moment(text, utc_now_ns())) return *moment;
  throw std::invalid_argument(
      fmt::format("{} '{}' is not a moment: use 2026-03-01, '2026-03-01 10:00' (UTC), or a time before now, "
                  "such as 12h or 7d",
                  option, text));
}

void require(const std::string& error) {
  if (!error.empty()) throw std::runtime_error(error);
}

template <class Value>
Value required(Expected<Value, std::string> value) {
  if (!value) throw std::runtime_error(value.error());
  return std::move(*value);
}

RunRow required_run(const RunDatabase& database, std::uint32_t number) {
  auto row = required(database.run(number));
  if (!row) throw std::out_of_range(fmt::format("'{}' has no run {}", database.folder(), number));
  return std::move(*row);
}

int list_runs(RunsOptions& options, const RunDatabase& database) {
  run_database::RunQuery& query = options.query;
  if (!options.since.empty()) query.since = moment_of(options.since, "--since");
  if (!options.until.empty()) query.until = moment_of(options.until, "--until");
  std::istringstream outcomes(options.outcomes);
  for (std::string one; std::getline(outcomes, one, ',');) query.outcomes.push_back(one);
  if (options.failed)
    query.outcomes.insert(query.outcomes.end(), std::begin(kFailedOutcomes), std::end(kFailedOutcomes));
  const run_database::RunList list = required(database.find(query));
  if (options.json) {
    fmt::print("{}", run_record::pretty(run_database::to_json(list)));
    return 0;
  }
  if (options.csv) {
    fmt::print("{}", run_database::to_csv(list));
    return 0;
  }
  const std::uint64_t left = list.matching - list.runs.size();
  if (left > 0) fmt::print("{} not shown: --last 0 shows all\n", counted(left, "earlier run"));
  fmt::print("{}", run_database::to_text(list));
  if (list.matching < list.all) fmt::print("{} of {}\n", grouped(list.matching), counted(list.all, "run"));
  if (!options.failed) return 0;
  query.outcomes = {run_record::outcome::kFaults};
  query.limit = 1;
  if (const std::uint64_t others = required(database.find(query)).matching; others > 0)
    fmt::print("{} with faults that were survived: --outcome faults\n", counted(others, "other run"));
  return 0;
}

int show_run(const RunsOptions& options, const RunDatabase& database) {
  const RunRow row = required_run(database, options.run);
  const auto document =
      run_database::document_of(database.folder(), row, required(database.annotations(options.run)),
                                required(database.good_before(row)));
  fmt::print("{}", options.json ? run_record::pretty(document) : run_database::to_text(document));
  return 0;
}

int compare_runs(const RunsOptions& options, const RunDatabase& database) {
  const RunRow first = required_run(database, options.run);
  const auto good = options.other ? std::nullopt : required(database.good_before(first));
  if (!options.other && !good)
    throw std::runtime_error(fmt::format("'{}' has no good run before run {}: name the two runs to compare",
                                         database.folder(), first.run));
  const RunRow left = good ? required_run(database, *good) : first;
  const RunRow right = options.other ? required_run(database, *options.other) : first;
  const auto comparison = run_database::compare(database.folder(), left, right);
  if (options.json) {
    fmt::print("{}", run_record::pretty(run_database::to_json(comparison)));
  } else {
    fmt::print("{}", run_database::to_text(comparison, left, right, options.all ? 0 : kChangeMin));
  }
  return 0;
}

int annotate_run(const RunsOptions& options, const std::string& folder) {
  const run_record::RunFields fields = options.fields.given();
  require(run_record::add_annotation(folder, {options.run, utc_now_ns(), client_name(), fields}, {}));
  return 0;
}

// Calls `act` with the folder's database, after it has taken in the present records.
template <class Act>
int with_database(RunsOptions& options, const Act& act) {
  RunDatabase database(folder_of(options.in));
  require(database.update(options.rebuild));
  if (database.unreadable() > 0)
    fmt::print(stderr, "weir runs: {} could not be read\n", counted(database.unreadable(), "record"));
  return act(options, database);
}

template <class Act>
int with_errors(const Act& act) {
  try {
    return act();
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "weir runs: {}\n", error.what());
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weir runs: {}\n", error.what());
    return kNoRun;
  }
}

void add_query(CLI::App& runs, RunsOptions& options) {
  runs.add_option("--since", options.since, "runs that began at this moment or later (UTC), or 12h, 7d ago")
      ->type_name("TIME");
  runs.add_option("--until", options.until, "runs that began earlier")->type_name("TIME");
  runs.add_option("--outcome", options.outcomes,
                  "good, faults, failed, unbalanced, never_began, no_account, open; several with commas")
      ->type_name("OUTCOME");
  runs.add_flag("--failed", options.failed,
                "runs that failed in any way: failed, unbalanced, never_began, no_account");
  runs.add_option("--type", options.query.type, "type of the run");
  runs.add_option("--shifter", options.query.shifter, "name of the person on shift")->type_name("NAME");
  runs.add_option("--quality", options.query.quality, "good, questionable or bad");
  runs.add_option("--text", options.query.text, "words in comment, fields, reason, failure or faults");
  runs.add_option("--last", options.query.limit, "number of runs (default 50); 0: all")->type_name("N");
  runs.add_flag("--csv", options.csv, "print comma-separated values");
  runs.add_flag("--rebuild", options.rebuild, "make the database anew from the records");
}

}  // namespace

void add_runs(CLI::App& app, int& status) {
  auto options = std::make_shared<RunsOptions>();
  CLI::App* runs = app.add_subcommand("runs", "List, show, compare and annotate the runs of a folder");
  runs->require_subcommand(0, 1);
  runs->add_option("--in,--farm", options->in,
                   "folder of the records, or farm file (default: run, or the one folder in it)")
      ->type_name("PATH");
  runs->add_flag("--json", options->json, "print JSON, for scripts");
  add_query(*runs, *options);
  runs->callback([options, runs, &status] {
    if (!runs->get_subcommands().empty()) return;
    status = with_errors([&] { return with_database(*options, list_runs); });
  });
  const auto add = [&](const char* name, const char* what) {
    CLI::App* command = runs->add_subcommand(name, what);
    command->fallthrough();
    command->add_option("run", options->run, "run number")->required()->type_name("N");
    return command;
  };
  add("show", "Show all that is recorded about a run")->callback([options, &status] {
    status = with_errors([&] { return with_database(*options, show_run); });
  });
  CLI::App* diff = add("diff", "Compare settings, plugins and numbers of two runs");
  diff->add_option("other", options->other,
                   "number of the later run; without it, N is compared with the last good run before")
      ->type_name("M");
  diff->add_flag("--all", options->all, "include numbers that differ by less than 1 %");
  diff->callback(
      [options, &status] { status = with_errors([&] { return with_database(*options, compare_runs); }); });
  CLI::App* annotate = add("annotate", "Add fields to a run after its start");
  add_field_options(*annotate, options->fields);
  annotate->callback([options, &status] {
    status = with_errors([&] { return annotate_run(*options, folder_of(options->in)); });
  });
}

}  // namespace weir::commands
