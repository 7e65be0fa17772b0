#pragma once

#include "player.hpp"
#include <weir/emit/emit.hpp>
#include <weir/emulation/slip.hpp>
#include <weir/ingest/sources.hpp>
#include <weir/ports/authenticator.hpp>
#include <weir/ports/network.hpp>
#include <weir/transport/loop.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::emit {

struct Target {
  ports::Endpoint at;  // where one readout takes datagrams
  std::vector<SourceId> sources;
  ingest::SourceSettings content;  // content of their packets
};

// The result of the options and the farm file.
struct EmitPlan {
  std::string farm;
  std::vector<Target> targets;
  std::optional<ports::Endpoint> trigger;
  std::shared_ptr<const ports::Authenticator> authenticator;  // with the farm's key, if it has one
  transport::SocketPolicy sockets;                            // of the connection for triggers
  PlayerSettings player;
  std::optional<std::pair<SourceId, emulation::Slip>> slip;
};

// "1-4,7", sorted, each once. Throws std::runtime_error with a sentence, as the next does.
[[nodiscard]] std::vector<SourceId> parse_sources(const std::string& text);
// "3:miss@1000".
[[nodiscard]] std::pair<SourceId, emulation::Slip> parse_slip(const std::string& text);
[[nodiscard]] EmitPlan make_plan(const EmitOptions& options);

}  // namespace weir::emit
