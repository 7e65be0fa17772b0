#include <weir/page/state.hpp>
#include <weir/v1/control.pb.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::page {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"trace", "debug", "info", "warning", "error"};

}  // namespace

static_assert(kLevels.size() == static_cast<std::size_t>(LogLevel::error) + 1);
std::string_view name(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }
std::optional<LogLevel> log_level(std::string_view text) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), text);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevels.begin());
}

std::vector<LedgerLine> ledger_lines(const v1::RunSummary& summary) {
  std::vector<LedgerLine> lines;
  for (const auto& equation : summary.equations()) {
    // The side "600 #1234" has the number of ids and the sum over their hashes.
    const std::string left = equation.left().substr(0, equation.left().find(" #"));
    const std::string right = equation.right().substr(0, equation.right().find(" #"));
    const bool hashed = left != equation.left() && right != equation.right();
    std::string note = equation.note();
    if (hashed) {
      note += note.empty() ? "" : "; ";
      note += equation.left() == equation.right() ? "same ids" : left == right ? "different ids" : "";
    }
    lines.push_back({equation.name(), left, right, equation.good(), note});
  }
  return lines;
}

}  // namespace weir::page
