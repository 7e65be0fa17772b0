// Emulates a trigger menu: a sequence of steps, each of which requests some sources, of a group of the farm
// or drawn at random, copies their data, works for a set time and may reject; surviving slices are built
// whole. README.md has the parameters.
#include <weir/filter.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
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

// The sources requested by the current step, and those of the next step if they are drawn ahead.
struct Progress {
  std::vector<std::uint32_t> drawn;
  std::vector<std::uint32_t> next;
};

// Splits "a,b,c".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size() && !text.empty();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

// One number for each step; the last one applies to all further steps.
std::vector<double> numbers_of(weir::FilterSetup& setup, const char* name, double max) {
  std::vector<double> numbers;
  for (const std::string& word : words_of(setup.parameter(name, std::string("0")))) {
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != 0 || !(number >= 0 && number <= max))
      throw std::invalid_argument("parameter '" + std::string(name) + "': '" + word +
                                  "' is not a number from 0 to " + std::to_string(max) +
                                  ": give one for all steps, or a list as 0.9,0.5");
    numbers.push_back(number);
  }
  if (numbers.empty()) numbers.push_back(0);
  return numbers;
}

template <class T>
const T& of_step(const std::vector<T>& values, std::uint32_t step) {
  return values[std::min<std::size_t>(step, values.size() - 1)];
}

class Sequential : public weir::Filter {
 public:
  explicit Sequential(weir::FilterSetup& setup)
      : Filter(setup),
        groups_(groups_of(setup)),
        steps_(setup.parameter("steps", groups_.empty() ? 4 : static_cast<std::uint32_t>(groups_.size()),
                               std::uint32_t{1}, std::uint32_t{64})),
        per_step_(setup.parameter("sources_per_step", groups_.empty() ? 4 : UINT32_MAX, std::uint32_t{1},
                                  UINT32_MAX)),
        of_step_(setup.choice("draw", {"remaining", "group"}) == 1),
        ahead_(setup.choice("prefetch", {"none", "next"}) == 1),
        step_costs_(costs(setup, "microseconds", "asleep_microseconds")),
        rejects_(numbers_of(setup, "reject", 1)),
        build_(setup.choice("build", {"all", "none"}) == 0),
        final_cost_(costs(setup, "final_microseconds", "final_asleep_microseconds").front()),
        keep_(setup.choice("keep", {"all", "none"}) == 0),
        forward_(setup.parameter("forward", std::string())) {
    if (!groups_.empty() && steps_ > groups_.size())
      throw std::invalid_argument("parameter 'steps': there are " + std::to_string(steps_) +
                                  " steps and 'groups' has " + std::to_string(groups_.size()) + " groups");
    if (!forward_.empty()) (void)forward(forward_);  // refuses groups that the farm does not allow
    for (std::uint32_t step = 1; step <= steps_; ++step) {
      const std::string name = "step_" + std::to_string(step);
      entered_.push_back(counter((name + "_slices").c_str()));
      rejected_.push_back(counter((name + "_rejected").c_str()));
      bytes_.push_back(counter((name + "_bytes").c_str()));
    }
  }

