#pragma once

#include <weir/sessions/peer.hpp>

#include <cstdint>
#include <string>

namespace weir::test {

// "dcm-1", of run 7 of a farm for tests.
inline sessions::PeerInfo process(Role role, std::uint16_t index) {
  sessions::PeerInfo info;
  info.role = role;
  info.index = NodeIndex(index);
  info.name = std::string(name(role)) + "-" + std::to_string(index);
  info.farm = "test farm";
  info.run = RunNumber(7);
  return info;
}

}  // namespace weir::test
