#pragma once

#include <weir/base/ids.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <string>
#include <vector>

namespace weir::run_control {

// What the farm is set to: its file, the keys that the command line and `set` have changed, and those of
// `start` for its run. Errors are sentences, or problems one a line; nothing has changed then.
class FarmSetup {
 public:
  using Sets = std::vector<std::string>;  // key=value

  // Throws std::runtime_error with every problem, one a line.
  FarmSetup(std::string path, Sets command_line);

  // Takes these keys besides those that were set before, for the next `configure`.
  [[nodiscard]] std::string set(const Sets& wanted);
  // The same, of none or some, with the farm file as it is now.
  [[nodiscard]] std::string configure(const Sets& wanted);
  // What `start` may say of its run without a new `configure`.
  [[nodiscard]] std::string check_run_sets(const Sets& wanted) const;
  void start(Sets run_sets) { run_sets_ = std::move(run_sets); }
  // What an earlier process knew. Where its keys do not fit the file any more they are left out.
  [[nodiscard]] std::string recall(const Sets& sets, Sets run_sets);

  // As it lay there at the start, with the command line's keys: what holds as long as this process.
  [[nodiscard]] const v1::Farm& file() const { return file_; }
  // With the keys of `set`.
  [[nodiscard]] const v1::Farm& farm() const { return farm_; }
  [[nodiscard]] const config::FarmPlan& plan() const { return plan_; }
  // Of the file that the last `configure` has read.
  [[nodiscard]] const std::string& digest() const { return digest_; }
  [[nodiscard]] const Sets& sets() const { return sets_; }
  [[nodiscard]] const Sets& run_sets() const { return run_sets_; }
  // With the keys of `start`.
  [[nodiscard]] v1::Farm of_run(RunNumber run) const;

 private:
  struct Read {
    v1::Farm farm;
    config::FarmPlan plan;
  };
  [[nodiscard]] Expected<Read, std::string> read(const Sets& more) const;
  [[nodiscard]] std::string take(const Sets& sets);

  std::string path_;
  Sets command_line_;
  v1::Farm file_;
  v1::Farm farm_;
  config::FarmPlan plan_;
  std::string digest_;
  Sets sets_;
  Sets run_sets_;
};

}  // namespace weir::run_control
