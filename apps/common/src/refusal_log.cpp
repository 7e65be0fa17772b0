#include <weir/node/refusal_log.hpp>

#include <spdlog/spdlog.h>

#include <utility>

namespace weir::node {

void RefusalLog::note(const messages::Peer& peer, std::string_view why, TimeNs now_ns) {
  if (now_ns >= interval_ends_ns_) {
    interval_ends_ns_ = now_ns + kInterval;
    lines_ = 0;
  }
  if (lines_ == kLinesMax) {
    ++unsaid_;
    return;
  }
  ++lines_;
  spdlog::warn("refused peer={} reason=\"{}\" unsaid={}", peer.stream().peer(), why,
               std::exchange(unsaid_, 0));
}

}  // namespace weir::node
