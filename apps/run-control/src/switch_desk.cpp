#include "switch_desk.hpp"

#include <weir/base/bytes.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/reports/clean_texts.hpp>
#include <weir/reports/switch_account.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::run_control {
namespace {

constexpr int kRingsMax = 4096;  // of a report
constexpr std::size_t kReasonsMax = 32;
constexpr DurationNs kDropsShown = 60 * kSecond;

std::string digest_of(const std::string& text) {
  return fmt::format("{:08x}-{}", crc32c({reinterpret_cast<const std::byte*>(text.data()), text.size()}),
                     text.size());
}

// Limits the lists of a report, and cleans its texts.
v1::SwitchReport bounded(v1::SwitchReport report) {
  if (report.dropped().size() > kReasonsMax) report.clear_dropped();
  auto& rings = *report.mutable_rings();
  if (rings.size() > kRingsMax) rings.DeleteSubrange(kRingsMax, rings.size() - kRingsMax);
  reports::clean_texts(report);
  return report;
}

}  // namespace

v1::SwitchTable SwitchDesk::take(const std::string& client, const v1::SwitchReport& report, TimeNs now_ns) {
  v1::SwitchTable answer;
  const auto& all = setup_.switches();
  const auto own = std::ranges::find(all, report.name(), &config::FarmSwitch::name);
  if (own == all.end()) {
    answer.set_refused("control.switches has no file with this name");
    return answer;
  }
  Heard& heard = heard_[report.name()];
  const bool is_live = now_ns - heard.at_ns <= silence_ns_;
  if (is_live && report.started_ns() < heard.report.started_ns()) {
    heard.other_at_ns = now_ns;
    heard.other_host = report.host();
    answer.set_refused("another weir-switch with this name has started on " + heard.report.host());
    return answer;
  }
  const std::uint64_t lost = report.started_ns() == heard.report.started_ns() ? heard.report.lost() : 0;
  if (report.lost() > lost) heard.dropped_ns = now_ns;
  heard.client = client;
  heard.report = bounded(report);
  heard.at_ns = now_ns;
  accounts_.take(heard.report);
  answer.set_digest(digest_of(own->text));
  if (accounts_.is_on()) answer.set_run(accounts_.run().value);
  if (report.digest() == answer.digest()) return answer;
  answer.set_file(own->path);
  answer.set_text(own->text);
  return answer;
}

std::vector<std::pair<std::string, v1::SwitchTable>> SwitchDesk::begin(RunNumber run, UtcNs begin_utc,
                                                                       TimeNs now_ns) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, v1::SwitchTable>> messages;
  for (const config::FarmSwitch& own : setup_.switches()) {
    names.push_back(own.name);
    const auto heard = heard_.find(own.name);
    if (heard == heard_.end()) continue;
    heard->second.dropped_ns = -1;
    if (now_ns - heard->second.at_ns > silence_ns_) continue;
    v1::SwitchTable& message = messages.emplace_back(heard->second.client, v1::SwitchTable()).second;
    message.set_digest(digest_of(own.text));
    message.set_run(run.value);
  }
  accounts_.begin(run, begin_utc, names);
  return messages;
}

void SwitchDesk::look(TimeNs now_ns) {
  for (const config::FarmSwitch& own : setup_.switches()) {
    const auto heard = heard_.find(own.name);
    const TimeNs at_ns = heard == heard_.end() ? begin_ns_ : heard->second.at_ns;
    if (now_ns - at_ns > silence_ns_) accounts_.silent(own.name);
  }
}

// True if it has dropped frames lately, in the run that is on.
bool SwitchDesk::drops(const std::string& name, TimeNs now_ns) const {
  const auto heard = heard_.find(name);
  return accounts_.is_on() && heard != heard_.end() && heard->second.dropped_ns >= 0 &&
         now_ns - heard->second.dropped_ns <= kDropsShown;
}

std::string SwitchDesk::problem_of(const std::string& name, TimeNs now_ns) const {
  const auto at = heard_.find(name);
  if (at == heard_.end())
    return now_ns - begin_ns_ > silence_ns_ ? "has not connected: start `weir-switch --control`" : "";
  const Heard& heard = at->second;
  if (now_ns - heard.at_ns > silence_ns_) return "is silent";
  if (heard.other_at_ns >= 0 && now_ns - heard.other_at_ns <= silence_ns_)
    return fmt::format("runs twice, on {} and {}: give each process its own name", heard.report.host(),
                       heard.other_host);
  return heard.report.refused().empty() ? "" : "does not use its table: " + heard.report.refused();
}

std::vector<control::Finding> SwitchDesk::findings(TimeNs now_ns) const {
  std::vector<control::Finding> findings;
  for (const config::FarmSwitch& own : setup_.switches()) {
    const std::string problem = problem_of(own.name, now_ns);
    if (!problem.empty())
      findings.push_back(
          {control::Gravity::warning, "switch", fmt::format("switch {} {}", own.name, problem)});
    if (drops(own.name, now_ns)) {
      const std::string loss = reports::switch_loss(accounts_.account(own.name));
      if (!loss.empty()) findings.push_back({control::Gravity::warning, "switch", loss});
    }
  }
  return findings;
}

void SwitchDesk::add_to(v1::FarmView& view, TimeNs now_ns) const {
  for (const config::FarmSwitch& own : setup_.switches()) {
    v1::FarmView::SwitchState& state = *view.add_switches();
    state.mutable_report()->set_name(own.name);
    state.set_silent_ns(-1);
    state.set_problem(problem_of(own.name, now_ns));
    const auto heard = heard_.find(own.name);
    if (heard == heard_.end()) continue;
    *state.mutable_report() = heard->second.report;
    state.set_silent_ns(now_ns - heard->second.at_ns);
  }
}

void SwitchDesk::add_to(std::map<std::string, double>& values, TimeNs now_ns) const {
  for (const auto& [name, heard] : heard_) {
    if (now_ns - heard.at_ns > silence_ns_) continue;
    for (const v1::SwitchReport::Ring& ring : heard.report.rings())
      values[fmt::format("switch/{}/{}/waiting_frames", name, ring.name())] =
          static_cast<double>(ring.waiting());
  }
}

}  // namespace weir::run_control
