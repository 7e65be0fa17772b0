#pragma once

#include "process.hpp"

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::system_test {

// A farm under run control whose processes are all children of the test. `yaml` is the farm file without
// `control` and run.out; `more` holds further keys of `control`, as ", keys: /path". Run control listens at
// `host`.
class ControlledFarm {
 public:
  ControlledFarm(const TemporaryFolder& folder, const std::string& yaml,
                 const std::vector<std::string>& nodes, const std::string& more = {},
                 const std::string& host = "127.0.0.1");

  void start_run_control();
  // `after`: how the process in this place has ended, as a starter that watches it reports; empty: unknown.
  // "dcm:near": the DCM "near".
  void start_node(const std::string& role_and_name, const std::string& after = {});
  void kill_run_control();
  void kill_node(const std::string& name);
  [[nodiscard]] Process& node(const std::string& name) { return *nodes_.at(name); }
  [[nodiscard]] Process& run_control() { return *run_control_; }

  // `weir ctl` with these words.
  [[nodiscard]] CommandEnd ctl(const std::vector<std::string>& words) const;
  // As ctl(), but throws on a nonzero status, which fails the test.
  void must(const std::vector<std::string>& words) const;
  // Stops the run; throws unless its outcome is `good`.
  void stop_good() const;
  // Stops the run; throws unless it survived faults, and the first one contains this text.
  void stop_with_faults(const std::string& fault) const;
  [[nodiscard]] boost::json::value status() const;
  [[nodiscard]] std::string state() const;
  [[nodiscard]] std::string state_of(const std::string& node) const;
  // All events so far, a line each.
  [[nodiscard]] std::string events() const;
  // Runs init and configure; begin_run() also runs start.
  void make_ready() const;
  void begin_run() const;
  // Starts `weir tap`. Its output goes to NAME.out, its errors to NAME.err.
  [[nodiscard]] std::unique_ptr<Process> tap(const std::string& name,
                                             const std::vector<std::string>& arguments) const;
  // Returns the end record of a finished run.
  [[nodiscard]] boost::json::value record(std::uint32_t run) const;
  [[nodiscard]] std::string logs() const;
  [[nodiscard]] const std::string& farm_file() const { return farm_file_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string out() const { return folder_ / "run"; }

 private:
  const TemporaryFolder& folder_;
  std::uint16_t port_ = 0;
  std::string farm_file_;
  std::unique_ptr<Process> run_control_;
  std::map<std::string, std::unique_ptr<Process>> nodes_;
  int starts_ = 0;
};

// Resources that a process holds.
struct Holdings {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t rss_kb = 0;
};
[[nodiscard]] Holdings holdings_of(pid_t pid);

}  // namespace weir::system_test
