#include "impostor.hpp"

#include <weir/wire/batch.hpp>

#include <malloc.h>

#include <algorithm>
#include <stdexcept>

namespace weir::session_test {
namespace {

constexpr std::uint16_t kImpostorPort = 30'000;
constexpr int kTurnsToEnd = 80'000;  // in ms: the time to drain, and the time for a lost writer with copies
constexpr int kTurnsToStore = 3000;
constexpr std::size_t kOthersMax = 6;

std::size_t allocated() { return mallinfo2().uordblks; }

}  // namespace

void demand(bool holds, const std::string& otherwise) {
  if (!holds) throw std::runtime_error(otherwise);
}

Surroundings around(const MemoryFarm& farm, std::uint64_t newest_slice) {
  Surroundings surroundings;
  surroundings.farm = "session";
  surroundings.run = farm.file().run().number();
  surroundings.newest_slice = newest_slice;
  return surroundings;
}

std::span<const MessageKind> fitting(Role from, Role to) {
  static constexpr MessageKind kOfDcm[] = {MessageKind::decide, MessageKind::decide, MessageKind::report,
                                           MessageKind::throttle, MessageKind::begun};
  static constexpr MessageKind kOfWriter[] = {MessageKind::stored, MessageKind::report,
                                              MessageKind::throttle};
  static constexpr MessageKind kOfReadout[] = {MessageKind::report, MessageKind::throttle,
                                               MessageKind::begun};
  static constexpr MessageKind kOfControl[] = {MessageKind::command, MessageKind::command,
                                               MessageKind::trigger};
  static constexpr MessageKind kDcmToReadout[] = {MessageKind::request, MessageKind::request,
                                                  MessageKind::cancel};
  static constexpr MessageKind kDcmToWriter[] = {MessageKind::space, MessageKind::data};
  static constexpr MessageKind kReadoutToDcm[] = {MessageKind::fragment, MessageKind::block};
  static constexpr MessageKind kWriterToDcm[] = {MessageKind::grant, MessageKind::stored,
                                                 MessageKind::refused};
  static constexpr MessageKind kToReadout[] = {MessageKind::announce, MessageKind::clear,
                                               MessageKind::begin_run};
  static constexpr MessageKind kToDcm[] = {MessageKind::assign,     MessageKind::assign,
                                           MessageKind::confirm,    MessageKind::directory,
                                           MessageKind::port_share, MessageKind::begin_run};
  static constexpr MessageKind kToWriter[] = {MessageKind::settled, MessageKind::begin_run};
  if (to == Role::supervisor) {
    if (from == Role::control) return kOfControl;
    if (from == Role::dcm) return kOfDcm;
    return from == Role::writer ? std::span<const MessageKind>(kOfWriter) : kOfReadout;
  }
  if (from == Role::supervisor) {
    if (to == Role::dcm) return kToDcm;
    return to == Role::writer ? std::span<const MessageKind>(kToWriter) : kToReadout;
  }
  if (from == Role::dcm)
    return to == Role::writer ? std::span<const MessageKind>(kDcmToWriter) : kDcmToReadout;
  return from == Role::writer ? std::span<const MessageKind>(kWriterToDcm) : kReadoutToDcm;
}

// ---- Watcher

Watcher::Watcher(MemoryFarm& farm) : farm_(farm) {
  peer_.connect(farm.network(), farm.port_of("supervisor"));
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_CONTROL);
  hello.set_name("watcher");
  hello.set_farm("session");
  peer_.send(wire::FrameType::hello, hello);
}

void Watcher::listen() {
  for (const RawPeer::Frame& frame : peer_.take_frames()) {
    if (frame.header.type != wire::FrameType::control) continue;
    v1::Control message;
    demand(message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())),
           "the supervisor sent an invalid message");
    if (message.has_summary()) summary = message.summary();
    if (message.has_status()) status = message.status();
  }
}

