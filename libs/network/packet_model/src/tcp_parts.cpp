// How a window grows, and the receiving side.
#include <weir/packet_model/tcp.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::packet_model {
namespace {

constexpr double kCubicC = 0.4;

}  // namespace

void Cubic::reduced(double window) {
  begun_ns_ = 0;
  largest_ = window < largest_ ? window * (1 + kWindowCut) / 2 : window;  // fast convergence
}

double Cubic::grown(double window, std::uint32_t acked, DurationNs round_trip_ns, TimeNs now_ns) {
  if (begun_ns_ == 0) {
    begun_ns_ = now_ns;
    as_reno_ = window;
    origin_ = std::max(window, largest_);
    seconds_to_origin_ = std::cbrt((origin_ - window) / kCubicC);
  }
  const double seconds = static_cast<double>(now_ns - begun_ns_ + round_trip_ns) / kSecond;
  const double distance = seconds - seconds_to_origin_;
  const double target = origin_ + kCubicC * distance * distance * distance;
  double per_segment = target > window ? window / (target - window) : 100 * window;
  if (largest_ == 0) per_segment = std::min(per_segment, 20.0);
  as_reno_ += acked * (3 * (1 - kWindowCut) / (1 + kWindowCut)) / window;
  if (as_reno_ > window) per_segment = std::min(per_segment, window / (as_reno_ - window));
  return window + acked / std::max(per_segment, 2.0);
}

TcpReceiver::Outcome TcpReceiver::segment(std::uint32_t number, std::uint16_t length, TimeNs sent_ns) {
  if (number < next_) return {true, {next_, kNoSegment, true, sent_ns}};
  while (number - next_ >= waiting_.size()) {
    std::vector<std::uint16_t> larger(waiting_.size() * 2);
    for (std::uint32_t i = 0; i < waiting_.size(); ++i)
      larger[(next_ + i) & (larger.size() - 1)] = waiting_[(next_ + i) & (waiting_.size() - 1)];
    waiting_ = std::move(larger);
  }
  std::uint16_t& place = waiting_[number & (waiting_.size() - 1)];
  if (place > 0) return {true, {next_, number, true, sent_ns}};
  place = length;
  if (number > next_) {
    ++out_of_order_;
    ++beyond_;
    unacknowledged_ = 0;
    return {true, {next_, number, false, sent_ns}};
  }
  const bool gap = beyond_ > 0;
  while (waiting_[next_ & (waiting_.size() - 1)] > 0) {
    std::uint16_t& here = waiting_[next_++ & (waiting_.size() - 1)];
    in_order_ += here;
    here = 0;
    if (next_ > number + 1) --beyond_;
  }
  if (unacknowledged_++ == 0) echo_ns_ = sent_ns;
  const bool quick = quick_ > 0;
  if (quick) --quick_;
  if (!gap && !quick && unacknowledged_ < 2) return {};
  Acknowledgement ack{next_, kNoSegment, false, gap ? sent_ns : echo_ns_};
  unacknowledged_ = 0;
  return {true, ack};
}

}  // namespace weir::packet_model
