#pragma once

#include <weir/transport/loop.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <sys/types.h>
#include <sys/uio.h>
#include <vector>

struct ssl_ctx_st;
struct ssl_st;

namespace weir::transport {

// TLS 1.3 over one connected, non-blocking socket, which it does not own. read() and write() answer as readv
// and sendmsg do: bytes, 0 when the other side ended in order, -1 with errno (EAGAIN: later).
class TlsSession {
 public:
  enum class Step : std::uint8_t { done, wants_read, wants_write, failed };

  explicit TlsSession(ssl_st* session);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Until it says done: nothing else may be called before.
  [[nodiscard]] Step handshake();
  [[nodiscard]] ssize_t read(std::span<const iovec> list);
  // What was not taken has to come first, unchanged, in the next call; it may lie elsewhere.
  [[nodiscard]] ssize_t write(std::span<const iovec> list);
  // Bytes may be here that the socket will not tell of.
  [[nodiscard]] bool may_have_more() const { return may_have_more_; }
  // Tells the other side that this is the end, as far as the socket takes it.
  void say_end();

 private:
  [[nodiscard]] ssize_t failed(int result);

  ssl_st* session_;
  std::vector<std::byte> staging_;  // small pieces, joined to a record
  bool may_have_more_ = false;
  bool broken_ = false;
};

// What all connections of a loop have in common: the keys. Cryptography is OpenSSL's.
class TlsContext {
 public:
  // At least one key. Throws std::runtime_error when OpenSSL lacks what is needed.
  explicit TlsContext(std::vector<TlsKey> keys);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // Empty: no memory.
  [[nodiscard]] std::unique_ptr<TlsSession> open(int socket, bool connecting);
  [[nodiscard]] const std::vector<TlsKey>& keys() const { return keys_; }

 private:
  std::vector<TlsKey> keys_;
  ssl_ctx_st* context_;
};

}  // namespace weir::transport
