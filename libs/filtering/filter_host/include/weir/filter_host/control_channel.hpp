#pragma once

#include <weir/v1/worker.pb.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

namespace weir::filter_host {

// One end of the control socket between a DCM and a worker: frames of a length (4 bytes, little-endian) and a
// WorkerMessage. Does not own the descriptor. Any thread may send; one receives.
class ControlChannel {
 public:
  static constexpr std::size_t kMessageMax = std::size_t{64} << 20;  // bytes

  explicit ControlChannel(int descriptor) : descriptor_(descriptor) {}

  // Queues the message and sends as much as the socket takes. A peer that has left shows in ended().
  void send(const v1::WorkerMessage& message);
  // Sends the rest, without waiting.
  void flush();
  // Waits until everything is sent, or the peer has left.
  void flush_all();
  // The next whole message; false: none has arrived.
  [[nodiscard]] bool receive(v1::WorkerMessage& message);
  // True if nothing more arrives, or the bytes received are not a message.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  void read_some();
  void send_unsent();  // as much as the socket takes

  int descriptor_;
  std::mutex mutex_;
  std::string unsent_;  // guarded by mutex_
  std::string received_;
  std::size_t at_ = 0;  // of received_: read up to here
  std::atomic<bool> ended_ = false;
};

}  // namespace weir::filter_host
