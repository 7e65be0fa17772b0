#pragma once

#include <weir/base/time.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/telemetry/line_limit.hpp>

#include <string_view>

namespace weir::node {

// Logs refused peers: a few lines per ten seconds, the next of which has the number left out, so that a
// client that connects a thousand times a second does not fill the disk. The counters of peers include all.
class RefusalLog {
 public:
  void note(const sessions::Peer& peer, std::string_view why, TimeNs now_ns);

 private:
  telemetry::LineLimit limit_;
};

}  // namespace weir::node
