#include "node_owner.hpp"

#include <weir/base/assert.hpp>

#include <limits>
#include <utility>

namespace weir::node {
namespace {

constexpr int kFailuresMax = 5;  // failures of the node in one run; more put the process into error

}  // namespace

void NodeOwner::begin(RunNumber run) {
  if (std::exchange(begun_, run) != run) failures_ = 0;
}

void NodeOwner::make(std::unique_ptr<Setup> setup) {
  WEIR_ASSERT(node_ == nullptr && setup != nullptr);
  node_ = make_(*setup, loop_);
  setup_ = std::move(setup);
}

void NodeOwner::drop() {
  if (node_ && !node_->let_go()) {
    left_behind_ = true;
    (void)node_.release();
    (void)setup_.release();
  }
  node_.reset();
  setup_.reset();
  loop_.wake_at(std::numeric_limits<TimeNs>::max());
}

control::State NodeOwner::count_failure() {
  return ++failures_ < kFailuresMax ? control::State::idle : control::State::error;
}

}  // namespace weir::node
