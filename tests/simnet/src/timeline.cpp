#include <weir/base/hash.hpp>
#include <weir/simnet/timeline.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::simnet {
namespace {

std::uint64_t hash_of(const char* text) {
  constexpr std::uint64_t kPrime = 0x100000001b3ULL;  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * kPrime;
  return hash;
}

}  // namespace

void Timeline::at(TimeNs when_ns, std::function<void()> what) {
  heap_.push_back({std::max(when_ns, now_ns_), number_++, std::move(what)});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

bool Timeline::step(TimeNs until_ns) {
  if (heap_.empty() || heap_.front().when_ns > until_ns) {
    now_ns_ = std::max(now_ns_, until_ns);
    return false;
  }
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Event event = std::move(heap_.back());
  heap_.pop_back();
  now_ns_ = event.when_ns;
  ++steps_;
  event.what();
  return true;
}

void Trace::note(TimeNs at_ns, const char* who, const char* what, std::uint64_t a, std::uint64_t b) {
  ++events_;
  hash_ = mix64(hash_ ^ static_cast<std::uint64_t>(at_ns));
  hash_ = mix64(hash_ ^ hash_of(who) ^ std::rotl(hash_of(what), 1));
  hash_ = mix64(hash_ ^ a ^ std::rotl(b, 32));
  if (sink_) sink_(at_ns, who, what, a, b);
}

}  // namespace weir::simnet
