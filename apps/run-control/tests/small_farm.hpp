#pragma once

#include "../src/commands.hpp"
#include "../src/parts.hpp"
#include "../src/settings.hpp"
#include <weir/base/scratch_folder.hpp>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control::test {

// A farm of a supervisor, a writer, a readout and a DCM, and the messages to its processes.
struct SmallFarm {
  static std::string write(const std::filesystem::path& folder, const std::string& more) {
    std::string file = folder / "farm.yaml";
    std::ofstream(file) << "farm: small\nrun: {out: '" << folder.string() << "'}\n" << more;
    return file;
  }

  explicit SmallFarm(RunBook::Keeper keeper = RunBook::Keeper::self, const std::string& more = {})
      : file(write(folder.path(), more)),
        setup(file, {}),
        own(own_settings(setup, keeper == RunBook::Keeper::starter)),
        book(folder.path(), keeper),
        machine(own.members, own.deadlines),
        members(machine.members().size()) {}

  [[nodiscard]] std::size_t member(const std::string& name) const { return machine.find(name).value(); }
  // Joins the process with this name.
  void join(const std::string& name, const std::string& state = "idle", const std::string& address = {}) {
    v1::Join join;
    join.set_name(name);
    members.joined(member(name), {"of " + name, address, security::BusRole::node}, join);
    control::MemberState told;
    told.state = control::state_of(state).value();
    machine.joined(member(name), Incarnation(1), told, parts.now_ns, parts.actions);
  }
  void join_all() {
    for (const control::Member& one : machine.members()) join(one.plan.name);
  }
  // The run number `run` is on at this member.
  void runs(const std::string& name, std::uint32_t run) {
    control::MemberState told;
    told.state = control::State::running;
    told.run = RunNumber(run);
    machine.heard(member(name), told, parts.now_ns, parts.actions);
  }
  [[nodiscard]] Orders::Send outbox() {
    return [this](const std::string& to, const v1::BusMessage& message) { sent.emplace_back(to, message); };
  }
  [[nodiscard]] std::string last_line() const { return log.lines().empty() ? "" : log.lines().back().text(); }

  ScratchFolder folder;
  std::string file;
  FarmSetup setup;
  OwnSettings own;
  EventLog log{[](const v1::FarmView::Line&) {}};
  RunBook book;
  control::FarmMachine machine;
  Members members;
  std::vector<std::pair<std::string, v1::BusMessage>> sent;  // by client of the bus
  Orders orders{machine, members, setup, book, outbox()};
  Parts parts{setup, own, log, book, machine, members, orders, {}, kSecond};
};

}  // namespace weir::run_control::test
