#pragma once

#include "tls_identity.hpp"

#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <optional>
#include <utility>

namespace weir::http {

// The bytes of a connection, plain or in TLS: an asynchronous stream for Beast and Asio. Time limits are
// those of tcp().
class Channel {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;

  // `tls` null: plain.
  Channel(boost::asio::ip::tcp::socket socket, TlsIdentity::Context tls)
      : tcp_(std::move(socket)), context_(std::move(tls)) {
    if (context_) tls_.emplace(tcp_, *context_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] executor_type get_executor() { return tcp_.get_executor(); }
  [[nodiscard]] boost::beast::tcp_stream& tcp() { return tcp_; }
  [[nodiscard]] bool is_tls() const { return tls_.has_value(); }
  // Continues in plain. Requires: no operation is under way.
  void end_tls() { tls_.reset(); }

  template <class Handler>
  void async_handshake(Handler&& handler) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }
  template <class Handler>
  void async_shutdown(Handler&& handler) {
    tls_->async_shutdown(std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
    tcp_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
    tcp_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  boost::beast::tcp_stream tcp_;
  TlsIdentity::Context context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

}  // namespace weir::http
