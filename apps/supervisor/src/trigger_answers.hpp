#pragma once

#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <map>
#include <vector>

namespace weir::supervisor {

// Holds answers to trigger clients until the journal contains their pass, so that an accepted slice outlives
// this process. Keeps the order of a client's answers. Bounded by its node, which stops reading from a client
// with too many of them.
class TriggerAnswers {
 public:
  void add(sessions::Peer& client, v1::Control answer);
  // It has left.
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
