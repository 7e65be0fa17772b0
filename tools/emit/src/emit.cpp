#include "datagram_sender.hpp"
#include "emit_options.hpp"
#include "trigger_client.hpp"
#include <weir/emit/emit.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/transport/loop.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <sys/timerfd.h>
#include <unistd.h>

namespace weir::emit {
namespace {

constexpr std::size_t kBurst = 16;  // packets in one call
constexpr DurationNs kIdle = 5 * kMillisecond;
constexpr DurationNs kFirstAgain = 20 * kMillisecond;  // to a supervisor before its run has begun
constexpr DurationNs kHeldUp = 200 * kMicrosecond;     // until the kernel is asked again
constexpr DurationNs kMarkPause = 10 * kMillisecond;
constexpr int kLastMarks = 3;
constexpr DurationNs kAnswerPatience = 5 * kSecond;

// Wakes the loop at a time, more exactly than its waits.
class Alarm {
 public:
  explicit Alarm(transport::Loop& loop)
      : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    if (timer_ < 0) throw std::runtime_error(std::string("no timer: ") + std::strerror(errno));
    watch_ = loop.watch(timer_, [this] {
      std::uint64_t expirations = 0;
      (void)!::read(timer_, &expirations, sizeof expirations);
      watch_->arm();
    });
    watch_->arm();
  }
  ~Alarm() {
    watch_.reset();
    ::close(timer_);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  void set(TimeNs at) const {
    itimerspec when{};
    when.it_value = {static_cast<time_t>(at / kSecond), static_cast<long>(at % kSecond)};
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

 private:
  int timer_;
  std::unique_ptr<ports::Watch> watch_;
};

class Emitter {
 public:
  Emitter(const EmitPlan& plan, transport::Loop& loop)
      : plan_(plan), loop_(loop), alarm_(loop), sender_(addresses(plan)) {
    if (plan.trigger) trigger_.emplace(plan.farm, *plan.trigger, plan.authenticator);
  }

  void run() {
    loop_.on_signals({SIGINT, SIGTERM}, [this](int) { signalled_ = true; });
    loop_.run(
        [this](TimeNs now) {
          pass(now);
          if (state_ == State::done) loop_.stop();
        },
        kIdle);
  }
  void summarize(std::FILE* out) const;
  // Returns why no data was sent.
  [[nodiscard]] std::string failure() const {
    if (player_) return {};
    return "no run took a trigger at " + ports::to_text(*plan_.trigger) +
           (trigger_->trouble().empty() ? "" : ": " + trigger_->trouble());
  }

 private:
  enum class State : std::uint8_t { waiting, playing, marking, closing, done };

  static std::vector<ports::Endpoint> addresses(const EmitPlan& plan) {
    std::vector<ports::Endpoint> all;
    for (const Target& target : plan.targets) all.push_back(target.at);
    return all;
  }

  void pass(TimeNs now) {
    if (trigger_) trigger_->tick(loop_, now);
    if (signalled_ && state_ == State::waiting) state_ = State::done;
    if (state_ == State::waiting) wait_for_run(now);
    if (state_ == State::playing) play(now);
    if (state_ == State::marking) mark(now);
    if (state_ == State::closing &&
        (!trigger_ || trigger_->unanswered() == 0 || trigger_->over() || now >= close_until_)) {
      state_ = State::done;
    }
  }

  // The first slice is offered until the run accepts or vetoes it; its packets follow.
  void wait_for_run(TimeNs now) {
    if (!trigger_) return begin(plan_.player.run, now);
    if (trigger_->refused()) {
      state_ = State::done;
      return;
    }
    if (!trigger_->ready()) return;
    if (const auto answer = trigger_->take_first_answer()) {
      if (*answer) return begin(trigger_->run(), now);
      first_asked_ = false;
      next_first_ = now + kFirstAgain;
    }
    if (first_asked_ || now < next_first_) return;
    source::Trigger first;
    first.slice = plan_.player.first;
    first.time = first_utc_ = loop_.utc_ns();
    trigger_->offer({first});
    first_asked_ = true;
  }

  void begin(RunNumber run, TimeNs now) {
    PlayerSettings settings = plan_.player;
    settings.run = run;
    std::vector<Player::Played> played;
    for (std::uint32_t target = 0; target < plan_.targets.size(); ++target) {
      for (auto& source :
           ingest::make_sources(plan_.targets[target].content, plan_.targets[target].sources)) {
        if (plan_.slip && plan_.slip->first == source->id())
          source = std::make_unique<emulation::SlippingSource>(std::move(source), plan_.slip->second);
        source->begin_run(run);
        played.push_back({std::move(source), target});
      }
    }
    player_.emplace(settings, std::move(played));
    begun_ = loop_.now_ns();
    player_->start(begun_, first_utc_ != 0 ? first_utc_ : loop_.utc_ns());
    state_ = State::playing;
    (void)now;
  }

  void play(TimeNs now) {
    if (signalled_ || (trigger_ && trigger_->over())) return end(now);
    worst_lag_ =
        std::max(worst_lag_, plan_.player.rate_hz > 0 && !player_->done() ? now - player_->next_due() : 0);
    fill(now);
    if (!flush()) return alarm_.set(now + kHeldUp);
    if (trigger_ && !ended_.empty()) {
      trigger_->offer(ended_);
      ended_.clear();
    }
    if (player_->done() && batch_.empty()) return end(now);
    alarm_.set(std::max(now + 1, player_->next_due()));
  }

  void fill(TimeNs now) {
    OutgoingPacket packet;
    while (batch_.size() < kBurst && player_->next(now, packet)) batch_.push_back(packet);
  }

  // Sends the batch; returns false if a part is left.
  bool flush() {
    const std::size_t sent = sender_.send(batch_);
    for (std::size_t i = 0; i < sent; ++i) {
      if (!batch_[i].ended) continue;
      const bool offered_already = trigger_ && *batch_[i].ended == plan_.player.first;
      if (!offered_already) ended_.push_back(player_->trigger_of(*batch_[i].ended));
    }
    batch_.erase(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(sent));
    return batch_.empty();
  }

  void end(TimeNs now) {
    ended_ns_ = now;
    state_ = player_->counters().slices > 0 ? State::marking : State::done;
    next_mark_ = now;
  }

  // The last packets may be lost, so the end is sent several times.
  void mark(TimeNs now) {
    if (now < next_mark_) return;
    if (batch_.empty()) {
      if (marks_sent_++ == kLastMarks) {
        close_until_ = now + kAnswerPatience;
        state_ = State::closing;
        return;
      }
      batch_ = player_->last_marks();
    }
    next_mark_ = now + (flush() ? kMarkPause : kHeldUp);
    alarm_.set(next_mark_);
  }

  const EmitPlan& plan_;
  transport::Loop& loop_;
  Alarm alarm_;
  DatagramSender sender_;
  std::optional<TriggerClient> trigger_;
  std::optional<Player> player_;
  State state_ = State::waiting;
  std::vector<OutgoingPacket> batch_;  // not passed to the kernel yet
  std::vector<source::Trigger> ended_;
  bool signalled_ = false;
  bool first_asked_ = false;
  TimeNs next_first_ = 0;
  UtcNs first_utc_ = 0;  // time of the first slice, as it was offered; 0: not offered
  TimeNs begun_ = 0;
  TimeNs ended_ns_ = 0;
  TimeNs next_mark_ = 0;
  TimeNs close_until_ = 0;
  int marks_sent_ = 0;
  DurationNs worst_lag_ = 0;
};

void Emitter::summarize(std::FILE* out) const {
  if (!player_) return;
  const PlayerCounters& c = player_->counters();
  const double seconds =
      std::max(1e-9, static_cast<double>(ended_ns_ - begun_) / static_cast<double>(kSecond));
  fmt::print(out, "emitted {} slices, {} fragments, {} bytes in {} packets to {} readout{}: {:.3f} s\n",
             c.slices, c.fragments, c.bytes, c.packets, plan_.targets.size(),
             plan_.targets.size() == 1 ? "" : "s", seconds);
  fmt::print(out, "  rate      {:.1f} slices/s, {:.2f} Mb/s of payload, behind by {:.1f} ms at most\n",
             static_cast<double>(c.slices) / seconds, 8e-6 * static_cast<double>(c.bytes) / seconds,
             1e-6 * static_cast<double>(worst_lag_));
  if (c.absent > 0) fmt::print(out, "  absent    {} times a source had nothing\n", c.absent);
  if (c.withheld > 0) fmt::print(out, "  withheld  {} packets (--drop-every)\n", c.withheld);
  if (sender_.held_up() > 0) fmt::print(out, "  held up   {} times by the kernel\n", sender_.held_up());
  if (!trigger_) return;
  fmt::print(out, "  triggers  {} taken", trigger_->taken());
  for (const auto& [reason, count] : trigger_->vetoed()) fmt::print(out, ", {} vetoed: {}", count, reason);
  if (trigger_->unanswered() > 0) fmt::print(out, ", {} without an answer", trigger_->unanswered());
  fmt::print(out, "\n");
}

}  // namespace

int emit(const EmitOptions& options, std::FILE* out, std::FILE* err) {
  EmitPlan plan;
  try {
    plan = make_plan(options);
    // Errors in the content are reported before waiting for a run.
    for (const Target& target : plan.targets) (void)ingest::make_sources(target.content, target.sources);
  } catch (const std::exception& error) {
    fmt::print(err, "weir emit: {}\n", error.what());
    return 2;
  }
  try {
    std::signal(SIGPIPE, SIG_IGN);
    transport::Loop loop(plan.sockets);
    Emitter emitter(plan, loop);
    emitter.run();
    emitter.summarize(out);
    if (const std::string why = emitter.failure(); !why.empty()) throw std::runtime_error(why);
  } catch (const std::exception& error) {
    fmt::print(err, "weir emit: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace weir::emit
