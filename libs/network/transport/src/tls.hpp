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

// TLS 1.3 over one connected, non-blocking socket, which it does not own. read() and write() return like
// readv and sendmsg: bytes, 0 if the peer ended in order, -1 with errno (EAGAIN: later).
class TlsSession {
 public:
  enum class Step : std::uint8_t { done, wants_read, wants_write, failed };

  TlsSession(ssl_st* session, int socket);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // To be called until it returns done, before any other function.
  [[nodiscard]] Step handshake();
  [[nodiscard]] ssize_t read(std::span<const iovec> list);
  // Accepts as many bytes as it can send, and up to kOwedMax more; without a list it sends pending bytes.
  [[nodiscard]] ssize_t write(std::span<const iovec> list);
  // Returns encrypted bytes that are not in the socket yet.
  [[nodiscard]] std::size_t owed_bytes() const { return records_.size() - sent_; }
  // Returns whether bytes may be pending that the socket does not report.
  [[nodiscard]] bool may_have_more() const { return may_have_more_; }
  // Sends the end of the stream, if the socket takes it.
  void say_end();

 private:
  static int take_record(bio_st* bio, const char* bytes, int size);
  [[nodiscard]] ssize_t failed(int result);
  bool push();  // false with errno: not all could be sent

  ssl_st* session_;
  int socket_;
  std::vector<std::byte> staging_;  // small pieces, joined into a record
  // Records that are sent together: a system call for each costs more than its encryption.
  std::vector<char> records_;
  std::size_t sent_ = 0;  // bytes of them already sent
  bool may_have_more_ = false;
  bool broken_ = false;
};

// The common part of a loop's connections: the keys. Cryptography is OpenSSL's.
class TlsContext {
 public:
  // Requires: at least one key. Throws std::runtime_error if OpenSSL lacks a needed feature.
  explicit TlsContext(std::vector<TlsKey> keys);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // Returns null if memory is exhausted.
  [[nodiscard]] std::unique_ptr<TlsSession> open(int socket, bool connecting);
  [[nodiscard]] const std::vector<TlsKey>& keys() const { return keys_; }

 private:
  std::vector<TlsKey> keys_;
  ssl_ctx_st* context_;
};

}  // namespace weir::transport
