#include <weir/base/assert.hpp>
#include <weir/launch/farm_keeper.hpp>

#include <algorithm>

namespace weir::launch {
namespace {

constexpr DurationNs kDrainPatienceMin = 60 * kSecond;
constexpr std::uint32_t kKeptRestartsMax = 1'000'000;  // enough for a farm that runs for months

}  // namespace

DurationNs drain_patience(DurationNs stop_limit) { return std::max(kDrainPatienceMin, stop_limit); }

void FarmKeeper::add(Kind kind) {
  WEIR_ASSERT(processes_.empty() == (kind == Kind::control));
  processes_.push_back({kind, Restarts({true, kKeptRestartsMax}), true, {}, false, false});
}

void FarmKeeper::started(std::size_t process) {
  WEIR_ASSERT(process < processes_.size());
  processes_[process].running = true;
  processes_[process].start_at.reset();
}

FarmKeeper::Verdict FarmKeeper::ended(std::size_t process, bool well, TimeNs now_ns) {
  WEIR_ASSERT(process < processes_.size());
  Process& one = processes_[process];
  one.running = false;
  one.start_at.reset();
  // If run control dies while it ends the other processes, it is restarted to finish that.
  one.over = signals_ > 0 || (off_ && (well || one.kind != Kind::control));
  if (one.over) return Verdict::over;
  one.start_at = one.restarts.after_end(now_ns);
  one.over = !one.start_at;
  return one.over ? Verdict::given_up : Verdict::starts_again;
}

void FarmKeeper::signalled(TimeNs now_ns) {
  const TimeNs at = now_ns + (++signals_ > 1 ? 0 : patience_);
  kill_at_ = std::min(kill_at_.value_or(at), at);
}

FarmKeeper::Deeds FarmKeeper::turn(TimeNs now_ns, std::span<const std::size_t> stopped) {
  Deeds deeds;
  if (signals_ > 0) {
    end_by_signal(deeds);
    end_stopped(now_ns, stopped, deeds);
  } else if (off_) {
    end_by_control(now_ns, deeds);
  }
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].start_at && now_ns >= *processes_[i].start_at) deeds.start.push_back(i);
  }
  deeds.kill = kill_at_ && now_ns >= *kill_at_;
  return deeds;
}

// The supervisor is ended first: it drains the run, which ends the other processes' parts. Run control is
// ended last, because it keeps the record.
void FarmKeeper::end_by_signal(Deeds& deeds) {
  for (Process& one : processes_) give_up_waiting(one);
  bool drained = true;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].kind != Kind::supervisor) continue;
    terminate(i, deeds);
    drained = drained && processes_[i].over;
  }
  if (!drained) return;
  for (std::size_t i = 1; i < processes_.size(); ++i) terminate(i, deeds);
  if (all_but_control_over()) terminate(0, deeds);
}

// A stopped process does not end by itself, and delays run control's end.
void FarmKeeper::end_stopped(TimeNs now_ns, std::span<const std::size_t> stopped, Deeds& deeds) {
  const bool control = all_but_control_over();
  bool only_stopped = !everyone_over();
  for (std::size_t i = control ? 0 : 1; i < processes_.size(); ++i)
    only_stopped = only_stopped && (processes_[i].over || std::ranges::find(stopped, i) != stopped.end());
  if (!only_stopped) return stopped_since_.reset();
  if (!stopped_since_) stopped_since_ = now_ns;
  if (now_ns < *stopped_since_ + kStoppedPatience) return;
  for (std::size_t i = control ? 0 : 1; i < processes_.size(); ++i) {
    if (!processes_[i].over) deeds.end.push_back(i);
  }
}

// Once run control has ended, it can no longer stop the others. A process that waits for its restart is
// therefore not started again, and a process that run control could not reach (it hung, or had not joined
// yet) is terminated.
void FarmKeeper::end_by_control(TimeNs now_ns, Deeds& deeds) {
  for (Process& one : processes_) {
    if (one.kind != Kind::control) give_up_waiting(one);
  }
  if (!processes_.front().over) return;
  if (!off_since_) off_since_ = now_ns;
  kill_at_ = *off_since_ + kOffPatience;
  if (now_ns < *off_since_ + kOffGrace) return;
  for (std::size_t i = 1; i < processes_.size(); ++i) terminate(i, deeds);
}

void FarmKeeper::terminate(std::size_t process, Deeds& deeds) {
  Process& one = processes_[process];
  if (one.running && !one.told) deeds.terminate.push_back(process);
  one.told = true;
}

void FarmKeeper::give_up_waiting(Process& process) {
  process.start_at.reset();
  process.over = process.over || !process.running;
}

bool FarmKeeper::all_but_control_over() const {
  return std::all_of(processes_.begin() + 1, processes_.end(), [](const Process& one) { return one.over; });
}

bool FarmKeeper::everyone_over() const { return all_but_control_over() && processes_.front().over; }

}  // namespace weir::launch
