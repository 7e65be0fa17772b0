#pragma once

#include "memory_disk.hpp"
#include "memory_journal.hpp"
#include "memory_network.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/clock.hpp>
#include <weir/v1/control.pb.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

// The real nodes of a farm in one thread, over a network, a clock and disks in memory.
namespace weir::session_test {

class ManualClock final : public ports::Clock {
 public:
  TimeNs now_ns() const override { return now + late; }
  UtcNs utc_ns() const override { return 1'700'000'000 * kSecond + now + late; }
  TimeNs now = kSecond;
  DurationNs late = 0;  // from the beginning of a pass to its readings
};

class MemoryFarm {
 public:
  // `settings`: lines of a farm file; with `run:` also run.out. Nodes are started by name. `slices`: length
  // of the run; 0: until it is stopped.
  explicit MemoryFarm(const std::string& settings, std::uint64_t slices = 0);

  void start(const std::string& name);
  void stop(const std::string& name) { nodes_.erase(name); }
  // Starts another process of this name, while its predecessor's connections stay open without delivering
  // anything.
  void start_beside(const std::string& name) {
    left_open_.push_back(std::move(nodes_.at(name)));
    start(name);
  }
  // It does not pass any more, and keeps its connections.
  void halt(const std::string& name) { halted_.insert(name); }
  void go_on(const std::string& name) { halted_.erase(name); }
  // In the turns from now on a pass has taken so long when it reads the clock: the machine is busy.
  void slow_down(DurationNs late) { clock_.late = late; }
  // Runs so many turns of a millisecond: advances time, runs a pass of every node and delivers all messages.
  void turn(int times = 1);
  [[nodiscard]] node::Node& node(const std::string& name) { return *nodes_.at(name)->node; }
  [[nodiscard]] bool runs(const std::string& name) const { return nodes_.contains(name); }
  // Where this node listens.
  [[nodiscard]] std::uint16_t port_of(const std::string& name) const { return ports_.at(name); }
  [[nodiscard]] std::uint16_t trigger_port() const { return trigger_port_; }
  [[nodiscard]] test::MemoryNetwork& network() { return network_; }
  [[nodiscard]] const config::FarmPlan& plan() const { return plan_; }
  [[nodiscard]] const v1::Farm& file() const { return file_; }
  [[nodiscard]] TimeNs now() const { return clock_.now; }
  // The supervisor's journal; survives restarts of its process.
  [[nodiscard]] test::MemoryJournal& journal() { return journal_; }
  // A writer's.
  [[nodiscard]] test::MemoryDisk& disk_of(const std::string& name) { return nodes_.at(name)->disk; }
  // On all disks.
  [[nodiscard]] std::uint64_t bytes_stored() const;

 private:
  struct Hosted {
    node::Setup setup;
    test::MemoryDisk disk;
    std::unique_ptr<node::Node> node;
  };

  void make(Hosted& hosted);

  v1::Farm file_;
  config::FarmPlan plan_;
  ManualClock clock_;
  test::MemoryNetwork network_;
  test::MemoryJournal journal_;
  std::map<std::string, std::unique_ptr<Hosted>> nodes_;
  std::vector<std::unique_ptr<Hosted>> left_open_;
  std::map<std::string, std::uint16_t> ports_;
  std::set<std::string> halted_;
  std::uint16_t trigger_port_ = 0;
  std::uint16_t next_port_ = 20'000;
};

}  // namespace weir::session_test
