#include <weir/base/assert.hpp>
#include <weir/capture/tcp_direction.hpp>

#include <algorithm>

namespace weir::capture {
namespace {

// Far from 0, so that earlier numbers than the first one do not wrap.
constexpr std::uint64_t kBase = std::uint64_t{1} << 40;

}  // namespace

void TcpDirection::begin(std::uint32_t sequence) {
  begun_ = true;
  next_ = kBase + sequence;
  waiting_.clear();
  waiting_bytes_ = 0;
}

void TcpDirection::take(std::uint32_t sequence, ConstBytes payload, TcpSink& sink) {
  if (payload.empty()) return;
  if (!begun_) begin(sequence);
  // The nearest 64-bit number with these lower 32 bits.
  const auto ahead = static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(next_));
  const std::uint64_t at = next_ + static_cast<std::uint64_t>(std::int64_t{ahead});
  if (at + payload.size() <= next_) return;  // repeated
  if (at > next_) {
    std::vector<std::byte>& kept = waiting_[at];
    if (kept.size() < payload.size()) {
      waiting_bytes_ += payload.size() - kept.size();
      kept.assign(payload.begin(), payload.end());
    }
    if (waiting_bytes_ > kWaitingMax) skip_gap(sink);
    return;
  }
  sink.on_bytes(payload.subspan(static_cast<std::size_t>(next_ - at)));
  next_ = at + payload.size();
  drain(sink);
}

void TcpDirection::end(TcpSink& sink) {
  while (!waiting_.empty()) skip_gap(sink);
}

void TcpDirection::drain(TcpSink& sink) {
  while (!waiting_.empty() && waiting_.begin()->first <= next_) {
    const auto first = waiting_.begin();
    const std::uint64_t end = first->first + first->second.size();
    if (end > next_) {
      sink.on_bytes(ConstBytes(first->second).subspan(static_cast<std::size_t>(next_ - first->first)));
      next_ = end;
    }
    WEIR_ASSERT(first->second.size() <= waiting_bytes_);
    waiting_bytes_ -= first->second.size();
    waiting_.erase(first);
  }
}

void TcpDirection::skip_gap(TcpSink& sink) {
  const std::uint64_t to = waiting_.begin()->first;
  WEIR_ASSERT(to > next_);
  sink.on_gap(static_cast<std::uint32_t>(std::min<std::uint64_t>(to - next_, UINT32_MAX)));
  next_ = to;
  drain(sink);
}

}  // namespace weir::capture
