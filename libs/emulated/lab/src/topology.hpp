#pragma once

#include <weir/lab/plan.hpp>
#include <weir/v1/lab.pb.h>

namespace weir::lab {

// The number of switches that hosts can be attached to, and their name for people: "rack".
struct Edges {
  std::size_t count = 1;
  const char* noun = "switch";
};
[[nodiscard]] Edges edges_of(const v1::Lab& lab);

// Adds switches, links and their ports to a plan with known hosts; the hosts' `attached` numbers the edge
// switches from 0. `listed` is the lab file's entry of each host, or null.
void add_topology(const v1::Lab& lab, const std::vector<const v1::HostSettings*>& listed, LabPlan& plan);

}  // namespace weir::lab
