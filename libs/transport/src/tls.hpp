#pragma once

#include <weir/transport/loop.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <sys/types.h>
#include <sys/uio.h>
#include <vector>

struct bio_st;
struct ssl_ctx_st;
struct ssl_st;

namespace weir::transport {

// TLS 1.3 over one connected, non-blocking socket, which it does not own. read() and write() answer as readv
// and sendmsg do: bytes, 0 when the other side ended in order, -1 with errno (EAGAIN: later).
class TlsSession {
 public:
  enum class Step : std::uint8_t { done, wants_read, wants_write, failed };

  TlsSession(ssl_st* session, int socket);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Until it says done: nothing else may be called before.
  [[nodiscard]] Step handshake();
  [[nodiscard]] ssize_t read(std::span<const iovec> list);
  // Takes what it can send, and up to kOwedMax more; without a list it sends what it owes.
  [[nodiscard]] ssize_t write(std::span<const iovec> list);
  // Encrypted, and not in the socket yet.
  [[nodiscard]] std::size_t owed_bytes() const { return records_.size() - sent_; }
  // Bytes may be here that the socket will not tell of.
  [[nodiscard]] bool may_have_more() const { return may_have_more_; }
  // Tells the other side that this is the end, as far as the socket takes it.
  void say_end();

 private:
  static int take_record(bio_st* bio, const char* bytes, int size);
  [[nodiscard]] ssize_t failed(int result);
  bool push();  // false with errno: not all could be sent

  ssl_st* session_;
  int socket_;
  std::vector<std::byte> staging_;  // small pieces, joined to a record
  // Records that leave together: a system call for each costs more than its encryption.
  std::vector<char> records_;
  std::size_t sent_ = 0;  // of them
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
