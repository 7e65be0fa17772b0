#pragma once

#include <weir/base/time.hpp>
#include <weir/messages/peer.hpp>
#include <weir/telemetry/line_limit.hpp>

#include <string_view>

namespace weir::node {

// Says who was not taken: a few lines in ten seconds, and in the next one how many were left out, so that a
// stranger who knocks a thousand times a second fills no disk. The counters of peers have all of them.
class RefusalLog {
 public:
  void note(const messages::Peer& peer, std::string_view why, TimeNs now_ns);

 private:
  telemetry::LineLimit limit_;
};

}  // namespace weir::node
