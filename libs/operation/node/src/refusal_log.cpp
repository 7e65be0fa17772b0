#include <weir/node/refusal_log.hpp>

#include <spdlog/spdlog.h>

namespace weir::node {

void RefusalLog::note(const sessions::Peer& peer, std::string_view why, TimeNs now_ns) {
  if (const auto left_out = limit_.ask(now_ns))
    spdlog::warn("refused peer={} reason=\"{}\" left_out={}", peer.stream().peer(), why, *left_out);
}

}  // namespace weir::node
