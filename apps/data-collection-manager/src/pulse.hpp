#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::dcm {

// Whether anything is heard over a connection. A dead line breaks no connection for a long time, so a peer
// that has been silent for a while is asked, and answers even when it has nothing else to say. Pure; one
// thread.
class Pulse {
 public:
  explicit Pulse(DurationNs silence_ns) : silence_ns_(silence_ns) {}

  // At least every few ms: whether there is a connection, and the bytes that have come over it since it was
  // made. True: the other side is to be asked whether it is there.
  [[nodiscard]] bool look(bool connected, std::uint64_t bytes, TimeNs now_ns);
  // There is no connection, or nothing was heard for silence_ns.
  [[nodiscard]] bool is_lost() const { return lost_; }
  [[nodiscard]] TimeNs lost_since_ns() const { return lost_since_ns_; }  // when it is

 private:
  DurationNs silence_ns_;
  std::uint64_t bytes_ = 0;
  TimeNs looked_ns_ = 0;
  TimeNs lost_since_ns_ = 0;
  DurationNs silent_ns_ = 0;
  std::uint32_t asked_ = 0;  // in this silence
  bool connected_ = false;
  bool lost_ = false;
};

}  // namespace weir::dcm
