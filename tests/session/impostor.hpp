#pragma once

#include "memory_farm.hpp"
#include "raw_peer.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::session_test {

// Throws `otherwise` if the condition does not hold.
void demand(bool holds, const std::string& otherwise);

[[nodiscard]] Surroundings around(const MemoryFarm& farm, std::uint64_t newest_slice);
// Returns the messages that a node of one role sends to a node of the other role.
[[nodiscard]] std::span<const MessageKind> fitting(Role from, Role to);

// Watches a farm as `weir run` does.
class Watcher {
 public:
  explicit Watcher(MemoryFarm& farm);
  void listen();
  void stop_run() { command(v1::Command::STOP); }
  // It has the account.
  void confirm() { command(v1::Command::SHUTDOWN); }
  // Returns the value from the last status, 0 if absent; counters() sums all counters with this prefix.
  [[nodiscard]] std::uint64_t counter(const std::string& node, const std::string& name) const;
  [[nodiscard]] std::uint64_t counters(const std::string& node, const std::string& prefix) const;

  v1::FarmStatus status;
  v1::RunSummary summary;

 private:
  void command(v1::Command::Kind kind);

  MemoryFarm& farm_;
  RawPeer peer_;
};

// Honest nodes are served meanwhile: slices are stored.
void demand_progress(MemoryFarm& farm, Watcher& watcher);
// Ends the run and checks the invariants that hold for any input.
void end_run(MemoryFarm& farm, Watcher& watcher);

// The growth of this process's memory, beyond the data that a farm stores meanwhile.
class Growth {
 public:
  explicit Growth(const MemoryFarm& farm);
  [[nodiscard]] std::size_t bytes() const;

 private:
  const MemoryFarm& farm_;
  std::size_t allocated_;
  std::uint64_t stored_;
};

// No node has failed or broken an invariant of its own. The supervisor's account sums up the nodes' reports:
// with one false report it need not balance.
void demand_sound_nodes(MemoryFarm& farm, bool all_honest = true);

// Takes the place of a node: sends its hello and then arbitrary messages to every process that the node is
// connected to.
class Impostor {
 public:
  Impostor(MemoryFarm& farm, Role role, std::uint16_t index);
  void come();
  // Answers BeginRun, as readouts and DCMs do.
  void begin();
  void leave();
  void act(Random& random);
  // Connects as act() does, but to every node, and sends the message to each. Adds the roles that received
  // it.
  void say(const v1::Control& message, std::set<Role>& reached);

 private:
  struct Other {
    std::unique_ptr<RawPeer> peer;
    Role role;
  };

  std::unique_ptr<RawPeer> connect(const std::string& node);
  // True when a hello was frame.
  bool listen(RawPeer& peer);
  void send(RawPeer& peer, Random& random, const Surroundings& surroundings, Role to);

  MemoryFarm& farm_;
  Role role_;
  v1::Hello hello_;
  std::optional<RawListener> listener_;
  std::vector<std::string> others_;
  std::unique_ptr<RawPeer> supervisor_;
  std::vector<Other> to_others_;
  std::uint64_t incarnation_ = 1;
  std::uint64_t newest_ = 0;
};

}  // namespace weir::session_test
