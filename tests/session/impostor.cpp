#include "impostor.hpp"

#include <weir/wire/batch.hpp>

#include <algorithm>
#include <stdexcept>

namespace weir::session_test {
namespace {

constexpr std::uint16_t kImpostorPort = 30'000;
constexpr int kTurnsToEnd =
    80'000;  // of 1 ms: the time to drain, and that of a writer that is away with copies
constexpr int kTurnsToStore = 3000;
constexpr std::size_t kOthersMax = 6;

}  // namespace

void demand(bool holds, const std::string& otherwise) {
  if (!holds) throw std::runtime_error(otherwise);
}

Surroundings around(const Rig& rig, std::uint64_t newest_slice) {
  Surroundings surroundings;
  surroundings.farm = "session";
  surroundings.run = rig.farm().run().number();
  surroundings.newest_slice = newest_slice;
  return surroundings;
}

std::span<const Saying> fitting(Role from, Role to) {
  static constexpr Saying kOfDcm[] = {Saying::decide, Saying::decide, Saying::report, Saying::throttle};
  static constexpr Saying kOfWriter[] = {Saying::stored, Saying::report, Saying::throttle};
  static constexpr Saying kOfReadout[] = {Saying::report, Saying::throttle};
  static constexpr Saying kOfControl[] = {Saying::command, Saying::command, Saying::trigger};
  static constexpr Saying kDcmToReadout[] = {Saying::request, Saying::request, Saying::cancel};
  static constexpr Saying kDcmToWriter[] = {Saying::space, Saying::data};
  static constexpr Saying kReadoutToDcm[] = {Saying::fragment};
  static constexpr Saying kWriterToDcm[] = {Saying::grant, Saying::stored, Saying::refused};
  static constexpr Saying kToReadout[] = {Saying::announce, Saying::clear, Saying::begin_run};
  static constexpr Saying kToDcm[] = {Saying::assign,    Saying::assign,     Saying::confirm,
                                      Saying::directory, Saying::port_share, Saying::begin_run};
  static constexpr Saying kToWriter[] = {Saying::settled, Saying::begin_run};
  if (to == Role::supervisor) {
    if (from == Role::control) return kOfControl;
    if (from == Role::dcm) return kOfDcm;
    return from == Role::writer ? std::span<const Saying>(kOfWriter) : kOfReadout;
  }
  if (from == Role::supervisor) {
    if (to == Role::dcm) return kToDcm;
    return to == Role::writer ? std::span<const Saying>(kToWriter) : kToReadout;
  }
  if (from == Role::dcm) return to == Role::writer ? std::span<const Saying>(kDcmToWriter) : kDcmToReadout;
  return from == Role::writer ? std::span<const Saying>(kWriterToDcm) : kReadoutToDcm;
}

// ---- Watcher

Watcher::Watcher(Rig& rig) : rig_(rig) {
  talker_.connect(rig.network(), rig.port_of("supervisor"));
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_CONTROL);
  hello.set_name("watcher");
  hello.set_farm("session");
  talker_.say(wire::FrameType::hello, hello);
}

void Watcher::listen() {
  for (const Talker::Heard& heard : talker_.take_heard()) {
    if (heard.header.type != wire::FrameType::control) continue;
    v1::Control message;
    demand(message.ParseFromArray(heard.payload.data(), static_cast<int>(heard.payload.size())),
           "the supervisor said what is no message");
    if (message.has_summary()) summary = message.summary();
    if (message.has_status()) status = message.status();
  }
}

