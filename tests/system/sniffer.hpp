#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace weir::system_test {

// A loopback network for the calling thread and its children, while this object exists. Needs root.
class OwnLoopback {
 public:
  OwnLoopback();
  ~OwnLoopback();
  OwnLoopback(const OwnLoopback&) = delete;
  OwnLoopback& operator=(const OwnLoopback&) = delete;

 private:
  int before_;
};

// Captures the TCP traffic of the thread's loopback, as a stranger on the wire can, until it is stopped or
// has 64 MB. Needs root.
class Sniffer {
 public:
  Sniffer();
  ~Sniffer();
  Sniffer(const Sniffer&) = delete;
  Sniffer& operator=(const Sniffer&) = delete;

  void stop();
  // Returns the bytes that the first client of this port sent, up to the first gap in the capture. Requires:
  // stop() was called.
  [[nodiscard]] std::vector<std::byte> said_to(std::uint16_t port) const;

 private:
  struct Segment {
    std::uint16_t from = 0;
    std::uint16_t to = 0;
    std::uint32_t sequence = 0;  // sequence number of its first byte
    bool begins = false;
    std::vector<std::byte> bytes;
  };
  void listen();
  void take(const std::byte* packet, std::size_t size);

  int socket_ = -1;
  std::vector<Segment> heard_;
  std::size_t bytes_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace weir::system_test
