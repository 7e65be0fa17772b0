#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace weir::simnet {

// Simulated time with its events. Events of the same time run in the order in which they were added.
class Timeline {
 public:
  [[nodiscard]] TimeNs now_ns() const { return now_ns_; }
  // Runs at the given time, or now if that is past.
  void at(TimeNs when_ns, std::function<void()> what);
  void after(DurationNs delay_ns, std::function<void()> what) { at(now_ns_ + delay_ns, std::move(what)); }
  // Runs the next event if it is due by then. Returns false if none was, and the time is `until_ns`.
  bool step(TimeNs until_ns);
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Event {
    TimeNs when_ns;
    std::uint64_t number;
    std::function<void()> what;
  };
  static bool later(const Event& left, const Event& right) {
    return left.when_ns != right.when_ns ? left.when_ns > right.when_ns : left.number > right.number;
  }

  TimeNs now_ns_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Event> heap_;
};

// The history as one hash, and as text on request: two runs with the same hash are equal.
class Trace {
 public:
  using Sink =
      std::function<void(TimeNs at_ns, const char* who, const char* what, std::uint64_t a, std::uint64_t b)>;

  void note(TimeNs at_ns, const char* who, const char* what, std::uint64_t a = 0, std::uint64_t b = 0);
  void set_sink(Sink sink) { sink_ = std::move(sink); }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  std::uint64_t hash_ = 0;
  std::uint64_t events_ = 0;
  Sink sink_;
};

}  // namespace weir::simnet
