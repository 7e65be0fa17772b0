#pragma once

#include <weir/messages/peer.hpp>
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
  void add(messages::Peer& client, v1::Control answer);
  // It is gone.
  void forget(const messages::Peer& client) { waiting_.erase(&client); }
  void send();
  [[nodiscard]] std::size_t bytes_for(const messages::Peer& client) const;

 private:
  struct Waiting {
    messages::Peer* client = nullptr;
    std::vector<v1::Control> answers;
    std::size_t bytes = 0;
  };
  std::map<const messages::Peer*, Waiting> waiting_;
};

}  // namespace weir::supervisor
