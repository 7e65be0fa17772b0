#pragma once

#include <weir/assembly/assembler.hpp>
#include <weir/base/role.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/wire/frame_parser.hpp>

#include <memory>
#include <string>

// Shared by the DCM's connections to readouts, writers and other DCMs.
namespace weir::dcm {

struct LinkSettings {
  sessions::PeerInfo self;  // this DCM's description in hellos
  sessions::PeerLimits limits;
  DurationNs reconnect_ns;
  DurationNs silence_ns;  // a node that does not answer for this long is lost
};

// The connecting side of a link.
struct LinkEnd {
  const sessions::PeerInfo& self;
  sessions::PeerHandler& handler;
  const sessions::PeerLimits& limits;
  sessions::PeerCounters& counters;
  DurationNs retry_ns;
  DurationNs patience_ns = 0;  // as Connector::set_patience()
};

// Connects to the node at this address, or redirects the link if it exists. The link's tag is the index.
inline void link_to(std::unique_ptr<sessions::Connector>& link, Role role, NodeIndex index,
                    const ports::Endpoint& at, const LinkEnd& end) {
  if (link) return link->redirect(at);
  link = std::make_unique<sessions::Connector>(end.self, end.handler, end.limits, end.counters, at,
                                               end.retry_ns);
  link->tag = index.value;
  link->expect(role, index);
  link->set_patience(end.patience_ns);
}

// Returns an empty string, or why a peer with another role is refused.
[[nodiscard]] inline std::string refusal_unless(Role role, const sessions::PeerInfo& info) {
  if (info.role == role) return {};
  return "'" + info.name + "' is a " + std::string(name(info.role)) + ", not a " + std::string(name(role));
}

// Returns the place for the payload of a fragment that the assembler has begun to receive.
[[nodiscard]] inline wire::PayloadPlace place_of(const assembly::Reception& reception) {
  if (reception.slice == nullptr) return {wire::PayloadPlace::Kind::discard, nullptr};
  return {wire::PayloadPlace::Kind::place, reception.target};
}

}  // namespace weir::dcm
