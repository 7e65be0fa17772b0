#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace weir::host_watch {

struct HostWatchSettings {
  DurationNs timeout_ns;        // without progress on an announced slice
  DurationNs start_timeout_ns;  // from the start of a process until it is ready, and to begin a run
  DurationNs wait_ns;           // of the buffer for a fragment; 0: no limit
  std::size_t owed_max;         // announced slices without an answer; of a host that delivers, the latest
};

// Decides when a source host is started, when it hangs, and which slices it owes at its end
// (docs/decisions/0056). Pure: time comes in, orders go out. One thread.
class HostWatch {
 public:
  static constexpr DurationNs kPauseMin = 100 * kMillisecond;  // before a restart; doubled each time
  static constexpr DurationNs kPauseMax = 5 * kSecond;
  static constexpr DurationNs kSettledAfter = 5 * kSecond;  // a host that lives so long has started
  static constexpr DurationNs kHardKillAfter = 200 * kMillisecond;
  static constexpr DurationNs kGapMax = 100 * kMillisecond;  // between two passes, as timeouts count it

  enum class State : std::uint8_t { down, starting, beginning, running, ending };
  enum class Order : std::uint8_t { none, start, kill_softly, kill };
  enum class Ask : std::uint8_t {
    ask,   // the host owes the slice from now on
    down,  // no host runs: the fragments are missing
    full   // the host has not answered owed_max slices: likewise
  };
  // Numbers of the lane. A host with requests and the same numbers for timeout_ns hangs.
  struct Progress {
    std::uint64_t taken = 0;
    std::uint64_t done = 0;
    std::uint64_t written = 0;  // bytes
    bool operator==(const Progress&) const = default;
  };

  explicit HostWatch(const HostWatchSettings& settings) : settings_(settings) {}

  void started(TimeNs now_ns);
  // The host has made its sources. `asks`: it answers each announced slice; otherwise fragments arrive.
  void ready(bool asks);
  // The host runs; `number`: of its last request so far.
  void begun(std::uint64_t number, TimeNs now_ns);
  // `number`: of the request, if it is asked.
  [[nodiscard]] Ask announce(SliceId slice, std::uint64_t number, TimeNs now_ns);
  void observe(const Progress& progress);
  // The lane holds nonsense, or the host has reported that it cannot go on.
  void condemn();
  // The process has ended, and its lane has been read. Returns the slices that it owed.
  [[nodiscard]] std::vector<SliceId> ended(TimeNs now_ns);
  [[nodiscard]] Order pass(TimeNs now_ns);
  // No restarts any more.
  void finish() { finished_ = true; }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool asks() const { return asks_; }
  [[nodiscard]] bool hung() const { return hung_; }  // the present or last process was killed for a timeout
  [[nodiscard]] std::size_t owed() const { return owed_.size(); }
  [[nodiscard]] DurationNs pause_ns() const { return pause_ns_; }  // before the next start

 private:
  struct Asked {
    std::uint64_t number = 0;
    TimeNs since_ns = 0;
  };
  void enter(State state);
  void forget_settled(TimeNs now_ns);
  void forget_oldest();

  HostWatchSettings settings_;
  State state_ = State::down;
  bool asks_ = true;
  bool finished_ = false;
  bool hung_ = false;
  bool killed_hard_ = false;
  std::deque<SliceId> owed_;  // in order of announcement
  std::deque<Asked> asked_;   // of the same slices
  std::uint64_t last_number_ = 0;
  Progress progress_;
  Progress seen_;
  TimeNs last_pass_ns_ = 0;
  TimeNs begun_ns_ = 0;
  TimeNs start_after_ns_ = 0;
  DurationNs pause_ns_ = 0;
  DurationNs waited_ns_ = 0;  // in the state, or without progress; gaps between passes count as kGapMax
};

}  // namespace weir::host_watch
