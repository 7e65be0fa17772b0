#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/ports/clock.hpp>
#include <weir/sessions/peer.hpp>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weir::readout {

// Reports to DCMs how long this host kept a request: from its arrival in the kernel until the answer is
// handed to the stream. At most one request per connection and pass is reported, the last one that was
// answered immediately: the kernel's time stamp belongs to the last bytes received. One thread.
class Timings {
 public:
  explicit Timings(const ports::Clock& clock) : clock_(clock) {}

  // A frame of requests from this peer is about to be served ...
  void begin(const sessions::Peer& peer);
  // ... and has been.
  void end();
  // Any answer is being sent, on any connection.
  void answered(std::uint64_t connection, SliceId slice, std::uint32_t offset);
  // Appends a timing frame to each connection that has one. Call at the end of a pass. `find(tag)` returns
  // the peer, or null.
  template <class Find>
  void tell(Find find) {
    for (const Sample& sample : samples_) {
      if (sessions::Peer* peer = sample.stale ? nullptr : find(sample.connection)) tell(*peer, sample);
    }
    samples_.clear();
  }
  // The connection has ended.
  void forget(std::uint64_t connection) {
    retransmitted_.erase(connection);
    std::erase_if(samples_, [=](const Sample& sample) { return sample.connection == connection; });
  }

 private:
  struct Sample {
    std::uint64_t connection = 0;
    SliceId slice;
    std::uint32_t offset = 0;
    UtcNs arrived_utc_ns = 0;  // 0: the kernel does not say
    TimeNs read_ns = 0;
    bool answered = false;
    bool stale = false;  // something else was sent behind the answer
  };
  struct Retransmitted {
    std::uint64_t segments = 0;
    TimeNs looked_ns = 0;
  };

  void tell(sessions::Peer& peer, const Sample& sample);
  [[nodiscard]] std::uint32_t retransmitted(const sessions::Peer& peer);

  const ports::Clock& clock_;
  std::vector<Sample> samples_;  // of this pass, one per connection
  Sample serving_;
  bool is_serving_ = false;
  std::unordered_map<std::uint64_t, Retransmitted> retransmitted_;  // by connection
};

}  // namespace weir::readout
