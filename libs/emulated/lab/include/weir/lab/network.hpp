#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/plan.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::lab {

// Why a network could not be made. `usage`: the user can fix it (rights, a missing program).
struct NetworkError {
  std::string what;
  bool usage = false;
};

// A running lab: its network namespaces, held open. Without names they end with this object, together with
// the processes inside, however this process ends. The namespace in which this process began is never
// changed.
class LabNetwork {
 public:
  LabNetwork();
  ~LabNetwork();
  LabNetwork(LabNetwork&& other) noexcept;
  LabNetwork& operator=(LabNetwork&& other) noexcept;

  // Returns why no lab can be made here: rights, or missing programs; empty: one can.
  [[nodiscard]] static std::string refusal();
  // Makes the network, without names.
  [[nodiscard]] static Expected<LabNetwork, NetworkError> make(const LabPlan& plan);
  // Opens a named network (named.hpp).
  [[nodiscard]] static Expected<LabNetwork, NetworkError> open(const LabPlan& plan,
                                                               const std::vector<std::string>& paths);

  // Returns a descriptor of the namespace for setns(), valid as long as this object.
  [[nodiscard]] int space(Space space) const;
  // Returns the same for the namespace of the thread that made or opened the network.
  [[nodiscard]] int outside() const;
  // False if frames of a connection may overtake each other, because this kernel does not allow one CPU to
  // receive them all.
  [[nodiscard]] bool in_order() const;
  // Sets a port's rate and buffer, and keeps its queue. Takes some ms.
  [[nodiscard]] Expected<void, std::string> change(const LabPlan& plan, const PortChange& change) const;
  // Cuts the far hosts off from the control network, or connects them again. Takes some ms.
  [[nodiscard]] Expected<void, std::string> set_line_down(const LabPlan& plan, bool down) const;
  // Cuts a part of a plane off, or connects it again. Takes some ms.
  [[nodiscard]] Expected<void, std::string> set_cut(const PlaneCut& cut, bool down) const;
  // Connects each host to each other once, which static congestion windows need before they apply. Requires:
  // the relay runs, if the plan needs one.
  [[nodiscard]] Expected<void, std::string> connect_once(const LabPlan& plan) const;
  // Moves the calling thread into the namespace for good.
  [[nodiscard]] Expected<void, std::string> enter(Space space) const;

 private:
  struct Spaces;
  std::unique_ptr<Spaces> spaces_;
};

}  // namespace weir::lab
