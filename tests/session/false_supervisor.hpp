#pragma once

#include "impostor.hpp"
#include "raw_peer.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::session_test {

// Leads all nodes of a farm, and lies to them.
class FalseSupervisor {
 public:
  explicit FalseSupervisor(MemoryFarm& farm);
  void act(Random& random, std::uint64_t newest_slice);
  // Sends the message to every node that is connected, once all are. Adds the roles that received it.
  void say(const v1::Control& message, std::set<Role>& reached);
  // Checks that the nodes live, accept connections, and hold no slices once no supervisor leads them.
  void demand_sound();
  // The highest that it has reported: with each run it begins anew.
  [[nodiscard]] std::uint64_t counter(const std::string& node, const std::string& name) const;

 private:
  void listen(RawPeer& peer);
  void forget_closed();

  MemoryFarm& farm_;
  RawListener listener_;
  std::vector<std::string> nodes_;
  v1::Hello greeting_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> highest_;  // by node and counter
  std::map<const RawPeer*, Role> roles_;
  std::deque<Surroundings::Decided> decided_;
};

}  // namespace weir::session_test
