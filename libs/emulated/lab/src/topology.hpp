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

// Returns N of a plane's data network, 10.N.0.0/16. The control network has 78.
[[nodiscard]] constexpr int second_byte(std::size_t plane) {
  constexpr int kFirst = 77;
  return plane == 0 ? kFirst : kFirst + 1 + static_cast<int>(plane);
}
// Returns the end of the names of this plane's switches, and of its devices at hosts: "", "b", "c", …
[[nodiscard]] std::string plane_letter(std::size_t plane);

// Adds switches, links and their ports to a plan with known hosts; the hosts' `attached` numbers the edge
// switches from 0. Each further plane has copies of them. `listed` is the lab file's entry of each host, or
// null.
void add_topology(const v1::Lab& lab, const std::vector<const v1::HostSettings*>& listed, LabPlan& plan);

}  // namespace weir::lab
