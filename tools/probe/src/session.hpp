#pragma once

#include "addresses.hpp"
#include "idle_restart.hpp"
#include "message_socket.hpp"
#include "window_sampler.hpp"
#include <weir/ports/authenticator.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace weir::probe {

// The client that measures: one at a time, because two would measure each other. Thread-safe.
class MeasuringClient {
 public:
  // Begins a session of the client at this address. Returns the address of the present one if there is one.
  [[nodiscard]] std::optional<std::string> begin(const Address& client, const Token& token);
  void end();

  // Verifies an echo: true if it comes from the present client's host and has its token. Its address receives
  // streams from then on.
  [[nodiscard]] bool verify(const Address& from, const Token& token);
  [[nodiscard]] std::optional<Address> stream_address() const;

  // While a stream is sent, echoes wait: the kernel's reports about the stream would wake the thread that
  // polls for them.
  void set_streaming(bool streaming) { streaming_ = streaming; }
  [[nodiscard]] bool streaming() const { return streaming_; }

 private:
  mutable std::mutex mutex_;
  std::optional<Address> client_;
  std::optional<Address> streams_to_;
  Token token_{};
  std::atomic<bool> streaming_{false};
};

struct SessionParts {
  MeasuringClient* client = nullptr;
  const ports::Authenticator* key = nullptr;  // null: none
  int datagrams = -1;                         // the server's UDP socket
  const std::atomic<bool>* stop = nullptr;
};

// Serves one connection until it ends. Returns why it ended; `measured` is true if the client got as far as a
// welcome.
struct SessionEnd {
  std::string why;
  bool measured = false;
  bool put_off = false;  // because another session had not ended
};
[[nodiscard]] SessionEnd serve_session(OwnedDescriptor socket, const Address& client,
                                       const SessionParts& parts);

}  // namespace weir::probe