void Watcher::command(v1::Command::Kind kind) {
  v1::Control message;
  message.mutable_command()->set_kind(kind);
  peer_.send(message);
}

std::uint64_t Watcher::counter(const std::string& node, const std::string& name) const {
  for (const v1::Report& report : status.nodes()) {
    if (report.name() != node) continue;
    const auto found = report.counters().find(name);
    if (found != report.counters().end()) return found->second;
  }
  return 0;
}

std::uint64_t Watcher::counters(const std::string& node, const std::string& prefix) const {
  std::uint64_t sum = 0;
  for (const v1::Report& report : status.nodes()) {
    if (report.name() != node) continue;
    for (const auto& [name, value] : report.counters()) sum += name.starts_with(prefix) ? value : 0;
  }
  return sum;
}

void demand_progress(MemoryFarm& farm, Watcher& watcher) {
  const auto has_begun = [&] { return watcher.counter("supervisor", "triggered") > 0; };
  for (int i = 0; i < kTurnsToStore && !has_begun(); ++i) {
    farm.turn();
    watcher.listen();
  }
  demand(has_begun(), "nothing is triggered");
  const std::uint64_t before = farm.bytes_stored();
  for (int i = 0; i < kTurnsToStore && farm.bytes_stored() == before; ++i) {
    farm.turn();
    watcher.listen();
  }
  demand(farm.bytes_stored() > before, "nothing is stored any more");
}

void end_run(MemoryFarm& farm, Watcher& watcher) {
  watcher.stop_run();
  for (int i = 0; i < kTurnsToEnd && watcher.summary.duration_ns() == 0; ++i) {
    farm.turn();
    watcher.listen();
  }
  demand(watcher.summary.equations_size() > 0, "the run does not end");
  for (const v1::RunSummary::Equation& equation : watcher.summary.equations()) {
    const bool own = equation.name().starts_with("triggers:") ||
                     equation.name().starts_with("slices: triggered") ||
                     equation.name().starts_with("slices: none left open");
    demand(!own || equation.good(),
           "the ledger does not hold: " + equation.name() + "\n" + watcher.summary.ledger_text());
  }
}

void demand_sound_nodes(MemoryFarm& farm, bool all_honest) {
  for (const config::NodePlan& node : farm.plan().nodes) {
    if (!farm.runs(node.name) || (!all_honest && node.role == Role::supervisor)) continue;
    demand(farm.node(node.name).failure().empty(), node.name + ": " + farm.node(node.name).failure());
    const std::string broken = farm.node(node.name).broken_invariant();
    demand(broken.empty(), node.name + ": " + broken);
  }
}

Growth::Growth(const MemoryFarm& farm) : farm_(farm), allocated_(allocated()), stored_(farm.bytes_stored()) {}

std::size_t Growth::bytes() const {
  const std::size_t allowed = allocated_ + 2 * (farm_.bytes_stored() - stored_);
  return std::max(allowed, allocated()) - allowed;
}

// ---- Impostor

Impostor::Impostor(MemoryFarm& farm, Role role, std::uint16_t index) : farm_(farm), role_(role) {
  hello_.set_version(wire::kVersion);
  hello_.set_role(static_cast<v1::Role>(role));
  hello_.set_name(std::string(name(role)) + "-" + std::to_string(index));
  hello_.set_index(index);
  hello_.set_farm("session");
  hello_.set_run(farm.file().run().number());
  hello_.set_credits(4);
  hello_.set_listen_host("memory");
  hello_.set_listen_port(kImpostorPort);
  if (role == Role::readout || role == Role::writer) listener_.emplace(farm.network(), kImpostorPort);
  if (role != Role::dcm) return;
  for (const config::NodePlan& node : farm.plan().nodes) {
    if (node.role == Role::readout || node.role == Role::writer) others_.push_back(node.name);
  }
}

void Impostor::come() {
  if (supervisor_ && !supervisor_->closed()) return;
  hello_.set_incarnation(++incarnation_);
  supervisor_ = connect("supervisor");
}

