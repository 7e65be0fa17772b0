#include "orders.hpp"

#include <weir/base/assert.hpp>
#include <weir/node/identity.hpp>

#include <utility>

namespace weir::run_control {

void Orders::send(const control::Order& order) const {
  v1::BusMessage message;
  v1::Order& sent = *message.mutable_order();
  sent.set_id(order.id);
  sent.set_command(std::string(control::name(order.command)));
  sent.set_run(order.run.value);
  sent.set_epoch(order.epoch);
  sent.set_reason(order.reason);
  sent.set_limit_ms(static_cast<std::uint64_t>(order.limit_ns / kMillisecond));
  if (order.command == control::Command::configure) {
    *sent.mutable_farm() = setup_.configured();
    for (const std::string& one : setup_.configured_sets()) sent.add_sets(one);
    // A process that would run other files than the run is refused before it tries them.
    if (machine_.remembered().run_open) *sent.mutable_identity() = node::without_files(book_.identity());
  }
  if (order.command == control::Command::start) {
    sent.set_claim(book_.claim_of(order.run));
    *sent.mutable_identity() = node::without_files(book_.identity());
    sent.set_out(members_.out(order.member, order.run));
    for (const std::string& one : setup_.run_sets()) sent.add_sets(one);
    const std::string supervisor = members_.supervisor(order.run);
    if (machine_.members()[order.member].plan.role == Role::supervisor) {
      sent.set_listen(supervisor);  // where it was in this run, its nodes look for it
      for (const std::string& one : order.absent) sent.add_absent(one);
    } else {
      sent.set_supervisor(supervisor);
    }
  }
  WEIR_ASSERT(order.member < members_.size());
  send_(members_[order.member].client, message);
}

void Orders::tell(std::size_t member, v1::Order order) {
  WEIR_ASSERT(member < members_.size());
  v1::BusMessage message;
  order.set_id(kFirst + ++told_);
  *message.mutable_order() = std::move(order);
  send_(members_[member].client, message);
}

void Orders::tell_supervisor(const v1::Command& command) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    WEIR_ASSERT(machine_.members().size() == members_.size());
    const control::Member& member = machine_.members()[i];
    if (member.plan.role != Role::supervisor || !member.live || !member.told.in_run()) continue;
    v1::Order order;
    *order.mutable_tell() = command;
    tell(i, std::move(order));
  }
}

void Orders::tell_who_is_out() {
  v1::Command command;
  command.set_kind(v1::Command::DRAIN);
  for (const control::Member& member : machine_.members()) {
    if (member.removed && member.live) command.add_nodes(member.plan.name);
  }
  if (command.nodes_size() > 0) tell_supervisor(command);
}

}  // namespace weir::run_control
