#include "units.hpp"
#include <weir/base/assert.hpp>
#include <weir/lab/delay_line.hpp>

#include <algorithm>

namespace weir::lab {
namespace {

constexpr std::size_t kSpareMax = 1024;
constexpr std::size_t kBytesMin = std::size_t{1} << 22;  // that a direction may hold, however many there are

}  // namespace

void DelayLine::forget_sent(TimeNs now_ns) {
  while (unsent_ > 0) {
    const Frame& first = frames_[frames_.size() - unsent_];
    if (first.sent_ns > now_ns) return;
    WEIR_ASSERT(first.bytes.size() <= waiting_bytes_);
    waiting_bytes_ -= first.bytes.size();
    --unsent_;
  }
}

bool DelayLine::offer(TimeNs now_ns, ConstBytes frame) {
  forget_sent(now_ns);
  const bool limited = link_.rate_bits_per_s != 0;
  if ((limited && waiting_bytes_ + frame.size() > link_.buffer_bytes) || bytes_ + frame.size() > bytes_max_) {
    ++drops_;
    return false;
  }
  free_ns_ = std::max(free_ns_, now_ns);
  if (limited) {
    const auto wire =
        static_cast<double>(std::max<std::size_t>(frame.size() + kOverheadBytes, kShortestBytes));
    free_ns_ += static_cast<DurationNs>(kBitsPerByte * wire * static_cast<double>(kSecond) /
                                        static_cast<double>(link_.rate_bits_per_s));
  }
  Frame& entry = frames_.emplace_back();
  entry.sent_ns = free_ns_;
  entry.due_ns = free_ns_ + link_.delay_ns;
  if (!spare_.empty()) {
    entry.bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  entry.bytes.assign(frame.begin(), frame.end());
  bytes_ += frame.size();
  waiting_bytes_ += frame.size();
  ++unsent_;
  return true;
}

std::optional<TimeNs> DelayLine::due_ns() const {
  if (frames_.empty()) return std::nullopt;
  return frames_.front().due_ns;
}

const std::vector<std::byte>* DelayLine::arrived(TimeNs now_ns) const {
  return frames_.empty() || frames_.front().due_ns > now_ns ? nullptr : &frames_.front().bytes;
}

void DelayLine::pop() {
  WEIR_ASSERT(!frames_.empty());
  Frame& first = frames_.front();
  if (unsent_ == frames_.size()) forget_sent(first.sent_ns);
  bytes_ -= first.bytes.size();
  if (spare_.size() < kSpareMax) spare_.push_back(std::move(first.bytes));
  frames_.pop_front();
}

LinkDelays::LinkDelays(const std::vector<RelayedLink>& links) {
  const std::size_t bytes_max =
      std::max(kBytesMin, DelayLine::kBytesMax / std::max<std::size_t>(1, links.size()));
  for (const RelayedLink& link : links) {
    lines_.emplace_back(link, bytes_max);
    lines_.emplace_back(link, bytes_max);
  }
}

bool LinkDelays::offer(std::size_t direction, TimeNs now_ns, ConstBytes frame) {
  WEIR_ASSERT(direction < lines_.size());
  DelayLine& line = lines_[direction];
  const bool idle = !line.due_ns().has_value();
  if (!line.offer(now_ns, frame)) return false;
  if (idle) next_.emplace(*line.due_ns(), direction);
  return true;
}

std::optional<TimeNs> LinkDelays::due_ns() const {
  if (next_.empty()) return std::nullopt;
  return next_.top().first;
}

std::optional<LinkDelays::Due> LinkDelays::due(TimeNs now_ns) const {
  if (next_.empty() || next_.top().first > now_ns) return std::nullopt;
  const std::size_t direction = next_.top().second;
  return Due{direction, lines_[direction].arrived(now_ns)};
}

void LinkDelays::pop(TimeNs left_ns) {
  WEIR_ASSERT(!next_.empty());
  const auto [due_ns, direction] = next_.top();
  next_.pop();
  lines_[direction].pop();
  lateness_us_.record(static_cast<std::uint64_t>(std::max<DurationNs>(left_ns - due_ns, 0) / kMicrosecond));
  if (const auto following = lines_[direction].due_ns()) next_.emplace(*following, direction);
}

}  // namespace weir::lab
