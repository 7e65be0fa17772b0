#pragma once

#include <weir/base/time.hpp>
#include <weir/messages/peer.hpp>

#include <cstdint>
#include <string_view>

namespace weir::node {

// Says who was not taken: a few lines in ten seconds, and in the next one how many were left out, so that a
// stranger who knocks a thousand times a second fills no disk. The counters of peers have all of them.
class RefusalLog {
 public:
  static constexpr std::uint64_t kLinesMax = 5;
  static constexpr DurationNs kInterval = 10 * kSecond;

  void note(const messages::Peer& peer, std::string_view why, TimeNs now_ns);

 private:
  TimeNs interval_ends_ns_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t unsaid_ = 0;
};

}  // namespace weir::node
