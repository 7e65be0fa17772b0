// Emulates a trigger menu: a sequence of steps, each of which requests some sources drawn at random, copies
// their data, works for a set time and may reject; slices that survive are built whole. README.md has the
// parameters.
#include <weir/filter.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <time.h>
#include <vector>

namespace {

constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr double kNsPerUs = 1000;

std::int64_t now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * kNsPerS + time.tv_nsec;
}

// Time that a step costs: CPU time of this thread, then sleep.
struct Cost {
  std::int64_t cpu_ns = 0;
  std::int64_t asleep_ns = 0;
};

// Spends `cost`; returns a number that depends on `value`, so that the work is not optimised away.
std::uint64_t spend(const Cost& cost, std::uint64_t value) {
  constexpr int kRoundsPerLook = 2000;  // a microsecond or two: a look at the CPU clock is a system call
  const std::int64_t cpu_end = now_ns(CLOCK_THREAD_CPUTIME_ID) + cost.cpu_ns;
  while (cost.cpu_ns > 0 && now_ns(CLOCK_THREAD_CPUTIME_ID) < cpu_end)
    for (int i = 0; i < kRoundsPerLook; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
  if (cost.asleep_ns <= 0) return value;
  const std::int64_t awake_ns = now_ns(CLOCK_MONOTONIC) + cost.asleep_ns;
  const timespec until{awake_ns / kNsPerS, awake_ns % kNsPerS};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
  return value;
}

// The sources that the step under way has requested.
struct Progress {
  std::vector<std::uint32_t> drawn;
};

class Sequential : public weir::Filter {
 public:
  explicit Sequential(weir::FilterSetup& setup)
      : Filter(setup),
        steps_(setup.parameter("steps", std::uint32_t{4}, std::uint32_t{1}, std::uint32_t{64})),
        per_step_(setup.parameter("sources_per_step", std::uint32_t{4}, std::uint32_t{1}, UINT32_MAX)),
        of_step_(setup.choice("draw", {"remaining", "group"}) == 1),
        step_cost_(cost(setup, "microseconds", "asleep_microseconds")),
        reject_(setup.parameter("reject", 0.0, 0.0, 1.0)),
        build_(setup.choice("build", {"all", "none"}) == 0),
        final_cost_(cost(setup, "final_microseconds", "final_asleep_microseconds")),
        keep_(setup.choice("keep", {"all", "none"}) == 0),
        forward_(setup.parameter("forward", std::string())) {
    for (std::uint32_t step = 1; step <= steps_; ++step) {
      const std::string name = "step_" + std::to_string(step);
      entered_.push_back(counter((name + "_slices").c_str()));
      rejected_.push_back(counter((name + "_rejected").c_str()));
      bytes_.push_back(counter((name + "_bytes").c_str()));
    }
  }

  // The first step's sources are drawn for each slice, so nothing is requested before.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources() const override {
    return std::vector<std::uint32_t>{};
  }

  weir::Decision process(const weir::Slice& slice) override {
    const std::uint32_t done = slice.step();  // steps whose data are here
    if (done == 0) return request_step(slice, 0);
    if (done > steps_) return finish(slice);
    gather(slice, done - 1);
    sink_ = spend(step_cost_, slice.id() ^ sink_);
    if (uniform() < reject_) {
      rejected_[done - 1].add();
      return reject();
    }
    if (done < steps_) return request_step(slice, done);
    if (!forward_.empty()) return forward_selected(slice);
    return build_ && !is_whole(slice) ? need_all() : finish(slice);
  }

 private:
  static Cost cost(weir::FilterSetup& setup, const char* cpu, const char* asleep) {
    const auto nanoseconds = [&setup](const char* name) {
      return static_cast<std::int64_t>(setup.parameter(name, 0.0, 0.0, 1e9) * kNsPerUs);
    };
    const std::int64_t cpu_ns = nanoseconds(cpu);
    return {cpu_ns, nanoseconds(asleep)};
  }

  weir::Decision request_step(const weir::Slice& slice, std::uint32_t step) {
    Progress& progress = slice.remember<Progress>();
    candidates_.clear();
    std::uint32_t place = 0;
    for (const weir::Fragment fragment : slice) {
      const bool belongs = !of_step_ || place % steps_ == step;
      if (belongs && !fragment.requested()) candidates_.push_back(fragment.source());
      ++place;
    }
    if (candidates_.empty())
      throw std::runtime_error(
          "step " + std::to_string(step + 1) +
          " has no source left to request: use fewer steps or sources_per_step, or more sources");
    const std::size_t count = std::min<std::size_t>(per_step_, candidates_.size());
    for (std::size_t i = 0; i < count; ++i)
      std::swap(candidates_[i], candidates_[i + random() % (candidates_.size() - i)]);
    progress.drawn.assign(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count));
    entered_[step].add();
    return need(progress.drawn);
  }

  // Copies the step's data into one buffer, as an algorithm that needs them in one place does.
  void gather(const weir::Slice& slice, std::uint32_t step) {
    const Progress* progress = slice.remembered<Progress>();
    gathered_.clear();
    for (const std::uint32_t source : progress->drawn) {
      const std::span<const std::byte> bytes = slice.find(source).bytes();
      gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
    }
    bytes_[step].add(gathered_.size());
  }

  // With the sources of the last step, as a trigger passes on its region of interest.
  weir::Decision forward_selected(const weir::Slice& slice) {
    selected_.clear();
    for (const std::uint32_t source : slice.remembered<Progress>()->drawn) {
      if (selected_.bytes().size() + sizeof source <= WEIR_FORWARD_BYTES_MAX) selected_.put(source);
    }
    return forward(forward_, selected_.bytes());
  }

  weir::Decision finish(const weir::Slice& slice) {
    sink_ = spend(final_cost_, slice.id() ^ sink_);
    return keep_ ? accept() : accept().keep_no_raw_data();
  }

  static bool is_whole(const weir::Slice& slice) {
    return std::all_of(slice.begin(), slice.end(),
                       [](const weir::Fragment fragment) { return fragment.requested(); });
  }

  std::uint32_t steps_;
  std::uint32_t per_step_;
  bool of_step_;
  Cost step_cost_;
  double reject_;
  bool build_;
  Cost final_cost_;
  bool keep_;
  std::string forward_;  // group of DCMs; empty: this one builds
  std::vector<weir::Counter> entered_;
  std::vector<weir::Counter> rejected_;
  std::vector<weir::Counter> bytes_;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::byte> gathered_;
  weir::ByteWriter selected_;
  std::uint64_t sink_ = 0;
};

}  // namespace

WEIR_FILTER_PLUGIN(Sequential, "sequential", "1.0",
                   "emulates a trigger menu: steps with random sources, then full building")
