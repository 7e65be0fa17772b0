#pragma once

#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <map>
#include <vector>

namespace weir::supervisor {

// What trigger clients are to be answered, until the journal has the pass in which that was decided: a slice
// that a client was told is taken outlives this process. A client's answers stay in their order. Bounded by
// its node, which reads from no client that has too much here.
class TriggerAnswers {
 public:
  void add(sessions::Peer& client, v1::Control answer);
  // It is gone.
  void forget(const sessions::Peer& client) { waiting_.erase(&client); }
  void send();
  [[nodiscard]] std::size_t bytes_for(const sessions::Peer& client) const;

 private:
  struct Waiting {
    sessions::Peer* client = nullptr;
    std::vector<v1::Control> answers;
    std::size_t bytes = 0;
  };
  std::map<const sessions::Peer*, Waiting> waiting_;
};

}  // namespace weir::supervisor
