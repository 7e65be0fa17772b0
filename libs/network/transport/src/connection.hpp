#pragma once

#include "outbox.hpp"
#include "tls.hpp"
#include <weir/transport/loop.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <optional>
#include <string>

namespace weir::transport {

// One TCP connection under the reactor. Its Stream and pending operations keep it alive. After
// detach_from_core() it is closed, and calls have no effect.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Loop::Core& core, boost::asio::ip::tcp::socket socket);
  ~Connection();

  void connect(const ports::Endpoint& to, ports::StreamHandler& handler);
  void accepted(ports::StreamHandler& handler);
  Outbox& outbox_for_append();
  [[nodiscard]] std::size_t unsent_bytes() const { return outbox_.size() + (tls_ ? tls_->owed_bytes() : 0); }
  void pause_receiving(bool paused);
  // Closes after a last attempt to send; the handler is not called any more.
  void close();
  void flush();
  [[nodiscard]] ports::StreamCounters counters() const;
  [[nodiscard]] std::uint64_t bytes_received() const { return counters_.bytes_received; }
  [[nodiscard]] std::uint64_t retransmitted() const;
  void note_arrivals();
  [[nodiscard]] UtcNs arrived_utc_ns() const { return arrived_utc_ns_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // The reactor is being destroyed: ends all use of it by this connection.
  void detach_from_core();

 private:
  void try_next(std::shared_ptr<std::vector<boost::asio::ip::tcp::endpoint>> endpoints, std::size_t index);
  void open_now(bool connecting);
  void shake_hands();
  void established();
  void wait_readable();
  void wait_writable();
  void on_readable();
  enum class ReceiveResult { more, drained, ended };
  ReceiveResult receive_once();
  [[nodiscard]] ssize_t receive(iovec* list, std::size_t count);
  void send_failed();
  void end(ports::CloseReason reason);
  void shut();
  [[nodiscard]] std::uint64_t retransmits_now() const;

  Loop::Core* core_;
  std::optional<boost::asio::ip::tcp::socket> socket_;  // until detached
  ports::StreamHandler* handler_ = nullptr;
  Outbox outbox_;
  ports::StreamCounters counters_;
  std::string peer_;
  std::unique_ptr<TlsSession> tls_;  // empty: plain TCP
  bool connecting_ = false;          // this side connected
  bool notes_arrivals_ = false;
  UtcNs arrived_utc_ns_ = 0;  // the kernel's timestamp of the last bytes
  bool open_ = false;
  bool ended_ = false;
  bool reading_ = false;  // a wait for readability is pending
  bool writing_ = false;
  bool paused_ = false;
  bool dirty_ = false;  // in the core's list of streams to flush
};

}  // namespace weir::transport
