#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::lab {

constexpr DurationNs kTraceInterval = kMillisecond;

// Bytes since the previous sample, and the queues now.
struct TraceSample {
  std::uint32_t at_us = 0;                       // since the run's begin
  std::span<const std::uint32_t> sent_bytes;     // by port, on the wire
  std::span<const std::uint32_t> queue_bytes;    // by port
  std::span<const std::uint32_t> request_bytes;  // by host with DCMs: TCP payload that it sent
};

// A lab's ports and requests over a run (`weir run --trace-network`), up to a number of values. Pure.
class NetworkTrace {
 public:
  static constexpr std::size_t kValuesMax = std::size_t{1} << 24;  // 64 MiB: 6 min of 20 ports

  struct TracedPort {
    std::string name;
    std::uint64_t rate_bits_per_s = 0;
    std::uint64_t buffer_bytes = 0;
  };

  NetworkTrace() = default;
  // `requesters`: names of hosts with DCMs.
  NetworkTrace(const std::vector<Port>& ports, std::vector<std::string> requesters,
               std::size_t values_max = kValuesMax);

  // Takes counts since any origin. The first ones only set the origin. Samples beyond the limit are left out,
  // and counted. Requires: times ascend.
  void take(DurationNs at_ns, std::span<const PortCount> ports, std::span<const std::uint64_t> requests);

  [[nodiscard]] const std::vector<TracedPort>& ports() const { return ports_; }
  [[nodiscard]] const std::vector<std::string>& requesters() const { return requesters_; }
  [[nodiscard]] std::size_t size() const { return row() == 0 ? 0 : values_.size() / row(); }
  // Requires: i < size().
  [[nodiscard]] TraceSample sample(std::size_t i) const;
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  // Returns the file: a line of JSON that describes the trace, then one for each sample (docs/lab.md).
  [[nodiscard]] std::string to_lines() const;
  // Returns the trace of such a file. The error names the line.
  [[nodiscard]] static Expected<NetworkTrace, std::string> from_lines(const std::string& text);

 private:
  [[nodiscard]] std::size_t row() const { return 1 + 2 * ports_.size() + requesters_.size(); }

  std::vector<TracedPort> ports_;
  std::vector<std::string> requesters_;
  std::size_t values_max_ = kValuesMax;
  std::vector<std::uint64_t> last_;    // bytes by port, then by requester; empty: no origin yet
  std::vector<std::uint32_t> values_;  // a row for each sample: time, sent, queues, requests
  std::uint64_t left_out_ = 0;
};

}  // namespace weir::lab
