#pragma once

#include "farm_run.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::system_test {

// A farm that `weir up` keeps in a folder of the test: configs/event-building.yaml with two readouts, at 500
// Hz.
class KeptFarm {
 public:
  explicit KeptFarm(const TemporaryFolder& folder, const std::vector<std::string>& assignments = {},
                    std::string farm_file = config_file("event-building.yaml"))
      : folder_(folder), farm_file_(std::move(farm_file)) {
    std::vector<std::string> all{"run.out=" + (folder / "out"), "trigger.mode=rate", "trigger.rate_hz=500",
                                 "readout.count=2"};
    all.insert(all.end(), assignments.begin(), assignments.end());
    arguments_ = sets(all);
    start();
  }

  // `weir up` once more, when the one before has ended.
  void start() {
    std::vector<std::string> line{std::string(WEIR_BIN_DIR) + "/weir", "up", farm_file_};
    line.insert(line.end(), arguments_.begin(), arguments_.end());
    const std::string log = folder_ / "up-" + std::to_string(++starts_);
    process_ = std::make_unique<Process>(line, log + ".out", log + ".err");
    const std::string mark = "--connect ";
    if (!wait_until([&] { return out().find(" status\n") != std::string::npos; }, Seconds(60)))
      throw std::runtime_error("weir up does not say where run control is: " + out() + process_->err());
    const std::size_t from = out().find(mark) + mark.size();
    at_ = out().substr(from, out().find(' ', from) - from);
  }

  // Returns the address of run control.
  [[nodiscard]] const std::string& at() const { return at_; }
  [[nodiscard]] std::string out() const { return process_->out(); }
  [[nodiscard]] Process& process() { return *process_; }
  [[nodiscard]] CommandEnd ctl(const std::vector<std::string>& words) const {
    return run_command(folder_, "weir", ctl_line(words));
  }
  // As ctl(), without waiting for its end.
  [[nodiscard]] std::unique_ptr<Process> begin_ctl(const std::vector<std::string>& words) const {
    std::vector<std::string> line = ctl_line(words);
    line.insert(line.begin(), std::string(WEIR_BIN_DIR) + "/weir");
    return std::make_unique<Process>(line, folder_ / "ctl.out", folder_ / "ctl.err");
  }
  // Throws when it does not end with status 0, which fails the test.
  void must(const std::vector<std::string>& words) const {
    const CommandEnd end = ctl(words);
    if (end.status != 0)
      throw std::runtime_error("weir ctl " + words.front() + " ended with " + std::to_string(end.status) +
                               ": " + end.out + end.err + "\n" + out());
  }
  // Stops the run; throws unless its outcome is `good`.
  void stop_good() const { must({"stop"}); }
  // Stops the run; throws unless it survived faults, and the first one contains this text.
  void stop_with_faults(const std::string& fault) const { require_faults(ctl({"stop"}), fault, out()); }
  [[nodiscard]] boost::json::value status() const {
    const CommandEnd end = ctl({"--json", "status"});
    if (end.status != 0) throw std::runtime_error("weir ctl status: " + end.err + "\n" + out());
    return boost::json::parse(end.out);
  }
  [[nodiscard]] pid_t pid_of(const std::string& node) const {
    for (const RunningProcess& process : processes_naming(folder_.path().string())) {
      const auto name = std::find(process.arguments.begin(), process.arguments.end(), "--name");
      if (name != process.arguments.end() && name + 1 != process.arguments.end() && *(name + 1) == node)
        return process.pid;
    }
    return 0;
  }

 private:
  [[nodiscard]] std::vector<std::string> ctl_line(const std::vector<std::string>& words) const {
    std::vector<std::string> line{"ctl", "--connect", at_, "--timeout", "20"};
    line.insert(line.end(), words.begin(), words.end());
    return line;
  }

  const TemporaryFolder& folder_;
  std::string farm_file_;
  std::vector<std::string> arguments_;
  std::unique_ptr<Process> process_;
  int starts_ = 0;
  std::string at_;
};

}  // namespace weir::system_test
