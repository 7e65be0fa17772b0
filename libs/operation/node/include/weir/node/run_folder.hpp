#pragma once

#include <weir/node/setup.hpp>

#include <string>

namespace weir::node {

// Resolves run.out, which then stays the same for the whole run. `before`: the folder in which a node of this
// name began the run, or empty. Throws std::runtime_error if the name is not allowed, or if `before` is
// missing and the node writes.
void resolve_out(Setup& setup, const std::string& before);

}  // namespace weir::node
