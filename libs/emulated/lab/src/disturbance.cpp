#include "units.hpp"
#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/lab/disturbance.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::lab {
namespace {

const PauseReport* report_of(const std::vector<PauseReport>& reports, const std::string& host) {
  const auto found = std::find_if(reports.begin(), reports.end(),
                                  [&](const PauseReport& report) { return report.host == host; });
  return found == reports.end() ? nullptr : &*found;
}

}  // namespace

Expected<Disturbance, std::string> Disturbance::open(const LabPlan& plan) {
  Disturbance made;
  const bool shares = std::any_of(plan.hosts.begin(), plan.hosts.end(),
                                  [](const LabHost& host) { return host.cpu_share > 0; });
  if (shares) {
    auto groups = CpuShares::open(plan);
    if (groups) {
      made.shares_ = std::move(*groups);
    } else {
      made.no_groups_ = groups.error();
    }
  }
  for (const LabHost& host : plan.hosts) {
    for (const std::string& node : host.nodes) made.hosts_[node] = host.name;
    const Rhythm share = made.shares_ ? Rhythm{} : rhythm_of_share(host.cpu_share);
    if (host.pause.every_ns > 0 || share.every_ns > 0)
      made.pauses_.add_host(host.name, {host.pause.every_ns, host.pause.for_ns}, share);
  }
  auto load = Load::start(plan.cpu_load);
  if (!load) return Unexpected<std::string>(load.error());
  made.load_ = std::move(*load);
  made.spinners_ = plan.cpu_load;
  return made;
}

std::string Disturbance::introduction() const {
  std::string text;
  if (spinners_ > 0)
    text = fmt::format("beside {} spinner{} that only compute{}", spinners_, spinners_ == 1 ? "" : "s",
                       spinners_ == 1 ? "s" : "");
  if (!no_groups_.empty()) {
    text += fmt::format(
        "{}hosts with a share of a core are stopped for the rest of it, as no control group can be made: {}",
        text.empty() ? "" : "; ", no_groups_);
  }
  return text;
}

void Disturbance::started(const std::string& node, pid_t pid) {
  const auto host = hosts_.find(node);
  if (host == hosts_.end()) return;
  if (shares_) shares_->add_process(host->second, pid);
  pauses_.add_process(host->second, pid);
}

void Disturbance::begun(DurationNs ago_ns) {
  if (over_) return;
  began_ns_ = monotonic_now_ns() - ago_ns;
  pauses_.start(ago_ns);
}

std::vector<PortChange> Disturbance::pass(const LabPlan& plan, const LabNetwork& network) {
  std::vector<PortChange> made;
  while (began_ns_ && next_ < plan.changes.size()) {
    const PortChange& change = plan.changes[next_];
    const DurationNs elapsed = monotonic_now_ns() - *began_ns_;
    if (elapsed < change.at_ns) break;
    ++next_;
    reports::AppliedChange& applied = applied_.emplace_back();
    applied = {
        plan.ports[change.port].name, seconds(elapsed), change.rate_bits_per_s, change.buffer_bytes, {}};
    if (const auto done = network.change(plan, change); !done) {
      applied.failure = done.error();
    } else {
      made.push_back(change);
    }
  }
  return made;
}

std::optional<bool> Disturbance::line_change(const LabPlan& plan) {
  if (!began_ns_ || plan.outages.empty()) return std::nullopt;
  const DurationNs elapsed = monotonic_now_ns() - *began_ns_;
  const bool down = plan.line_is_down(elapsed);
  if (down == line_down_) return std::nullopt;
  line_down_ = down;
  if (down) {
    outages_.push_back({seconds(elapsed), 0, {}, {}});
  } else {
    WEIR_ASSERT(!outages_.empty());
    outages_.back().for_s = seconds(elapsed) - outages_.back().at_s;
  }
  return down;
}

// A device that two cuts take down is up again only after both.
void Disturbance::cut(const LabPlan& plan, const LabNetwork& network) {
  if (!began_ns_) return;
  const DurationNs elapsed = monotonic_now_ns() - *began_ns_;
  std::vector<Down> over;
  std::erase_if(down_, [&](const Down& one) {
    const PlaneCut& cut = plan.cuts[one.cut];
    const bool is_over = elapsed >= cut.at_ns + cut.for_ns;
    if (is_over) over.push_back(one);
    return is_over;
  });
  const auto is_down = [&](const std::string& device) {
    return std::any_of(down_.begin(), down_.end(), [&](const Down& one) {
      const auto& devices = plan.cuts[one.cut].devices;
      return std::find(devices.begin(), devices.end(), device) != devices.end();
    });
  };
  for (const Down& one : over) {
    PlaneCut ends = plan.cuts[one.cut];
    std::erase_if(ends.devices, is_down);
    reports::AppliedOutage& applied = cuts_[one.applied];
    applied.for_s = seconds(elapsed) - applied.at_s;
    if (const auto done = network.set_cut(ends, false); !done) applied.failure = done.error();
  }
  while (next_cut_ < plan.cuts.size() && elapsed >= plan.cuts[next_cut_].at_ns) {
    const PlaneCut& begins = plan.cuts[next_cut_];
    down_.push_back({next_cut_++, cuts_.size()});
    cuts_.push_back({seconds(elapsed), 0, {}, begins.what});
    if (const auto done = network.set_cut(begins, true); !done) cuts_.back().failure = done.error();
  }
}

void Disturbance::ends() {
  over_ = true;
  pauses_.stop();
}

std::vector<reports::DisturbedHost> Disturbance::hosts(const LabPlan& plan,
                                                       const std::vector<std::uint64_t>& lost) const {
  const auto pauses = pauses_.reports();
  std::vector<reports::DisturbedHost> hosts;
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    const LabHost& host = plan.hosts[i];
    if (host.pause.every_ns == 0 && host.cpu_share <= 0 && !host.loses_frames()) continue;
    reports::DisturbedHost& told = hosts.emplace_back();
    told.name = host.name;
    told.cpu_share = host.cpu_share;
    told.loss = host.loss;
    told.bit_errors = host.bit_errors;
    told.frames_lost = i < lost.size() ? lost[i] : 0;
    if (const PauseReport* report = report_of(pauses, host.name)) {
      told.pauses = report->pauses;
      told.paused_s = report->paused_s;
      told.held_s = report->held_s;
    }
    if (host.cpu_share > 0) told.cpu_share_by = shares_ ? "cgroup" : "pauses";
    if (shares_) told.held_s = shares_->held_s(host.name);
  }
  return hosts;
}

}  // namespace weir::lab
