#pragma once

#include "name_lookup.hpp"
#include "outbox.hpp"
#include "reactor.hpp"
#include "tls.hpp"
#include <weir/base/owned_descriptor.hpp>
#include <weir/transport/loop.hpp>

#include <memory>
#include <string>

namespace weir::transport {

// One TCP connection under the reactor, registered once for all its events, edge-triggered. It remembers
// whether the socket may have more to receive, and takes turns with the other connections until it has not.
// Its Stream keeps it alive. After detach_from_core() it is closed, and calls have no effect.
class Connection final : public std::enable_shared_from_this<Connection>, private Reactor::Client {
 public:
  // Without a socket: connect() is called next; otherwise accepted().
  explicit Connection(Loop::Core& core, OwnedDescriptor socket = {});
  ~Connection();

  void connect(const ports::Endpoint& to, ports::StreamHandler& handler);
  void accepted(ports::StreamHandler& handler);
  Outbox& outbox_for_append();
  [[nodiscard]] std::size_t unsent_bytes() const { return outbox_.size() + (tls_ ? tls_->owed_bytes() : 0); }
  void pause_receiving(bool paused);
  // Receives arrived data, up to a limit. Queues itself again if there may be more.
  void take_turn();
  // Closes after a last attempt to send; the handler is not called any more.
  void close();
  void flush();
  [[nodiscard]] ports::StreamCounters counters() const;
  [[nodiscard]] std::uint64_t bytes_received() const { return counters_.bytes_received; }
  [[nodiscard]] std::uint64_t retransmitted() const;
  [[nodiscard]] bool selective_acks() const;
  void note_arrivals();
  [[nodiscard]] UtcNs arrived_utc_ns() const { return arrived_utc_ns_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // The reactor is being destroyed: ends all use of it by this connection.
  void detach_from_core();

 private:
  void on_events(std::uint32_t epoll_events) override;
  // Connects to the next candidate.
  void try_next();
  void connection_made();
  void open_now();
  void shake_hands();
  void established();
  void queue_turn();
  void receive_once();
  [[nodiscard]] ssize_t receive(iovec* list, std::size_t count);
  void send_failed();
  void end(ports::CloseReason reason);
  void shut();
  [[nodiscard]] std::uint64_t retransmits_now() const;

  Loop::Core* core_;  // null once detached
  OwnedDescriptor socket_;
  Reactor::Registration wait_;
  TcpEndpoints candidates_;  // addresses to connect to
  std::size_t next_candidate_ = 0;
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
  bool readable_ = false;  // the socket or TLS may have data to receive
  bool ends_ = false;     // the peer has sent its end, or the connection broke: no further event announces it
  bool queued_ = false;   // in the core's list of readable streams
  bool writing_ = false;  // the socket was full: waits for room
  bool paused_ = false;
  bool dirty_ = false;  // in the core's list of streams to flush
};

}  // namespace weir::transport
