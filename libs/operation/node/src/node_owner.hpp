#pragma once

#include <weir/control/states.hpp>
#include <weir/node/main.hpp>
#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>

#include <memory>

namespace weir::node {

// The node of a process's current run, from its making to its end, with the setup that outlives it.
class NodeOwner {
 public:
  // `make` and `loop` outlive this.
  NodeOwner(const MakeNode& make, transport::Loop& loop) : make_(make), loop_(loop) {}

  // A run is about to begin: failures count per run.
  void begin(RunNumber run);
  // Makes the run's node. Passes exceptions of its constructor on.
  void make(std::unique_ptr<Setup> setup);
  // Destroys the node. If some of its work does not end, the node stays until the process ends.
  void drop();
  // Counts a failure of the run's node. Returns the state of the process after it: idle, or error if the run
  // had too many.
  [[nodiscard]] control::State count_failure();
  void forget_failures() { failures_ = 0; }

  explicit operator bool() const { return node_ != nullptr; }
  // Requires: a node, likewise setup().
  Node* operator->() const { return node_.get(); }
  [[nodiscard]] const Setup& setup() const { return *setup_; }
  // Returns true if a node was not destroyed: the process has to end with _exit().
  [[nodiscard]] bool left_behind() const { return left_behind_; }

 private:
  const MakeNode& make_;
  transport::Loop& loop_;
  std::unique_ptr<Setup> setup_;
  std::unique_ptr<Node> node_;
  int failures_ = 0;  // consecutive ones, in the run `begun_`
  RunNumber begun_;   // the last one, even if its node failed
  bool left_behind_ = false;
};

}  // namespace weir::node
