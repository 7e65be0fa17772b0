#pragma once

#include "source_process.hpp"
#include <weir/child_process/child_parts.hpp>
#include <weir/host_watch/host_watch.hpp>
#include <weir/weir_source.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::source_host {

// The sources of one readout, in a process of their own. One thread.
class PythonHost {
 public:
  PythonHost(const weir_source_parameters& parameters, const weir_source_readout& readout,
             const weir_source_host& host, const PythonSource& source);
  ~PythonHost();
  PythonHost(const PythonHost&) = delete;
  PythonHost& operator=(const PythonHost&) = delete;

  void begin_run(const weir_source_run& run);
  void announced(const weir_source_trigger* triggers, std::uint32_t size, std::uint32_t stride);
  void poll();
  void end_run();
  [[nodiscard]] int fd() const { return wake_.read.get(); }

 private:
  void start();
  void restart();
  // Waits until the host is in this state. Throws the reason if it does not get there.
  void wait_for(host_watch::HostWatch::State state, const char* task);
  void wait_a_moment();
  void take_wake_ups() const;
  void begin();
  // Returns false if records are left.
  bool drain();
  void take(const LaneRecord& record);
  void take_fragment(const LaneRecord& record, const LaneStamp& stamp);
  void take_stamped(LaneRecord record);
  void take_passed(const LaneRecord& record);
  [[nodiscard]] std::string take_text(const LaneRecord& record);
  void take_failure(std::uint32_t source, std::uint64_t slice, const std::string& text);
  void take_ready(std::uint32_t status, const std::string& text);
  [[nodiscard]] bool deliver_missing(std::uint32_t source, std::uint64_t slice, std::uint8_t reason);
  std::size_t miss_all(std::uint64_t slice, std::uint8_t reason, std::size_t counter);
  void look_at_process(TimeNs now_ns);
  void note_end(const child_process::ChildEnd& end, TimeNs now_ns);
  void obey(host_watch::HostWatch::Order order);
  void report_losses(TimeNs now_ns);
  void count(std::size_t which, std::uint64_t amount = 1) { host_.count(&host_, counters_[which], amount); }
  void log(std::int32_t level, const std::string& text) { host_.log(&host_, level, text.c_str()); }

  enum Lost : std::size_t { kException, kEnded, kDown, kNotAsked, kTooLong, kLosts };
  static constexpr std::array<const char*, kLosts> kLostNames{"exception", "host_ended", "host_down",
                                                              "not_asked", "too_long"};
  enum Counter : std::size_t { kRestarts = kLosts, kHung, kCounters };
  struct Tally {
    std::uint64_t reached = 0;
    std::array<std::uint64_t, kLosts> lost{};
    bool restarted = false;  // the host, and the source has not reported progress since
  };

  const weir_source_host& host_;
  const weir_source_readout& readout_;
  const PythonSource& source_;
  std::string setup_;
  child_process::Pipe wake_;
  host_watch::HostWatch watch_;
  std::unique_ptr<SourceProcess> process_;
  std::array<std::uint32_t, kCounters> counters_{};
  std::vector<Tally> tallies_;  // by place of the source
  weir_source_run run_{};
  bool in_run_ = false;
  bool run_ended_ = false;  // the host has ended the run
  bool waiting_ = false;    // for it to make its sources, or to begin the run
  bool started_before_ = false;
  std::string refusal_;  // why the host cannot go on
  std::string run_error_;
  TimeNs looked_ns_ = 0;
  TimeNs reported_ns_ = 0;
};

}  // namespace weir::source_host
