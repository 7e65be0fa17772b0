#pragma once

#include <weir/base/expected.hpp>

#include <string>

namespace weir::switch_node {

// Gives up all rights of this process, for good: root becomes `user`, and no capability is left. Open sockets
// stay usable. Requires: no other thread was started.
[[nodiscard]] Expected<void, std::string> drop_rights(const std::string& user);

}  // namespace weir::switch_node
