#pragma once

#include <weir/assignment/ledger.hpp>

#include <span>
#include <utility>
#include <vector>

namespace weir::assignment {

// Faults of nodes in this run, by name and in order: the first kFaultsMax.
class FaultList {
 public:
  void note(Fault fault) {
    if (faults_.size() < kFaultsMax) faults_.push_back(std::move(fault));
  }
  [[nodiscard]] std::span<const Fault> all() const { return faults_; }

 private:
  std::vector<Fault> faults_;
};

}  // namespace weir::assignment
