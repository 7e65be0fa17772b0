#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/form.hpp>
#include <weir/config/planned_farm.hpp>
#include <weir/config/switch_file.hpp>
#include <weir/v1/bus.pb.h>

#include <string>
#include <string_view>
#include <vector>

namespace weir::run_control {

// Where an override comes from (FarmView.Override.origin).
inline constexpr std::string_view kByCommandLine = "command line";
inline constexpr std::string_view kBySet = "set";
inline constexpr std::string_view kByConfigure = "configure";
inline constexpr std::string_view kByStart = "start";

// The farm's settings: its file, the keys of run control's command line, and keys set by operators. `set` and
// `unset` change the settings for the next `configure`; until then configured() is in force, and in the
// records of runs. Errors are messages, or problems one a line; the settings are then unchanged.
class FarmSetup {
 public:
  using Sets = std::vector<std::string>;  // key=value
  struct Override {
    std::string assignment;  // key=value
    std::string origin;
    bool operator==(const Override&) const = default;
  };
  using Overrides = std::vector<Override>;
  // The settings for a `configure`.
  struct Configuration : config::PlannedFarm {
    Overrides overrides;
    std::vector<config::FarmSwitch> switches;
  };
  // The state that outlives the process.
  struct Remembered {
    Overrides wanted;
    Overrides configured;
    Sets run_sets;
    std::string digest;     // of the configured farm
    std::string farm_yaml;  // the configured farm; empty: unknown
  };

  // `fallback`: a farm file to begin with if the one at `path` cannot be used or has other processes, as
  // after an edit while the farm is on; empty: none. Errors: std::runtime_error with every problem, one a
  // line.
  FarmSetup(std::string path, Sets command_line, const std::string& fallback = {});

  // Returns "farm.yaml:14": where the farm file has this key now, or the file.
  [[nodiscard]] std::string place_of(const std::string& key) const;
  // Returns why the fallback is in use; empty if it is not.
  [[nodiscard]] const std::string& file_problem() const { return file_problem_; }

  // Sets these keys for the next `configure`.
  [[nodiscard]] std::string set(const Sets& wanted, std::string_view origin = kBySet);
  // Removes these keys from the next `configure`; `all`: every key set by operators.
  [[nodiscard]] std::string unset(const Sets& keys, bool all);
  // Returns the farm file as it is now, with all that is set and these keys besides.
  [[nodiscard]] Expected<Configuration, std::string> prepare(const Sets& more) const;
  // Returns its changes to configured(), a key a line: "dcm.credits: 8 -> 4".
  [[nodiscard]] std::string difference(const Configuration& next) const;
  // A key of the next `configure`, for a form.
  struct FormKey : config::FormKey {  // `where` as FarmView.Override.origin, or the place in the farm file
    std::string in_force;             // the value that the processes have
  };
  // Returns the keys of the farm file as it is now, with all that is set.
  [[nodiscard]] Expected<std::vector<FormKey>, std::string> form() const;
  // The processes are given this one.
  void configure(Configuration configuration);
  // Reads the files of the farm's switches again. Returns the names of those that have another table now.
  // Errors: problems of any file, with its line; then all tables stay.
  [[nodiscard]] Expected<std::vector<std::string>, std::string> read_switches();
  // Forgets the operators' keys: the farm goes off.
  void forget() { wanted_.clear(); }
  // Checks the keys that `start` may set for its run without a new `configure`.
  [[nodiscard]] std::string check_run_sets(const Sets& wanted) const;
  void start(Sets run_sets) { run_sets_ = std::move(run_sets); }
  // Restores an earlier process's state. Returns true if the processes have this configuration, false if they
  // need another `configure`. `problem` lists keys that no longer fit the file; they are dropped.
  [[nodiscard]] bool recall(const Remembered& before, std::string& problem);
  [[nodiscard]] Remembered remembered() const;

  // The farm at this process' start, with the command line's keys: the settings of run control itself.
  [[nodiscard]] const v1::Farm& file() const { return file_; }
  // The configuration of the processes.
  [[nodiscard]] const v1::Farm& configured() const { return configured_.farm; }
  [[nodiscard]] const config::FarmPlan& plan() const { return configured_.plan; }
  // The files of the farm's switches, as read at the start, or by the last `configure` or `switches`.
  [[nodiscard]] const std::vector<config::FarmSwitch>& switches() const { return configured_.switches; }
  // Processes of the same kind stand in for each other: "writer", "DCM", "DCM of group 'far'".
  [[nodiscard]] std::string kind_of(const std::string& process, Role role) const;
  [[nodiscard]] const std::string& digest() const { return digest_; }  // of configured()
  // Keys that operators have set in configured().
  [[nodiscard]] Sets configured_sets() const;
  [[nodiscard]] const Sets& run_sets() const { return run_sets_; }
  // configured() with the run's number and the keys of `start`.
  [[nodiscard]] config::PlannedFarm of_run(RunNumber run) const;
  // Returns every key set by a person that differs from the file, for display; `run_is_on`: includes those of
  // `start`.
  [[nodiscard]] std::vector<v1::FarmView::Override> shown(bool run_is_on) const;

 private:
  [[nodiscard]] Expected<config::FarmFile, std::string> load(const Overrides& overrides) const;
  [[nodiscard]] Expected<config::PlannedFarm, std::string> read(const Overrides& overrides) const;
  [[nodiscard]] Expected<Overrides, std::string> with(const Sets& more, std::string_view origin) const;
  [[nodiscard]] std::string take(Overrides wanted);
  void use_if_needed(const std::string& fallback, Expected<Configuration, std::string>& first);

  std::string path_;
  Sets command_line_;
  std::string file_problem_;
  v1::Farm file_;
  Configuration configured_;
  std::string digest_;
  Overrides wanted_;
  Sets run_sets_;
};

}  // namespace weir::run_control
