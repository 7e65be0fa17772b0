#pragma once

#include "process.hpp"

#include <boost/json/object.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::system_test {

// Run control and the processes that it leads, as children of the test; commands go through `weir ctl`.
class RuledFarm {
 public:
  // Names of processes, and the program of each.
  using Programs = std::map<std::string, std::string>;
  RuledFarm(const TemporaryFolder& folder, std::string farm_file, Programs programs);

  // Starts the process, anew where it was there before.
  void start(const std::string& name);
  [[nodiscard]] Process& process(const std::string& name) { return *processes_.at(name); }

  // Waits for the end of a transition.
  CommandEnd ctl(std::vector<std::string> arguments) const;
  [[nodiscard]] boost::json::object status() const;
  [[nodiscard]] std::string state() const;
  [[nodiscard]] std::string state_of(const std::string& name) const;
  // All events so far, a line each.
  [[nodiscard]] std::string events() const;

 private:
  const TemporaryFolder& folder_;
  std::string farm_file_;
  Programs programs_;
  std::unique_ptr<Process> run_control_;
  std::string address_;
  std::map<std::string, std::unique_ptr<Process>> processes_;
};

}  // namespace weir::system_test
