#pragma once

#include "work.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace weir::dcm {

// The works whose memory shipments and connections refer to. They share a hold; when the last of them lets go
// of it the work is noted here, and nothing else happens: who lets go may be in the midst of anything, and
// may even outlive the node. The node takes such works back when it has the time, and is the only one to
// release.
class HeldWork {
 public:
  // The hold of this work: the one that there is, or a new one.
  [[nodiscard]] std::shared_ptr<const void> hold(Work& work);
  // A work that nobody refers to any more; null when there is none.
  [[nodiscard]] Work* take_back();

 private:
  // Has room for all that are held, so that letting go needs no memory.
  std::shared_ptr<std::vector<Work*>> returned_ = std::make_shared<std::vector<Work*>>();
  std::size_t held_ = 0;
};

}  // namespace weir::dcm
