#include <weir/node/refusal_log.hpp>

#include <spdlog/spdlog.h>

namespace weir::node {

void RefusalLog::note(const messages::Peer& peer, std::string_view why, TimeNs now_ns) {
  if (const auto unsaid = limit_.ask(now_ns))
    spdlog::warn("refused peer={} reason=\"{}\" unsaid={}", peer.stream().peer(), why, *unsaid);
}

}  // namespace weir::node