void Impostor::begin() {
  if (role_ == Role::writer) return;
  v1::Control message;
  (void)message.mutable_begun();
  supervisor_->send(message);
}

void Impostor::leave() {
  if (supervisor_) supervisor_->leave();
  for (auto& other : to_others_) other.peer->leave();
  to_others_.clear();
  if (!listener_) return;
  for (auto& peer : listener_->peers()) peer->leave();
}

void Impostor::act(Random& random) {
  come();
  if (!others_.empty() && random.one_in(3)) {
    const std::string& node = others_[random.below(others_.size())];
    const bool writer = node.starts_with("writer");
    to_others_.push_back({connect(node), writer ? Role::writer : Role::readout});
    if (to_others_.size() > kOthersMax) to_others_.erase(to_others_.begin());
  }
  listen(*supervisor_);
  const Surroundings surroundings = around(farm_, newest_);
  for (std::uint64_t n = random.below(4); n > 0; --n)
    send(*supervisor_, random, surroundings, Role::supervisor);
  for (auto& [peer, role] : to_others_) {
    listen(*peer);
    send(*peer, random, surroundings, role);
  }
  if (!listener_) return;
  for (auto& peer : listener_->peers()) {
    if (listen(*peer)) peer->send(wire::FrameType::hello, hello_);
    for (std::uint64_t n = random.below(4); n > 0; --n) send(*peer, random, surroundings, Role::dcm);
  }
  listener_->forget_closed();
}

void Impostor::say(const v1::Control& message, std::set<Role>& reached) {
  constexpr int kTurnsToConnect = 20;  // more than network.reconnect_ms of the farms
  come();
  if (to_others_.empty()) {
    for (const std::string& node : others_)
      to_others_.push_back({connect(node), node.starts_with("writer") ? Role::writer : Role::readout});
  }
  farm_.turn(2);
  for (int turn = 0; listener_ && turn < kTurnsToConnect && listener_->peers().empty(); ++turn) farm_.turn();
  listen(*supervisor_);
  if (!supervisor_->closed()) reached.insert(Role::supervisor);
  supervisor_->send(message);
  for (auto& [peer, role] : to_others_) {
    listen(*peer);
    if (!peer->closed()) reached.insert(role);
    peer->send(message);
  }
  std::erase_if(to_others_, [](const Other& other) { return other.peer->closed(); });
  if (listener_) {
    for (auto& peer : listener_->peers()) {
      if (listen(*peer)) peer->send(wire::FrameType::hello, hello_);
      if (!peer->closed()) reached.insert(Role::dcm);
      peer->send(message);
    }
    listener_->forget_closed();
  }
  farm_.turn(2);
}

std::unique_ptr<RawPeer> Impostor::connect(const std::string& node) {
  auto peer = std::make_unique<RawPeer>();
  peer->connect(farm_.network(), farm_.port_of(node));
  peer->send(wire::FrameType::hello, hello_);
  return peer;
}

bool Impostor::listen(RawPeer& peer) {
  bool greeted = false;
  for (const RawPeer::Frame& frame : peer.take_frames()) {
    greeted = greeted || frame.header.type == wire::FrameType::hello;
    v1::Control message;
    if (frame.header.type != wire::FrameType::control) continue;
    if (!message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()))) continue;
    for (const std::uint64_t slice : message.assign().slice()) newest_ = std::max(newest_, slice);
    for (const std::uint64_t slice : message.announce().slice()) newest_ = std::max(newest_, slice);
  }
  return greeted;
}

void Impostor::send(RawPeer& peer, Random& random, const Surroundings& surroundings, Role to) {
  std::vector<std::byte> frames;
  append_message(random, surroundings, fitting(role_, to), frames);
  peer.send(frames);
  if (random.one_in(40)) peer.leave();
}

}  // namespace weir::session_test