  // If the first step's sources are drawn for each slice, no source is requested before.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources() const override {
    return first_is_fixed() ? groups_.front() : std::vector<std::uint32_t>{};
  }

  weir::Decision process(const weir::Slice& slice) override {
    // Steps that have their data.
    const std::uint32_t done = slice.step() + (first_is_fixed() ? 1 : 0);
    if (done == 0) return request_step(slice, 0);
    if (done > steps_) return finish(slice);
    if (slice.remembered<Progress>() == nullptr) begin_with_group(slice);
    gather(slice, done - 1);
    sink_ = spend(of_step(step_costs_, done - 1), slice.id() ^ sink_);
    if (uniform() < of_step(rejects_, done - 1)) {
      rejected_[done - 1].add();
      return reject();
    }
    if (done < steps_) return request_step(slice, done);
    if (!forward_.empty()) return forward_selected(slice);
    return build_ && !is_whole(slice) ? need_all() : finish(slice);
  }

 private:
  static std::vector<Cost> costs(weir::FilterSetup& setup, const char* cpu, const char* asleep) {
    constexpr double kMicrosecondsMax = 1e9;
    const auto nanoseconds = [](double microseconds) {
      return static_cast<std::int64_t>(microseconds * kNsPerUs);
    };
    const std::vector<double> at_work = numbers_of(setup, cpu, kMicrosecondsMax);
    const std::vector<double> sleeping = numbers_of(setup, asleep, kMicrosecondsMax);
    std::vector<Cost> costs;
    for (std::uint32_t step = 0; step < std::max(at_work.size(), sleeping.size()); ++step)
      costs.push_back({nanoseconds(of_step(at_work, step)), nanoseconds(of_step(sleeping, step))});
    return costs;
  }

  std::vector<std::vector<std::uint32_t>> groups_of(weir::FilterSetup& setup) const {
    std::vector<std::vector<std::uint32_t>> groups;
    for (const std::string& name : words_of(setup.parameter("groups", std::string())))
      groups.push_back(group(name).sources());
    return groups;
  }

  // The first step takes its whole group, which the DCM then requests at once.
  [[nodiscard]] bool first_is_fixed() const {
    return !groups_.empty() && per_step_ >= groups_.front().size();
  }

  void begin_with_group(const weir::Slice& slice) {
    Progress& progress = slice.remember<Progress>();
    progress.drawn = groups_.front();
    entered_.front().add();
    if (ahead_ && steps_ > 1) {
      // The farm file may prefetch the next step's group, so its sources are drawn now.
      progress.next = draw(slice, 1, progress.drawn);
    }
  }

  weir::Decision request_step(const weir::Slice& slice, std::uint32_t step) {
    const Progress* const before = slice.remembered<Progress>();
    std::vector<std::uint32_t> drawn = before == nullptr ? std::vector<std::uint32_t>{} : before->next;
    if (drawn.empty()) drawn = draw(slice, step, {});
    if (drawn.empty())
      throw std::runtime_error(
          "step " + std::to_string(step + 1) +
          " has no source left to request: use fewer steps or sources_per_step, or more sources");
    Progress& progress = slice.remember<Progress>();
    progress.drawn = std::move(drawn);
    if (ahead_ && step + 1 < steps_) progress.next = draw(slice, step + 1, progress.drawn);
    prefetch(progress.next);
    entered_[step].add();
    return need(progress.drawn);
  }

  // Draws the sources of a step from those that were not requested and are not in `taken`.
  std::vector<std::uint32_t> draw(const weir::Slice& slice, std::uint32_t step,
                                  const std::vector<std::uint32_t>& taken) {
    candidates_.clear();
    std::uint32_t place = 0;
    for (const weir::Fragment fragment : slice) {
      const bool belongs =
          groups_.empty() ? !of_step_ || place % steps_ == step
                          : std::binary_search(groups_[step].begin(), groups_[step].end(), fragment.source());
      const bool is_new =
          !fragment.requested() && std::find(taken.begin(), taken.end(), fragment.source()) == taken.end();
      if (belongs && is_new) candidates_.push_back(fragment.source());
      ++place;
    }
    const std::size_t count = std::min<std::size_t>(per_step_, candidates_.size());
    for (std::size_t i = 0; i < count; ++i)
      std::swap(candidates_[i], candidates_[i + random() % (candidates_.size() - i)]);
    return {candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count)};
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

  // Forwards with the sources of the last step, as a trigger passes on its region of interest.
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

  std::vector<std::vector<std::uint32_t>> groups_;  // by step; empty: sources are drawn from all
  std::uint32_t steps_;
  std::uint32_t per_step_;
  bool of_step_;
  bool ahead_;  // hints at the next step's sources
  std::vector<Cost> step_costs_;
  std::vector<double> rejects_;
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
