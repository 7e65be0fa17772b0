#pragma once

#include "descriptor.hpp"
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <cstdint>
#include <string>

namespace weir::lab {

// A TCP connection between two hosts of a lab, over the data network.
struct Connection {
  Descriptor from;
  Descriptor to;
};

struct ListeningSocket {
  Descriptor socket;
  std::uint16_t port = 0;
};

// Throws std::runtime_error.
[[nodiscard]] ListeningSocket listen_on(const LabPlan& plan, const Network& network, std::size_t host,
                                        const std::string& congestion_control);
// Throws std::runtime_error.
[[nodiscard]] Connection connect_hosts(const LabPlan& plan, const Network& network, std::size_t from,
                                       std::size_t to, const std::string& congestion_control);

// Connects each host to each other once and closes: a route's static congestion window applies from the
// second connection on, when the kernel has an entry for the other host. Throws std::runtime_error.
void meet_once(const LabPlan& plan, const Network& network);

}  // namespace weir::lab
