#include <weir/base/assert.hpp>
#include <weir/reports/loop_use.hpp>
#include <weir/reports/numbers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace weir::reports {
namespace {

// A full thread still sleeps now and then, when its work comes in bursts.
constexpr double kFull = 0.9;
// Processes that wait for each other's data use less than their share, also where cores are few.
constexpr double kWaitsMuch = 0.25;

constexpr std::array<std::pair<v1::Role, std::string_view>, 4> kRemedies = {{
    {v1::ROLE_READOUT, "give the sources to more readouts"},
    {v1::ROLE_DCM, "add DCMs"},
    {v1::ROLE_WRITER, "add writers"},
    {v1::ROLE_SUPERVISOR, "it has no second one; fewer, larger slices cost it less"},
}};

double cpu_of(const v1::Report& report) { return gauge_of(report, "loop.cpu_s").value_or(0); }
double wait_of(const v1::Report& report) { return gauge_of(report, "loop.wait_s").value_or(0); }

// Returns "98 %", or "61 to 98 %".
template <typename Value>
std::string range(const std::vector<const NodeUse*>& nodes, const Value& value) {
  constexpr double kPercent = 100;
  const auto [least, most] = std::ranges::minmax(nodes, {}, [&](const NodeUse* one) { return value(*one); });
  const std::string low = fmt::format("{:.0f}", kPercent * std::min(1.0, value(*least)));
  const std::string high = fmt::format("{:.0f}", kPercent * std::min(1.0, value(*most)));
  return low == high ? low + " %" : low + " to " + high + " %";
}

std::string names(const std::vector<const NodeUse*>& nodes) {
  constexpr std::size_t kNamesMax = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamesMax); ++i)
    text += (i == 0 ? "" : ", ") + nodes[i]->name;
  if (nodes.size() > kNamesMax) text += fmt::format(" and {} more", nodes.size() - kNamesMax);
  return text;
}

}  // namespace

LoopLimit limit_of(const LoopUse& use) {
  if (use.cpu >= kFull) return LoopLimit::core;
  return use.wait >= kWaitsMuch ? LoopLimit::host : LoopLimit::none;
}

LoopUse loop_use(const v1::Report& report, double seconds) {
  WEIR_ASSERT(seconds > 0);
  return {cpu_of(report) / seconds, wait_of(report) / seconds};
}

void LoopWatch::take(const v1::Report& report) {
  const double cpu_s = cpu_of(report);
  const double wait_s = wait_of(report);
  const bool goes_on = now_ns_ != 0 && report.incarnation() == incarnation_ && report.now_ns() >= now_ns_ &&
                       cpu_s >= cpu_s_ && wait_s >= wait_s_;
  const DurationNs passed = report.now_ns() - now_ns_;
  if (goes_on && passed < kWindow) return;
  lately_.reset();
  if (goes_on) {
    const double seconds = static_cast<double>(passed) / kSecond;
    lately_ = {(cpu_s - cpu_s_) / seconds, (wait_s - wait_s_) / seconds};
  }
  incarnation_ = report.incarnation();
  now_ns_ = report.now_ns();
  cpu_s_ = cpu_s;
  wait_s_ = wait_s;
}

std::vector<std::string> limits(std::span<const NodeUse> nodes) {
  std::vector<std::string> sentences;
  for (const auto& [role, remedy] : kRemedies) {
    std::vector<const NodeUse*> full;
    for (const NodeUse& node : nodes) {
      if (node.role == role && limit_of(node.use) == LoopLimit::core) full.push_back(&node);
    }
    if (full.empty()) continue;
    sentences.push_back(fmt::format("{}: {} of a core used, which is all that one process can: {}",
                                    names(full), range(full, [](const NodeUse& one) { return one.use.cpu; }),
                                    remedy));
  }
  std::vector<const NodeUse*> waiting;
  for (const NodeUse& node : nodes) {
    if (limit_of(node.use) == LoopLimit::host) waiting.push_back(&node);
  }
  if (!waiting.empty()) {
    sentences.push_back(
        fmt::format("{}: no free core for {} of the time: the host has too few, move processes to others",
                    names(waiting), range(waiting, [](const NodeUse& one) { return one.use.wait; })));
  }
  return sentences;
}

}  // namespace weir::reports
