#include "members.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/setup.hpp>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

namespace weir::run_control {
namespace {

constexpr std::size_t kHostBytesMax = 255;
constexpr std::size_t kAfterBytesMax = 300;

bool is_wildcard(const std::string& host) { return host == "0.0.0.0" || host == "::" || host == "[::]"; }

// An endpoint as others reach it.
std::string reachable(const std::string& endpoint, const std::string& address) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == endpoint.npos || !is_wildcard(endpoint.substr(0, colon)) || address.empty()) return endpoint;
  return address + endpoint.substr(colon);
}

}  // namespace

std::string began(std::uint32_t pid) {
  constexpr int kStart = 20;  // word after the name, which may contain any character
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  const std::size_t name_end = line.rfind(')');
  std::istringstream words(name_end == line.npos ? std::string() : line.substr(name_end + 1));
  std::string word;
  for (int i = 1; i <= kStart && words >> word; ++i) {
    if (i == 1 && (word == "Z" || word == "X")) return "-";
  }
  return word;
}

bool is_dead(const Process& process) {
  if (process.pid == 0 || process.pid_space.empty() || process.pid_space != node::pid_space()) return false;
  if (::kill(static_cast<pid_t>(process.pid), 0) != 0) return errno == ESRCH;
  return !process.began.empty() && began(process.pid) != process.began;
}

void Members::joined(std::size_t member, const bus::Sender& from, const v1::Join& join) {
  WEIR_ASSERT(member < processes_.size());
  Process& process = processes_[member];
  by_client_.erase(process.client);
  by_client_[from.id] = member;
  WEIR_ASSERT(by_client_.size() <= processes_.size());  // one client a process
  process.client = from.id;
  process.clock = {};
  const bool is_other = process.pid != join.pid() || process.pid_space != join.pid_space();
  process.after = clean_text(join.after(), kAfterBytesMax);
  if (is_other && !process.ended_by.empty()) process.after = std::exchange(process.ended_by, {});
  process.host = clean_text(join.host(), kHostBytesMax);
  process.pid = join.pid();
  process.pid_space = join.pid_space();
  process.began = process.pid_space == node::pid_space() ? began(process.pid) : std::string();
  process.metrics = reachable(join.metrics(), from.address);
  process.software = join.software();
}

std::optional<std::size_t> Members::of(const std::string& client) const {
  const auto found = by_client_.find(client);
  return found == by_client_.end() ? std::nullopt : std::optional(found->second);
}

void Members::is_made_of(std::size_t member, const v1::RunIdentity& identity) {
  WEIR_ASSERT(member < processes_.size());
  v1::RunIdentity now = identity;
  node::take_files(processes_[member].identity, now);
  processes_[member].identity = std::move(now);
}

void Members::has_clock(std::size_t member, UtcNs sent, UtcNs received, TimeNs now) {
  WEIR_ASSERT(member < processes_.size());
  if (sent > 0) processes_[member].clock.take(sent, received, now);
}

void Members::writes_to(std::size_t member, const v1::MemberState& state) {
  WEIR_ASSERT(member < processes_.size());
  processes_[member].places.clear();
  processes_[member].spaces.clear();
  for (const v1::FolderPlace& one : state.places()) {
    processes_[member].places.push_back(
        {one.key(), one.folder(), one.mount(), one.device(), one.unmounted()});
    if (one.total_bytes() > 0)
      processes_[member].spaces[one.folder()] = {one.free_bytes(), one.total_bytes()};
  }
  if (state.out().empty()) return;
  processes_[member].out = state.out();
  processes_[member].out_run = RunNumber(state.run());
}

std::string Members::out(std::size_t member, RunNumber run) const {
  const Process& process = processes_[member];
  return process.out_run == run ? process.out : std::string();
}

void Members::forget_reports() {
  for (Process& process : processes_) process.report.Clear();
}

void Members::supervisor_listens(RunNumber run, const std::string& endpoint, const std::string& address) {
  run_ = run;
  supervisor_ = reachable(endpoint, address);
}

}  // namespace weir::run_control
