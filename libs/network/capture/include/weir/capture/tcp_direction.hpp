#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace weir::capture {

// Receives the bytes of one direction of a connection, in order.
class TcpSink {
 public:
  virtual ~TcpSink() = default;
  virtual void on_bytes(ConstBytes bytes) = 0;
  // `bytes` are missing here; the next on_bytes() begins with a segment.
  virtual void on_gap(std::uint32_t bytes) = 0;
};

// Puts the segments of one direction in order. A segment beyond a gap waits for the missing ones; a repeated
// one is dropped. Pure; one thread.
class TcpDirection {
 public:
  static constexpr std::size_t kWaitingMax = 4U << 20;  // bytes; beyond, the gap counts as lost

  // The connection begins: its first payload byte has this number.
  void begin(std::uint32_t sequence);
  void take(std::uint32_t sequence, ConstBytes payload, TcpSink& sink);
  // No further segments: passes on those that still wait.
  void end(TcpSink& sink);

 private:
  // Passes on waiting segments that have become contiguous.
  void drain(TcpSink& sink);
  void skip_gap(TcpSink& sink);

  bool begun_ = false;
  std::uint64_t next_ = 0;  // number of the next byte, extended to 64 bits
  std::map<std::uint64_t, std::vector<std::byte>> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace weir::capture
