#pragma once

#include <weir/lab/plan.hpp>
#include <weir/v1/lab.pb.h>

namespace weir::lab {

// How many switches hosts can be attached to, and what a person calls one: "rack".
struct Edges {
  std::size_t count = 1;
  const char* noun = "switch";
};
[[nodiscard]] Edges edges_of(const v1::Lab& lab);

// Adds switches, links, and what is between them to a plan whose hosts are known; hosts' `attached` number
// the edge switches from 0 on. `listed` is the lab file's entry of each host, or null.
void add_topology(const v1::Lab& lab, const std::vector<const v1::HostSettings*>& listed, LabPlan& plan);

}  // namespace weir::lab
