#include <weir/clock/clock.hpp>

#include <ctime>

namespace weir {
namespace {

std::int64_t read(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

}  // namespace

TimeNs monotonic_now_ns() { return read(CLOCK_MONOTONIC); }
UtcNs utc_now_ns() { return read(CLOCK_REALTIME); }

}  // namespace weir
