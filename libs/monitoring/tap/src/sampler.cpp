#include <weir/base/assert.hpp>
#include <weir/base/hash.hpp>
#include <weir/tap/sampler.hpp>

#include <algorithm>
#include <utility>

namespace weir::tap {

bool Sampler::renew(SampleRequest request, DurationNs lease, TimeNs now) {
  expire(now);
  auto place = std::find_if(taps_.begin(), taps_.end(),
                            [&](const auto& one) { return one->request.tag == request.tag; });
  if (place == taps_.end()) {
    if (taps_.size() >= settings_.taps_max || settings_.bytes_per_s == 0) {
      ++counts_.refused;
      return false;
    }
    place = taps_.insert(place, std::make_unique<Tap>());
    (*place)->head.numbering = mix64(seed_ + ++numberings_);
  }
  request.every = std::max(1U, request.every);
  WEIR_ASSERT(taps_.size() <= settings_.taps_max && request.stream != nullptr);
  (*place)->request = std::move(request);
  (*place)->until_ns = now + lease;
  return true;
}

void Sampler::end(const std::string& tag) {
  std::erase_if(taps_, [&](const auto& one) { return one->request.tag == tag; });
}

void Sampler::expire(TimeNs now) {
  std::erase_if(taps_, [&](const auto& one) { return one->until_ns <= now; });
}

void Sampler::pass_by(Tap& tap, std::vector<Tap*>& out) const {
  WEIR_ASSERT(tap.request.every > 0);
  if (tap.head.seen++ % tap.request.every == 0) out.push_back(&tap);
}

void Sampler::due_raw(std::vector<Tap*>& out) {
  for (const auto& tap : taps_) {
    if (tap->request.stream->raw) pass_by(*tap, out);
  }
}

void Sampler::due_accepted(std::uint64_t streams, std::vector<Tap*>& out) {
  for (const auto& tap : taps_) {
    if (!tap->request.stream->raw && (tap->request.stream->accepted & streams) != 0) pass_by(*tap, out);
  }
}

void Sampler::drop(Tap& tap, std::uint64_t& reason) {
  ++reason;
  ++tap.head.dropped;
}

bool Sampler::may_make(Tap& tap, TimeNs now) {
  const auto rate = static_cast<std::int64_t>(settings_.bytes_per_s);
  const std::int64_t most = rate * kSecond;
  const DurationNs elapsed = credited_ ? std::clamp<DurationNs>(now - credit_ns_, 0, kSecond) : kSecond;
  credit_ = std::min(most, credit_ + elapsed * rate);
  credit_ns_ = now;
  credited_ = true;
  if (credit_ > 0) return true;
  drop(tap, counts_.dropped_rate);
  return false;
}

bool Sampler::may_send(Tap& tap, std::uint64_t bytes) {
  if (bytes <= settings_.sample_bytes_max) return true;
  drop(tap, counts_.dropped_too_large);
  return false;
}

void Sampler::sent(Tap& tap, std::uint64_t bytes, bool taken) {
  if (!taken) return drop(tap, counts_.dropped_bus);
  credit_ -= static_cast<std::int64_t>(bytes) * kSecond;
  ++tap.head.sequence;
  ++counts_.samples;
  counts_.bytes += bytes;
}

}  // namespace weir::tap
