#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/control/soak_plan.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace weir::control {
namespace {

constexpr double kPauseShortestS = 0.1;
constexpr double kPauseLongestS = 2;
constexpr std::uint64_t kResetOneIn = 4;

}  // namespace

SoakPlan::SoakPlan(std::uint64_t seed, const SoakSettings& settings) : settings_(settings), random_(seed) {
  WEIR_ASSERT(settings.run_s > 0 && settings.kill_every_s >= 0 && settings.pause_every_s >= 0);
}

double SoakPlan::fraction() {
  constexpr unsigned kUnused = 11;  // a double has 53 bits
  return static_cast<double>(random_() >> kUnused) * 0x1.0p-53;
}

double SoakPlan::interval(double mean_s) { return -mean_s * std::log1p(-fraction()); }

std::vector<SoakStep> SoakPlan::next_run() {
  constexpr double kHalf = 0.5;
  const double length_s = settings_.run_s * (kHalf + fraction());
  const auto first = [this](double mean_s) {
    return mean_s > 0 ? interval(mean_s) : std::numeric_limits<double>::infinity();
  };
  double kill_s = first(settings_.kill_every_s);
  double pause_s = first(settings_.pause_every_s);
  double now_s = 0;
  std::vector<SoakStep> steps;
  for (;;) {
    const double next_s = std::min(kill_s, pause_s);
    if (next_s >= length_s) break;
    SoakStep step;
    step.after_s = next_s - now_s;
    now_s = next_s;
    if (kill_s <= pause_s) {
      step.kind = SoakStep::Kind::kill;
      step.victim = random_();
      kill_s += interval(settings_.kill_every_s);
    } else {
      step.kind = SoakStep::Kind::pause;
      step.lasts_s = kPauseShortestS + (kPauseLongestS - kPauseShortestS) * fraction();
      pause_s += interval(settings_.pause_every_s);
    }
    steps.push_back(step);
  }
  steps.push_back({SoakStep::Kind::run_ends, length_s - now_s, 0, 0});
  return steps;
}

bool SoakPlan::resets_next() { return random_() % kResetOneIn == 0; }

void SoakAccount::add(const SoakRun& run) {
  ++runs_;
  balanced_ += run.balanced ? 1 : 0;
  faults_ += run.faults;
  sums_.triggered += run.triggered;
  sums_.stored += run.stored;
  sums_.rejected += run.rejected;
  sums_.discarded += run.discarded;
  const std::string which = "run " + std::to_string(run.run) + ": ";
  if (!run.failure.empty()) {
    add_finding(which + run.failure);
  } else if (!run.balanced) {
    add_finding(which + "the ledger does not balance");
  } else if (run.triggered != run.stored + run.rejected + run.discarded) {
    add_finding(which + grouped(run.triggered) + " slices triggered, " +
                grouped(run.stored + run.rejected + run.discarded) + " with an outcome");
  }
}

void SoakAccount::add_finding(std::string finding) {
  ++finding_count_;
  if (findings_.size() < kFindingsMax) findings_.push_back(std::move(finding));
}

std::string SoakAccount::text() const {
  std::string text = counted(runs_, "run") + ", " + grouped(balanced_) + " with a balanced ledger; " +
                     counted(transitions_, "transition") + ", " + counted(kills_, "kill") + ", " +
                     counted(faults_, "fault") + " that the runs survived\n" + grouped(sums_.triggered) +
                     " slices triggered = " + grouped(sums_.stored) + " stored + " + grouped(sums_.rejected) +
                     " rejected + " + grouped(sums_.discarded) + " discarded\n";
  if (finding_count_ == 0) return text + "no findings\n";
  text += counted(finding_count_, "finding") + ":\n";
  for (const std::string& finding : findings_) text += "  " + finding + "\n";
  if (finding_count_ > findings_.size())
    text += "  and " + grouped(finding_count_ - findings_.size()) + " more\n";
  return text;
}

}  // namespace weir::control
