#include "web.hpp"

#include <weir/control/states.hpp>
#include <weir/security/keys.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <climits>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace weir::run_control {
namespace {

constexpr std::size_t kWishesMax = 16;
constexpr std::size_t kTokenBytesMin = 16;  // of one that somebody wrote himself
constexpr std::chrono::seconds kAnswerPatience{5};
constexpr double kNsPerSecond = 1e9;

std::vector<control::Command> commands_of(const v1::FarmView& view, control::State state) {
  if (!view.under_way().empty()) return {control::Command::reset};
  std::vector<control::Command> commands;
  for (const control::Transition& one : control::transitions()) {
    if (one.from == state && one.command != control::Command::off) commands.push_back(one.command);
  }
  return commands;
}

page::Member page_member(const v1::FarmView::Node& node) {
  page::Member member;
  member.name = node.name();
  member.role = node.role();
  member.host = node.host();
  member.pid = node.live() ? node.pid() : 0;
  member.importance = node.duty();
  member.heartbeat_age_s = static_cast<double>(node.silent_ns()) / kNsPerSecond;
  if (node.silent_ns() < 0) member.heartbeat_age_s = -1;
  member.state = node.live() ? node.inactive() ? "inactive" : node.state().state() : "dead";
  member.reason = node.state().reason();
  if (node.excluded()) member.reason = "removed" + (member.reason.empty() ? "" : "; " + member.reason);
  // What a running node says of itself: "throttled: WRITER_DISK_90_PERCENT writer-1".
  const std::string& said = node.report().state();
  const std::size_t colon = said.find(": ");
  if (member.state == "running" && colon != said.npos) {
    member.state = said.substr(0, colon);
    member.reason = said.substr(colon + 2);
  }
  return member;
}

std::vector<control::Finding> health_of(const v1::FarmView& view) {
  std::vector<control::Finding> health;
  for (const v1::FarmView::Finding& one : view.health()) {
    const auto gravity = control::gravity_of(one.gravity()).value_or(control::Gravity::error);
    health.push_back({gravity, one.word(), one.reason()});
  }
  return health;
}

page::RunEntry page_run(const v1::FarmView::Run& run) {
  return {run.run(),      run.begin_utc_ns(), run.duration_ns(), run.triggered(), run.stored(),
          run.rejected(), run.discarded(),    run.balanced(),    run.faults(),    run.reason()};
}

}  // namespace

page::Farm page_farm(const v1::FarmView& view, const v1::RunSummary* last) {
  page::Farm farm;
  farm.name = view.farm();
  farm.state = control::state_of(view.state()).value_or(control::State::error);
  farm.health = health_of(view);
  farm.under_way = control::command_of(view.under_way());
  farm.run = view.run();
  farm.now_utc_ns = view.utc_ns();
  farm.run_begin_utc_ns = view.run_begin_utc_ns();
  farm.commands = commands_of(view, farm.state);
  for (const auto& node : view.nodes()) farm.members.push_back(page_member(node));
  if (last != nullptr) farm.ledger = page::ledger_lines(*last);
  for (int i = view.runs_size(); i-- > 0;) farm.runs.push_back(page_run(view.runs(i)));
  return farm;
}

std::string page_token(const std::string& file) {
  if (!std::filesystem::exists(file)) {
    std::string token;
    for (const std::byte byte : security::make_farm_key("page").secret) token += fmt::format("{:02x}", byte);
    const std::string failure = security::write_new_file(file, token + "\n", true);
    if (!failure.empty()) throw std::runtime_error(failure);
    return token;
  }
  std::ifstream in(file);
  std::string token;
  std::getline(in, token);
  if (token.empty())
    throw std::runtime_error("'" + file + "' holds no token: remove it, and a new one is made");
  if (token.size() < kTokenBytesMin) {
    throw std::runtime_error(
        fmt::format("'{}' holds a token of less than {} characters, which can be guessed: "
                    "remove it, and a new one is made",
                    file, kTokenBytesMin));
  }
  return token;
}

Web::Web(const ports::Endpoint& listen, std::string token, std::vector<std::string> names) {
  page::PageSettings settings;
  settings.listen = listen;
  settings.token = std::move(token);
  settings.names = std::move(names);
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), HOST_NAME_MAX) == 0) settings.names.emplace_back(host.data());
  page_.emplace(settings, [this](const page::Command& command) { return ask(command); });
}

page::CommandAnswer Web::ask(const page::Command& command) {
  Wish wish;
  wish.request.set_command(std::string(control::name(command.kind)));
  for (const auto& [key, value] : command.parameters) {
    if (key == "run" && !value.empty()) {
      std::uint32_t run = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), run);
      if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) {
        return {false, "'" + value + "' is not a run number"};
      }
      wish.request.set_run(run);
    }
    if (key == "slices" && !value.empty()) wish.request.add_sets("run.slices=" + value);
    if (key == "duration_s" && !value.empty()) wish.request.add_sets("run.duration_s=" + value);
    if (key == "set") {
      std::istringstream lines(value);
      for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) wish.request.add_sets(line);
      }
    }
  }
  std::future<std::string> answer = wish.answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (wishes_.size() >= kWishesMax) return {false, "too many commands wait: try again"};
    wishes_.push_back(std::move(wish));
  }
  if (answer.wait_for(kAnswerPatience) != std::future_status::ready) {
    return {false, "run control does not answer: look at its log"};
  }
  const std::string error = answer.get();
  return {error.empty(), error.empty() ? std::string(control::name(command.kind)) + " is under way" : error};
}

void Web::answer(const std::function<std::string(const v1::Request&)>& carry_out) {
  std::deque<Wish> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(wishes_);
  }
  for (Wish& wish : taken) wish.answer.set_value(carry_out(wish.request));
}

void Web::show(const v1::FarmView& view, const v1::RunSummary* last) {
  page::Farm farm = page_farm(view, last);
  for (std::size_t i = 0; i < farm.members.size(); ++i) {
    const v1::Report& report = view.nodes(static_cast<int>(i)).report();
    if (report.name().empty()) continue;
    farm.members[i].report = std::make_shared<const v1::Report>(report);
  }
  page_->update(farm);
}

void Web::log(const std::string& process, const v1::FarmView::Line& line) {
  page::LogLine shown;
  shown.utc_ns = line.utc_ns();
  shown.process = process;
  shown.level = page::log_level(line.level()).value_or(page::LogLevel::info);
  shown.text = line.text();
  page_->log(shown);
}

}  // namespace weir::run_control
