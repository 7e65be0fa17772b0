#pragma once

#include "rig.hpp"
#include "talker.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir::session_test {

// What must hold, or the conversation has failed: throws this sentence.
void demand(bool holds, const std::string& otherwise);

[[nodiscard]] Surroundings around(const Rig& rig, std::uint64_t newest_slice);
// What fits into a conversation: who speaks, and to whom.
[[nodiscard]] std::span<const Saying> fitting(Role from, Role to);

// Watches a farm as `weir run` does.
class Watcher {
 public:
  explicit Watcher(Rig& rig);
  void listen();
  void stop_run() { command(v1::Command::STOP); }
  // It has the account.
  void confirm() { command(v1::Command::SHUTDOWN); }
  // As the last status said; 0 where it said nothing. Of all counters that begin so.
  [[nodiscard]] std::uint64_t counter(const std::string& node, const std::string& name) const;
  [[nodiscard]] std::uint64_t counters(const std::string& node, const std::string& prefix) const;

  v1::FarmStatus status;
  v1::RunSummary summary;

 private:
  void command(v1::Command::Kind kind);

  Rig& rig_;
  Talker talker_;
};

// The farm is served while others talk: slices are stored.
void demand_progress(Rig& rig, Watcher& watcher);
// The run ends; what must hold whoever talked.
void end_run(Rig& rig, Watcher& watcher);

// Somebody in the place of a node, who says its hello and then what he likes, to all that the node talks to.
class Impostor {
 public:
  Impostor(Rig& rig, Role role, std::uint16_t index);
  void come();
  void leave();
  void talk(Dice& dice);

 private:
  struct Other {
    std::unique_ptr<Talker> talker;
    Role role;
  };

  std::unique_ptr<Talker> connect(const std::string& node);
  // True when a hello was heard.
  bool listen(Talker& talker);
  void say(Talker& talker, Dice& dice, const Surroundings& surroundings, Role to);

  Rig& rig_;
  Role role_;
  v1::Hello hello_;
  std::optional<TalkerDoor> door_;
  std::vector<std::string> others_;
  std::unique_ptr<Talker> supervisor_;
  std::vector<Other> to_others_;
  std::uint64_t incarnation_ = 1;
  std::uint64_t newest_ = 0;
};

}  // namespace weir::session_test
