#pragma once

#include <weir/config/planes.hpp>
#include <weir/ports/carriers.hpp>

#include <memory>
#include <vector>

namespace weir::node {

// Watches the interfaces that have an address in one of these networks. A network without an interface here
// is never lost. Returns null, and logs the reason, if the system does not report changes.
[[nodiscard]] std::unique_ptr<ports::Carriers> watch_carriers(
    const std::vector<config::Ipv4Network>& networks);

}  // namespace weir::node