void Watcher::command(v1::Command::Kind kind) {
  v1::Control message;
  message.mutable_command()->set_kind(kind);
  talker_.say(message);
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

void demand_progress(Rig& rig, Watcher& watcher) {
  const std::uint64_t before = rig.bytes_stored();
  for (int i = 0; i < kTurnsToStore && rig.bytes_stored() == before; ++i) {
    rig.turn();
    watcher.listen();
  }
  demand(rig.bytes_stored() > before, "nothing is stored any more");
}

void end_run(Rig& rig, Watcher& watcher) {
  watcher.stop_run();
  for (int i = 0; i < kTurnsToEnd && watcher.summary.duration_ns() == 0; ++i) {
    rig.turn();
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

// ---- Impostor

Impostor::Impostor(Rig& rig, Role role, std::uint16_t index) : rig_(rig), role_(role) {
  hello_.set_version(wire::kVersion);
  hello_.set_role(static_cast<v1::Role>(role));
  hello_.set_name(std::string(name(role)) + "-" + std::to_string(index));
  hello_.set_index(index);
  hello_.set_farm("session");
  hello_.set_run(rig.farm().run().number());
  hello_.set_credits(4);
  hello_.set_listen_host("memory");
  hello_.set_listen_port(kImpostorPort);
  if (role == Role::readout || role == Role::writer) door_.emplace(rig.network(), kImpostorPort);
  if (role != Role::dcm) return;
  for (const config::NodePlan& node : rig.plan().nodes) {
    if (node.role == Role::readout || node.role == Role::writer) others_.push_back(node.name);
  }
}

void Impostor::come() {
  if (supervisor_ && !supervisor_->closed()) return;
  hello_.set_incarnation(++incarnation_);
  supervisor_ = connect("supervisor");
}

void Impostor::leave() {
  if (supervisor_) supervisor_->leave();
  for (auto& other : to_others_) other.talker->leave();
  to_others_.clear();
  if (!door_) return;
  for (auto& talker : door_->talkers()) talker->leave();
}

void Impostor::talk(Dice& dice) {
  come();
  if (!others_.empty() && dice.one_in(3)) {
    const std::string& node = others_[dice.below(others_.size())];
    const bool writer = node.starts_with("writer");
    to_others_.push_back({connect(node), writer ? Role::writer : Role::readout});
    if (to_others_.size() > kOthersMax) to_others_.erase(to_others_.begin());
  }
  listen(*supervisor_);
  const Surroundings surroundings = around(rig_, newest_);
  for (std::uint64_t n = dice.below(4); n > 0; --n) say(*supervisor_, dice, surroundings, Role::supervisor);
  for (auto& [talker, role] : to_others_) {
    listen(*talker);
    say(*talker, dice, surroundings, role);
  }
  if (!door_) return;
  for (auto& talker : door_->talkers()) {
    if (listen(*talker)) talker->say(wire::FrameType::hello, hello_);
    for (std::uint64_t n = dice.below(4); n > 0; --n) say(*talker, dice, surroundings, Role::dcm);
  }
  door_->forget_closed();
}

std::unique_ptr<Talker> Impostor::connect(const std::string& node) {
  auto talker = std::make_unique<Talker>();
  talker->connect(rig_.network(), rig_.port_of(node));
  talker->say(wire::FrameType::hello, hello_);
  return talker;
}

bool Impostor::listen(Talker& talker) {
  bool greeted = false;
  for (const Talker::Heard& heard : talker.take_heard()) {
    greeted = greeted || heard.header.type == wire::FrameType::hello;
    v1::Control message;
    if (heard.header.type != wire::FrameType::control) continue;
    if (!message.ParseFromArray(heard.payload.data(), static_cast<int>(heard.payload.size()))) continue;
    for (const std::uint64_t slice : message.assign().slice()) newest_ = std::max(newest_, slice);
    for (const std::uint64_t slice : message.announce().slice()) newest_ = std::max(newest_, slice);
  }
  return greeted;
}

void Impostor::say(Talker& talker, Dice& dice, const Surroundings& surroundings, Role to) {
  std::vector<std::byte> frames;
  append_saying(dice, surroundings, fitting(role_, to), frames);
  talker.say(frames);
  if (dice.one_in(40)) talker.leave();
}

}  // namespace weir::session_test
