#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <cstdint>
#include <string>

namespace weir::lab {

// A TCP connection between two hosts of a lab, over the data network.
struct HostConnection {
  OwnedDescriptor from;
  OwnedDescriptor to;
};

struct ListeningSocket {
  OwnedDescriptor socket;
  std::uint16_t port = 0;
};

// Throws std::runtime_error.
[[nodiscard]] ListeningSocket listen_on(const LabPlan& plan, const LabNetwork& network, std::size_t host,
                                        const std::string& congestion_control);
// Throws std::runtime_error.
[[nodiscard]] HostConnection connect_hosts(const LabPlan& plan, const LabNetwork& network, std::size_t from,
                                           std::size_t to, const std::string& congestion_control);

// Connects each host to each other once and closes: a route's static congestion window applies from the
// second connection on, when the kernel has an entry for the other host. Throws std::runtime_error.
void meet_once(const LabPlan& plan, const LabNetwork& network);

}  // namespace weir::lab
