#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/plan.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::lab {

// Why there is no network. `usage`: the user's to mend (rights, a program that is not installed).
struct NetworkError {
  std::string what;
  bool usage = false;
};

// A lab that is there: its network namespaces, held open. Without names, they end with this object and the
// processes inside, however this process ends; nothing is ever in the namespace that this process began in.
class Network {
 public:
  Network();
  ~Network();
  Network(Network&& other) noexcept;
  Network& operator=(Network&& other) noexcept;

  // Makes it, without names.
  [[nodiscard]] static Expected<Network, NetworkError> make(const LabPlan& plan);
  // One that was made and named (named.hpp).
  [[nodiscard]] static Expected<Network, NetworkError> open(const LabPlan& plan,
                                                            const std::vector<std::string>& paths);

  // A descriptor of the namespace, for setns(); valid as long as this object.
  [[nodiscard]] int space(Space space) const;
  // The same of the namespace that the thread was in that made or opened it.
  [[nodiscard]] int outside() const;
  // False: frames of a connection may overtake each other, as this kernel does not let one CPU receive them.
  [[nodiscard]] bool in_order() const;
  // Gives a port another rate and buffer; what waits there stays. Takes some ms.
  [[nodiscard]] Expected<void, std::string> change(const LabPlan& plan, const PortChange& change) const;
  // The calling thread goes into the namespace and stays there.
  [[nodiscard]] Expected<void, std::string> enter(Space space) const;

 private:
  struct Spaces;
  std::unique_ptr<Spaces> spaces_;
};

}  // namespace weir::lab
