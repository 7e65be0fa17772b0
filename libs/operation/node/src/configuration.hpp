#pragma once

#include <weir/node/identity.hpp>
#include <weir/node/plugin_trial_child.hpp>
#include <weir/node/setup.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weir::node {

// The settings of a process, from the farm that run control sent last, with the identity of the files that a
// run would load. A plugin is tried in a child before its settings count.
class Configuration {
 public:
  // `has_plugins`: this executable accepts --try-plugins. `line` outlives this.
  Configuration(const CommandLine& line, Role role, bool has_plugins)
      : line_(line), role_(role), has_plugins_(has_plugins) {}

  // Takes the order's farm, or begins a trial of its plugin (is_trying()). Returns an error, or an empty
  // string.
  [[nodiscard]] std::string begin(const v1::Order& order, TimeNs now_ns);
  // The end of a trial. The settings count if both texts are empty.
  struct Trial {
    std::uint64_t order = 0;
    std::string problem = {};  // with the plugin or its parameters
    std::string error = {};    // with this process
  };
  [[nodiscard]] std::optional<Trial> look(TimeNs now_ns);
  [[nodiscard]] bool is_trying() const { return trying_ != nullptr; }
  void stop_trial() { trying_.reset(); }
  // Updates identity() if a plugin's file has changed. Call outside of runs: a run keeps the files with which
  // it began.
  void look_at_plugins();
  // Forgets the settings; the identity stays.
  void reset();
  // The process has to be configured again, although its settings stay.
  void forget_epoch() { epoch_ = 0; }

  // Returns null before the first farm.
  [[nodiscard]] const Setup* setup() const { return setup_ ? &*setup_ : nullptr; }
  [[nodiscard]] const v1::RunIdentity& identity() const { return identity_; }
  // Returns the number of the order's farm; 0: none.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  struct Trying {
    PluginTrialChild child;
    std::uint64_t order;
    std::uint64_t epoch;
    Setup setup;
  };
  void begin_trial(const v1::Order& order, Setup setup, TimeNs now_ns);
  void take(Setup setup, std::uint64_t epoch);

  const CommandLine& line_;
  Role role_;
  bool has_plugins_;
  std::optional<Setup> setup_;
  v1::RunIdentity identity_;
  PluginWatch plugins_;
  std::unique_ptr<Trying> trying_;
  std::uint64_t epoch_ = 0;
};

}  // namespace weir::node
