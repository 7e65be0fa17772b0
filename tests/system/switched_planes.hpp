#pragma once

#include "controlled_farm.hpp"
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::system_test {

struct SwitchedDcm {
  std::string name;
  std::string group;  // empty: the farm has none
};

struct SwitchedSettings {
  std::vector<SwitchedDcm> dcms;  // the first one is at home in plane a, the next one in b, and so on
  std::string filter;             // the section
  std::string dcm;                // further keys of the section, as ", credits: 4"
  std::string more;               // further sections
};

// A farm under run control, in two planes: each is a weir-switch with a table from run control and a ring for
// each DCM. Two readouts share a host, each DCM has its own; run control, supervisor
// and writer are on the control network. A DCM that keeps slices listens in plane a. A failed command fails
// the test. Requires: the calling thread has a namespace of its own.
class SwitchedPlanes {
 public:
  // Starts all processes and waits until both switches forward.
  SwitchedPlanes(const TemporaryFolder& folder, const SwitchedSettings& settings);
  ~SwitchedPlanes();
  SwitchedPlanes(const SwitchedPlanes&) = delete;
  SwitchedPlanes& operator=(const SwitchedPlanes&) = delete;

  [[nodiscard]] ControlledFarm& farm() { return *farm_; }
  // Waits until it forwards.
  void start_switch(std::size_t plane);
  void kill_switch(std::size_t plane);
  // Sets a ring's rate in the file of a switch; run control does not read it by itself.
  void write_table(std::size_t plane, const std::string& rate) const;
  // Starts a node on its host, in place of one that has ended.
  void start_node(const std::string& name, const std::string& after = {});
  void kill_node(const std::string& name) { farm_->kill_node(name); }
  // Takes the carrier of a DCM's link to a plane, or of the readouts' (`name`: readout-0), or gives it back.
  void set_carrier(const std::string& name, std::size_t plane, bool up) const;

  // Returns the triggers of the supervisor in this run.
  [[nodiscard]] std::uint64_t triggered() const;
  // Waits until there are so many more.
  [[nodiscard]] bool triggers(std::uint64_t more) const;
  // Waits until this text is in the log of a node, from the start of its process on, so many times.
  [[nodiscard]] bool logs(const std::string& node, const std::string& text, std::size_t times = 1) const;

 private:
  [[nodiscard]] const lab::LabHost& host_of(const std::string& name) const;
  [[nodiscard]] lab::Space space_of(const std::string& name) const;
  [[nodiscard]] std::string yaml(const SwitchedSettings& settings) const;
  void join_switches_to_control() const;

  const TemporaryFolder& folder_;
  std::vector<SwitchedDcm> dcms_;
  lab::LabPlan plan_;
  lab::LabNetwork network_;
  std::string keys_;
  std::unique_ptr<ControlledFarm> farm_;
  std::unique_ptr<Process> switches_[2];
  int starts_ = 0;
};

}  // namespace weir::system_test
