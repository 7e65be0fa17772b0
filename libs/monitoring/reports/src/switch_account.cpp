#include <weir/base/figures.hpp>
#include <weir/reports/switch_account.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

namespace weir::reports {
namespace {

using Ring = v1::SwitchAccount::Ring;

// Why a switch drops frames for lack of room; other drops are of frames for which it is not made.
struct Lack {
  std::string_view reason;
  std::string_view remedy;
};
constexpr std::string_view kQueueFull = "queue_full";
constexpr Lack kLacks[] = {
    {kQueueFull, "raise its `packets`, or look at its `rate` and at its DCM"},
    {"receive_full", "give the switch a core of its own, or raise `receive_packets`"},
    {"refused", "look at the links of the switch"},
    {"unspecified", "the log of the switch has the reasons"},
};

std::string reasons_text(const std::map<std::string, std::uint64_t>& drops) {
  std::string text;
  for (const auto& [reason, frames] : drops)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, grouped(frames));
  return text;
}

std::string times(std::uint64_t count) { return counted(count, "time"); }

}  // namespace

std::string switch_line(const v1::SwitchAccount& account) {
  if (account.host().empty()) return "not connected";
  const std::map<std::string, std::uint64_t> drops(account.dropped().begin(), account.dropped().end());
  std::uint64_t dropped = 0;
  for (const auto& [reason, frames] : drops) dropped += frames;
  std::string text = fmt::format("on {}: {} frames received, {} forwarded, {} dropped{}", account.host(),
                                 grouped(account.received()), grouped(account.sent()), grouped(dropped),
                                 drops.empty() ? "" : ": " + reasons_text(drops));
  const auto deepest = std::ranges::max_element(account.rings(), {}, &Ring::waiting_most);
  if (deepest != account.rings().end() && deepest->waiting_most() > 0) {
    text += fmt::format("; deepest ring {}: {} of {} frames", deepest->name(),
                        grouped(deepest->waiting_most()), grouped(deepest->room()));
    if (deepest->waiting_bytes_most() > 0)
      text += ", " + bytes_text(static_cast<double>(deepest->waiting_bytes_most()));
  }
  if (account.tables_changed() > 0) text += "; table changed " + times(account.tables_changed());
  if (account.restarts() > 0) text += "; restarted " + times(account.restarts());
  if (account.silences() > 0) text += "; silent " + times(account.silences());
  return text;
}

std::string switch_loss(const v1::SwitchAccount& account) {
  std::map<std::string, std::uint64_t> drops;
  std::uint64_t lost = 0;
  const Lack* most = nullptr;
  for (const Lack& lack : kLacks) {
    const auto found = account.dropped().find(std::string(lack.reason));
    if (found == account.dropped().end() || found->second == 0) continue;
    if (most == nullptr || found->second > drops[std::string(most->reason)]) most = &lack;
    drops[found->first] = found->second;
    lost += found->second;
  }
  if (most == nullptr) return {};
  std::string where;
  const auto ring = std::ranges::max_element(account.rings(), {}, &Ring::dropped);
  if (drops.contains(std::string(kQueueFull)) && ring != account.rings().end() && ring->dropped() > 0)
    where = ", most for ring " + ring->name();
  return fmt::format("switch {} dropped {} for lack of room: {}{}; {}", account.name(),
                     counted(lost, "frame"), reasons_text(drops), where, most->remedy);
}

void add_switches(const std::vector<v1::SwitchAccount>& switches, v1::RunSummary& summary) {
  for (const v1::SwitchAccount& one : switches) {
    *summary.add_switches() = one;
    if (std::string loss = switch_loss(one); !loss.empty()) {
      summary.add_faults_text(std::move(loss));
      summary.set_faults(true);
    }
  }
}

}  // namespace weir::reports
