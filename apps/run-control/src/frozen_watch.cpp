#include "frozen_watch.hpp"

#include "signals.hpp"
#include <weir/base/assert.hpp>
#include <weir/node/setup.hpp>

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <unistd.h>

namespace weir::run_control {
namespace {

// Returns the value after "NAME:", as "T (stopped)"; empty: no such line.
std::string_view value_of(std::string_view status, std::string_view name) {
  for (std::size_t at = 0; at < status.size();) {
    const std::string_view line = status.substr(at, status.find('\n', at) - at);
    at += line.size() + 1;
    if (line.size() <= name.size() || !line.starts_with(name) || line[name.size()] != ':') continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == line.npos ? std::string_view() : line.substr(begin);
  }
  return {};
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

// Nullopt: its process is on another host, or no longer exists.
std::optional<control::ProcessLook> look_at(const Process& process) {
  if (process.pid == 0 || process.pid_space.empty() || process.pid_space != node::pid_space())
    return std::nullopt;
  std::ifstream file("/proc/" + std::to_string(process.pid) + "/status");
  std::ostringstream status;
  status << file.rdbuf();
  if (!file) return std::nullopt;
  return read_status(status.str(), ::getppid());
}

// True if a successor resumes the run: it is started, and finds a journal. One that has been lost has another
// name. In a farm of one run the starter may leave dead processes dead.
bool resumes(const Parts& parts, std::size_t member) {
  const RunNumber run = parts.machine.run();
  const v1::RunSettings& settings = parts.setup.configured().run();
  const bool restarts =
      parts.book.keeper() == RunBook::Keeper::self ||
      (settings.restart() == v1::RunSettings::RESTART_ON_FAILURE && settings.restarts_max() > 0);
  std::string folder = parts.members.out(member, run);
  if (folder.empty()) folder = parts.setup.of_run(run).farm.run().out();
  const std::string journal =
      fmt::format("{}/run-{:06}-{}.journal", folder, run.value, parts.machine.members()[member].plan.name);
  std::error_code error;
  return restarts && std::filesystem::exists(journal, error);
}

}  // namespace

std::optional<control::ProcessLook> read_status(std::string_view status, int starter) {
  control::ProcessLook look;
  const std::string_view state = value_of(status, "State");
  if (state.empty() || state.starts_with('Z') || state.starts_with('X')) return std::nullopt;
  look.same_starter = number_of(value_of(status, "PPid")) == static_cast<std::uint64_t>(starter);
  look.stopped = state.starts_with('T');
  look.traced = number_of(value_of(status, "TracerPid")).value_or(1) != 0;
  look.in_disk = state.starts_with('D');
  // Zero: this system does not count.
  look.waits = number_of(value_of(status, "voluntary_ctxt_switches"));
  if (look.waits == 0U) look.waits.reset();
  return look;
}

void FrozenWatch::look(Parts& parts) {
  if (parts.now_ns < next_look_ns_) return;
  next_look_ns_ = parts.now_ns + kInterval;
  const auto& members = parts.machine.members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].plan.role != Role::supervisor) continue;
    const bool missed = parts.machine.remembered().run_open && !parts.machine.is_ending() &&
                        !members[i].live && members[i].told.in_run();
    const auto process = missed ? look_at(parts.members[i]) : std::nullopt;
    if (!process) return supervisor_.clear();
    supervisor_.look(*process, parts.now_ns - members[i].heard_ns, resumes(parts, i), parts.now_ns);
    if (supervisor_.ends_now()) end(i, parts);
  }
}

void FrozenWatch::end(std::size_t member, Parts& parts) const {
  const std::string& name = parts.machine.members()[member].plan.name;
  const std::string why =
      fmt::format("killed by run control: {}, silent for {} s", control::text_of(freeze().kind),
                  (parts.now_ns - parts.machine.members()[member].heard_ns) / kSecond);
  WEIR_ASSERT(member < parts.members.size());
  const std::uint32_t pid = parts.members[member].pid;
  if (const std::string error = kill_member(member, parts); !error.empty())
    return parts.log.error(fmt::format("{} (process {}) cannot be {}: {}", name, pid, why, error));
  parts.members.was_ended(member, why);
  parts.book.note_operation(fmt::format("{} {}", name, why));
  parts.log.note(
      control::Level::warning,
      fmt::format("{} (process {}) was {}; its successor resumes the run from its journal", name, pid, why));
}

}  // namespace weir::run_control
