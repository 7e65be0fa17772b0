#include <weir/page/state.hpp>
#include <weir/v1/control.pb.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::page {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"trace", "debug", "info", "warning", "error"};

}  // namespace

std::string_view name(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }
std::optional<LogLevel> log_level(std::string_view text) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), text);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevels.begin());
}

RunEntry run_entry(const v1::RunSummary& summary) {
  const auto& counters = summary.counters();
  const auto count = [&](const char* key) {
    const auto found = counters.find(key);
    return found == counters.end() ? 0 : found->second;
  };
  RunEntry entry;
  entry.number = summary.run();
  entry.begin_utc_ns = summary.begin_utc_ns();
  entry.duration_ns = summary.duration_ns();
  entry.triggered = count("triggered");
  entry.stored = count("stored");
  entry.rejected = count("rejected");
  for (const auto& [key, value] : counters) {
    if (key.starts_with("discarded.")) entry.discarded += value;
  }
  entry.balanced = summary.balanced();
  entry.faults = summary.faults();
  entry.reason = summary.reason();
  return entry;
}

std::vector<LedgerLine> ledger_lines(const v1::RunSummary& summary) {
  std::vector<LedgerLine> lines;
  for (const auto& equation : summary.equations()) {
    // "600 #1234": how many, and the sum over the ids.
    const std::string left = equation.left().substr(0, equation.left().find(" #"));
    const std::string right = equation.right().substr(0, equation.right().find(" #"));
    const bool hashed = left != equation.left() && right != equation.right();
    std::string note = equation.note();
    if (hashed) {
      note += note.empty() ? "" : "; ";
      note += equation.left() == equation.right() ? "same ids" : left == right ? "not the same ids" : "";
    }
    lines.push_back({equation.name(), left, right, equation.good(), note});
  }
  return lines;
}

}  // namespace weir::page
