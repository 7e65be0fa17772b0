#pragma once

#include <weir/base/time.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/telemetry/line_limit.hpp>

#include <string_view>

namespace weir::node {

// Logs which peers were refused: a few lines in ten seconds, and in the next line how many were left out, so
// that a stranger that connects a thousand times a second does not fill the disk. The counters of peers have
// all of them.
class RefusalLog {
 public:
  void note(const sessions::Peer& peer, std::string_view why, TimeNs now_ns);

 private:
  telemetry::LineLimit limit_;
};

}  // namespace weir::node
