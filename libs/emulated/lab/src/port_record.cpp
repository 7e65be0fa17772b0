#include "units.hpp"
#include <weir/base/assert.hpp>
#include <weir/lab/port_record.hpp>

#include <algorithm>
#include <utility>

namespace weir::lab {
namespace {

constexpr double kBegunUse = 0.01;  // connection set-up stays far below this

double use_of(std::uint64_t bytes, double seconds, double rate_bits_per_s) {
  if (seconds <= 0 || rate_bits_per_s == 0) return 0;
  return kBitsPerByte * static_cast<double>(bytes) / (seconds * rate_bits_per_s);
}

}  // namespace

PortRecord::PortRecord(std::vector<Port> ports)
    : ports_(std::move(ports)), histories_(ports_.size()), use_now_(ports_.size()) {
  for (const Port& port : ports_) rates_.push_back(port.rate_bits_per_s);
}

void PortRecord::change_rate(std::size_t port, std::uint64_t rate_bits_per_s) {
  rates_[port] = rate_bits_per_s;
  // A second with two different rates would be meaningless.
  History& history = histories_[port];
  history.second_from_bytes = history.last.wire_bytes();
  if (last_ns_) history.second_from_ns = *last_ns_;
}

void PortRecord::take(TimeNs now_ns, const std::vector<PortCount>& counts) {
  WEIR_ASSERT(counts.size() == ports_.size());
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    History& history = histories_[i];
    const PortCount& count = counts[i];
    if (!last_ns_) {
      history.first = history.last = count;
      history.second_from_ns = now_ns;
      history.second_from_bytes = count.wire_bytes();
      continue;
    }
    const auto rate = static_cast<double>(rates_[i]);
    use_now_[i] = use_of(count.wire_bytes() - history.last.wire_bytes(), seconds(now_ns - *last_ns_), rate);
    const bool dropped = count.drops > history.last.drops;
    if (!history.begin_ns && (use_now_[i] > kBegunUse || dropped)) history.begin_ns = *last_ns_;
    if (history.begin_ns) {
      if (now_ns - *history.begin_ns <= settling_ns_) history.drops_at_1s = count.drops;
      if (dropped) history.last_drop_ns = now_ns;
    }
    if (now_ns - history.second_from_ns >= kSecond) {
      const double use = use_of(count.wire_bytes() - history.second_from_bytes,
                                seconds(now_ns - history.second_from_ns), rate);
      history.busiest_use = std::max(history.busiest_use, use);
      history.second_from_ns = now_ns;
      history.second_from_bytes = count.wire_bytes();
    }
    history.last = count;
  }
  last_ns_ = now_ns;
}

std::vector<reports::PortReport> PortRecord::report(double run_s,
                                                    const std::vector<double>& mean_rates) const {
  std::vector<reports::PortReport> reports;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Port& port = ports_[i];
    const History& history = histories_[i];
    reports::PortReport& report = reports.emplace_back();
    report.name = port.name;
    report.rate_bits_per_s = port.rate_bits_per_s;
    report.buffer_bytes = port.buffer_bytes;
    report.bytes = history.last.wire_bytes() - history.first.wire_bytes();
    report.packets = history.last.packets - history.first.packets;
    report.drops = history.last.drops - history.first.drops;
    if (history.begin_ns)
      report.drops_after_1s = history.last.drops - std::max(history.drops_at_1s, history.first.drops);
    if (history.last_drop_ns != 0) report.last_drop_s = seconds(history.last_drop_ns - *history.begin_ns);
    report.use = use_of(report.bytes, run_s,
                        i < mean_rates.size() ? mean_rates[i] : static_cast<double>(port.rate_bits_per_s));
    report.busiest_use = history.busiest_use;
    report.pauses = history.last.pauses - history.first.pauses;
    report.paused_s = seconds(history.last.paused_ns - history.first.paused_ns);
  }
  return reports;
}

}  // namespace weir::lab
