#pragma once

#include "memory_journal.hpp"
#include "scenario.hpp"
#include <weir/config/plan.hpp>
#include <weir/filter_host/worker_process.hpp>
#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/scratch_disk.hpp>
#include <weir/simnet/disk.hpp>
#include <weir/simnet/world.hpp>
#include <weir/storage/earlier_life.hpp>
#include <weir/v1/farm.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::sim {

// Data shared by all processes of a farm.
struct FarmFile {
  v1::Farm farm;
  config::FarmPlan plan;
};

// A planned process on its host: boots, dies and restarts, as under a process manager. Its data stays in its
// machine's disk image.
class SimProcess {
 public:
  // Requires: all references outlive the process. `scratch`: a real folder, for code that needs real files.
  SimProcess(simnet::World& world, const FarmFile& farm, const Scenario& scenario, const std::string& name,
             const std::string& scratch);
  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  void boot();
  // Starts the node's next process whenever one has ended on request, while may() is true, as `weir up`
  // does. Null: no more.
  void boot_again(std::function<bool()> may);
  // Ignored if it is not running. `in_pass`: dies after it has sent part of its pending messages.
  void kill(simnet::Death death, DurationNs down_ns, bool in_pass = false);
  [[nodiscard]] bool running() const { return node_ != nullptr; }
  [[nodiscard]] bool ended_well() const { return ended_ && failure_.empty(); }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Its link to this plane loses its carrier, of which its system tells it.
  void lose_carrier(std::size_t plane) { lost_carriers_.push_back(plane); }
  // Returns the first rule that its node has broken; empty if none, or if it does not run.
  [[nodiscard]] std::string broken_invariant();
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] simnet::Host& host() { return host_; }
  [[nodiscard]] simnet::SimDisk* disk() { return disk_.get(); }
  [[nodiscard]] simnet::DiskImage& image() { return image_; }
  [[nodiscard]] bool is_writer() const { return role_ == Role::writer; }
  [[nodiscard]] std::uint32_t deaths() const { return deaths_; }
  // Its files as a reader of this machine would find them.
  void write_files(const std::string& folder) const;
  [[nodiscard]] storage::EarlierLife read_files(const std::string& folder) const;

 private:
  void follow();
  void make_node();
  [[nodiscard]] std::unique_ptr<filter_host::WorkerHost> make_workers(int slice_memory,
                                                                      const std::function<void()>& wake);
  [[nodiscard]] std::unique_ptr<ports::ScratchDisk> make_scratch(const std::function<void()>& wake);
  void make_writer();
  void pass(TimeNs now_ns);
  void end_when_flushed();

  simnet::World& world_;
  const FarmFile& farm_;
  const Scenario& scenario_;
  std::string name_;
  std::string scratch_;
  Role role_ = Role::readout;
  simnet::Host& host_;
  simnet::Random random_;
  simnet::DiskImage image_;
  test::MemoryJournal journal_;  // the supervisor's journal; lost with its machine
  struct Doom {
    simnet::Death death;
    DurationNs down_ns;
  };
  std::optional<Doom> doom_;  // due in its next pass
  node::Setup setup_;
  std::unique_ptr<simnet::SimDisk> disk_;
  std::unique_ptr<node::Node> node_;
  std::vector<std::size_t> lost_carriers_;
  std::uint64_t life_ = 0;
  std::uint32_t deaths_ = 0;
  bool leaving_ = false;
  bool ended_ = false;
  std::function<bool()> again_;  // of boot_again()
  TimeNs flush_until_ns_ = 0;
  std::string failure_;
  std::string broken_;  // a rule that it did not keep when it ended
};

}  // namespace weir::sim
