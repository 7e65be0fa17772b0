#include "directory.hpp"

#include <weir/node/setup.hpp>

namespace weir::supervisor {

v1::Control directory(const Roster& roster, bool remote) {
  v1::Control message;
  for (const RosterMember& member : roster.members()) {
    if (member.role == Role::dcm && !member.keeps) continue;
    v1::Directory::Node& node = *message.mutable_directory()->add_nodes();
    node.set_role(static_cast<v1::Role>(member.role));
    node.set_index(member.index.value);
    node.set_name(member.name);
    node.set_present(member.peer != nullptr);
    node.set_incarnation(member.incarnation.value);
    if (member.peer == nullptr) continue;
    const ports::Endpoint at = remote && !member.announce.empty() ? node::parse_endpoint(member.announce)
                                                                  : member.peer->info().listen;
    node.set_host(at.host);
    node.set_port(at.port);
    for (const ports::Endpoint& plane : member.peer->info().planes) {
      v1::Address& address = *node.add_planes();
      address.set_host(plane.host);
      address.set_port(plane.port);
    }
  }
  return message;
}

}  // namespace weir::supervisor
