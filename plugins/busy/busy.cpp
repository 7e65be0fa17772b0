// Works for a set time and then decides at random: replaces an algorithm when the farm itself is measured.
//   microseconds   of CPU time per slice (default 1000)
//   nanoseconds_per_byte   additional CPU time per byte of the slice (default 0): work that grows with the
//   data asleep         additional microseconds per slice without CPU time (default 0): allows more processes
//   than
//                  cores. An instance that wakes up late shortens the next slice accordingly, by one
//                  slice's time at most
//   reject         share of rejected slices, 0 to 1 (default 0)
//   keep           all (default): accepted slices with raw data; none: without
#include <weir/filter.hpp>

#include <algorithm>
#include <cerrno>
#include <time.h>

namespace {

std::uint64_t cpu_time_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

class Busy : public weir::Filter {
 public:
  explicit Busy(weir::FilterSetup& setup)
      : Filter(setup),
        work_ns_(setup.parameter("microseconds", 1000.0, 0.0, 1e9) * 1e3),
        work_ns_per_byte_(setup.parameter("nanoseconds_per_byte", 0.0, 0.0, 1e6)),
        asleep_ns_(static_cast<std::int64_t>(setup.parameter("asleep", 0.0, 0.0, 1e9) * 1e3)),
        reject_(setup.parameter("reject", 0.0, 0.0, 1.0)),
        keep_(setup.choice("keep", {"all", "none"}) == 0) {}

  weir::Decision process(const weir::Slice& slice) override {
    double work_ns = work_ns_;
    if (work_ns_per_byte_ > 0) work_ns += work_ns_per_byte_ * bytes_of(slice);
    if (work_ns > 0) work(slice.id(), work_ns);
    if (asleep_ns_ > 0) sleep();
    if (uniform() < reject_) return reject();
    return keep_ ? accept() : accept().keep_no_raw_data();
  }

 private:
  static double bytes_of(const weir::Slice& slice) {
    double bytes = 0;
    for (const weir::Fragment& fragment : slice) bytes += static_cast<double>(fragment.bytes().size());
    return bytes;
  }

  void work(std::uint64_t value, double work_ns) {
    constexpr int kStepsPerLook = 2000;  // one or two microseconds; reading the CPU clock is a system call
    const std::uint64_t end = cpu_time_ns() + static_cast<std::uint64_t>(work_ns);
    do {
      for (int i = 0; i < kStepsPerLook; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
      sink_ = value;
    } while (cpu_time_ns() < end);
  }

  void sleep() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t now_ns = std::int64_t{now.tv_sec} * kNsPerS + now.tv_nsec;
    awake_ns_ = std::max(awake_ns_, now_ns - asleep_ns_) + asleep_ns_;
    const timespec until{awake_ns_ / kNsPerS, awake_ns_ % kNsPerS};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }

  static constexpr std::int64_t kNsPerS = 1'000'000'000;

  double work_ns_;
  double work_ns_per_byte_;
  std::int64_t asleep_ns_;
  std::int64_t awake_ns_ = 0;  // when the last sleep was to end
  double reject_;
  bool keep_;
  volatile std::uint64_t sink_ = 0;  // so that the work is not optimised away
};

}  // namespace

WEIR_FILTER_PLUGIN(Busy, "busy", "1.0", "works for a set CPU time, then accepts or rejects by chance")
