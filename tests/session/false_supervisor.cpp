#include "false_supervisor.hpp"

#include <weir/slice_codec/columns.hpp>

#include <algorithm>

namespace weir::session_test {
namespace {

constexpr std::uint16_t kFalseSupervisorPort = 19'000;
constexpr std::size_t kDecidedMax = 20;

}  // namespace

FalseSupervisor::FalseSupervisor(MemoryFarm& farm)
    : farm_(farm), listener_(farm.network(), kFalseSupervisorPort) {
  for (const config::NodePlan& node : farm.plan().nodes) {
    if (node.role != Role::supervisor) nodes_.push_back(node.name);
  }
  for (const std::string& node : nodes_) farm.start(node);
  greeting_.set_version(wire::kVersion);
  greeting_.set_role(v1::ROLE_SUPERVISOR);
  greeting_.set_name("supervisor");
  greeting_.set_farm("session");
}

void FalseSupervisor::act(Random& random, std::uint64_t newest_slice) {
  Surroundings surroundings = around(farm_, newest_slice);
  surroundings.decided.assign(decided_.begin(), decided_.end());
  for (const std::string& node : nodes_) {
    if (!node.starts_with("dcm")) surroundings.ports.push_back(farm_.port_of(node));
  }
  for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
    for (auto& peer : listener_.peers()) {
      listen(*peer);
      std::vector<std::byte> frames;
      append_message(random, surroundings, fitting(Role::supervisor, roles_[peer.get()]), frames);
      peer->send(frames);
      if (random.one_in(100)) peer->leave();
    }
    farm_.turn(1 + static_cast<int>(random.below(12)));
    forget_closed();
  }
}

void FalseSupervisor::say(const v1::Control& message, std::set<Role>& reached) {
  constexpr int kTurnsToConnect = 200;
  for (const std::string& node : nodes_) {
    if (!farm_.node(node).finished()) continue;  // told that the run has ended
    demand(farm_.node(node).failure().empty(), node + ": " + farm_.node(node).failure());
    farm_.stop(node);
    farm_.start(node);
  }
  for (int turn = 0; turn < kTurnsToConnect && roles_.size() < nodes_.size(); ++turn) {
    farm_.turn();
    for (auto& peer : listener_.peers()) listen(*peer);
    forget_closed();
  }
  for (auto& peer : listener_.peers()) {
    listen(*peer);
    if (const auto role = roles_.find(peer.get()); role != roles_.end()) reached.insert(role->second);
    peer->send(message);
  }
  farm_.turn(2);
  forget_closed();
}

void FalseSupervisor::demand_sound() {
  for (auto& peer : listener_.peers()) peer->leave();
  farm_.turn(50);
  forget_closed();
  demand_sound_nodes(farm_);
  for (const std::string& node : nodes_) {
    if (node.starts_with("dcm")) continue;
    RawPeer client;
    client.connect(farm_.network(), farm_.port_of(node));
    v1::Hello hello = greeting_;
    hello.set_role(v1::ROLE_DCM);
    hello.set_name("dcm-0");
    client.send(wire::FrameType::hello, hello);
    farm_.turn(5);
    demand(!client.take_frames().empty() && !client.closed(), node + " takes no connection any more");
    client.leave();
    farm_.turn();
  }
}

std::uint64_t FalseSupervisor::counter(const std::string& node, const std::string& name) const {
  const auto found = highest_.find({node, name});
  return found == highest_.end() ? 0 : found->second;
}

void FalseSupervisor::listen(RawPeer& peer) {
  for (const RawPeer::Frame& frame : peer.take_frames()) {
    const int size = static_cast<int>(frame.payload.size());
    if (frame.header.type == wire::FrameType::hello) {
      v1::Hello theirs;
      (void)theirs.ParseFromArray(frame.payload.data(), size);
      roles_[&peer] = static_cast<Role>(theirs.role());
      peer.send(wire::FrameType::hello, greeting_);
    }
    v1::Control message;
    if (frame.header.type != wire::FrameType::control || !message.ParseFromArray(frame.payload.data(), size))
      continue;
    for (const auto& [name, count] : message.report().counters()) {
      std::uint64_t& highest = highest_[{message.report().name(), name}];
      highest = std::max<std::uint64_t>(highest, count);
    }
    for (int row = 0; row < message.decide().slice_size(); ++row) {
      decided_.push_back(
          {message.decide().slice(row), slice_codec::at_or_zero(message.decide().attempt(), row)});
      if (decided_.size() > kDecidedMax) decided_.pop_front();
    }
  }
}

void FalseSupervisor::forget_closed() {
  for (const auto& peer : listener_.peers()) {
    if (peer->closed()) roles_.erase(peer.get());
  }
  listener_.forget_closed();
}

}  // namespace weir::session_test
