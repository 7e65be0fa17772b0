#include "tls.hpp"

#include <weir/base/assert.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>

namespace weir::transport {
namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;     // the maximum in TLS
constexpr std::size_t kReadAheadBytes = 64 * 1024;  // several records per system call
constexpr std::size_t kOwedMax = 256 * 1024;
constexpr char kCipher[] = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kCipherId[] = {0x13, 0x01};  // the same cipher; RFC 8446, B.4

// Returns the session that represents a pre-shared key, or null if it cannot be made.
SSL_SESSION* session_of(SSL* ssl, const TlsKey& key) {
  const SSL_CIPHER* cipher = ::SSL_CIPHER_find(ssl, kCipherId);
  SSL_SESSION* session = ::SSL_SESSION_new();
  if (session == nullptr || cipher == nullptr) return nullptr;
  const auto* secret = reinterpret_cast<const unsigned char*>(key.secret.data());
  if (::SSL_SESSION_set1_master_key(session, secret, key.secret.size()) == 1 &&
      ::SSL_SESSION_set_cipher(session, cipher) == 1 &&
      ::SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1) {
    return session;
  }
  ::SSL_SESSION_free(session);
  return nullptr;
}

const TlsContext& context_of(SSL* ssl) {
  return *static_cast<const TlsContext*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(ssl)));
}

int say_key(SSL* ssl, const EVP_MD* digest, const unsigned char** name, std::size_t* name_size,
            SSL_SESSION** session) {
  *session = nullptr;
  const TlsKey& key = context_of(ssl).keys().front();
  SSL_SESSION* made = session_of(ssl, key);
  if (made == nullptr) return 0;
  if (digest != nullptr && ::SSL_CIPHER_get_handshake_digest(::SSL_SESSION_get0_cipher(made)) != digest) {
    ::SSL_SESSION_free(made);
    return 1;
  }
  *name = reinterpret_cast<const unsigned char*>(key.name.data());
  *name_size = key.name.size();
  *session = made;
  return 1;
}

int find_key(SSL* ssl, const unsigned char* name, std::size_t name_size, SSL_SESSION** session) {
  *session = nullptr;
  const std::string_view wanted(reinterpret_cast<const char*>(name), name_size);
  for (const TlsKey& key : context_of(ssl).keys()) {
    if (key.name == wanted) *session = session_of(ssl, key);
  }
  return 1;
}

// A BIO through which OpenSSL puts records into the session's memory.
BIO_METHOD* output_method(int (*take)(BIO*, const char*, int)) {
  static BIO_METHOD* const kMethod = [take] {
    BIO_METHOD* method = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir records");
    WEIR_ASSERT(method != nullptr);
    ::BIO_meth_set_write(method, take);
    ::BIO_meth_set_ctrl(method, [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH; });
    return method;
  }();
  return kMethod;
}

}  // namespace

TlsContext::TlsContext(std::vector<TlsKey> keys)
    : keys_(std::move(keys)), context_(::SSL_CTX_new(::TLS_method())) {
  WEIR_ASSERT(!keys_.empty());
  const bool good = context_ != nullptr && ::SSL_CTX_set_min_proto_version(context_, TLS1_3_VERSION) == 1 &&
                    ::SSL_CTX_set_ciphersuites(context_, kCipher) == 1 &&
                    ::SSL_CTX_set_num_tickets(context_, 0) == 1;
  if (!good)
    throw std::runtime_error("security.tls: this OpenSSL has no TLS 1.3 with " + std::string(kCipher));
  SSL_CTX_set_app_data(context_, this);
  ::SSL_CTX_set_psk_use_session_callback(context_, say_key);
  ::SSL_CTX_set_psk_find_session_callback(context_, find_key);
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context_, 1);
  ::SSL_CTX_set_default_read_buffer_len(context_, kReadAheadBytes);
}

TlsContext::~TlsContext() { ::SSL_CTX_free(context_); }

std::unique_ptr<TlsSession> TlsContext::open(int socket, bool connecting) {
  SSL* session = ::SSL_new(context_);
  if (session == nullptr || ::SSL_set_fd(session, socket) != 1) {
    ::SSL_free(session);
    return nullptr;
  }
  if (connecting) {
    ::SSL_set_connect_state(session);
    // No peer has a certificate, so one that offers a certificate instead of the key is not part of the farm.
    ::SSL_set_verify(session, SSL_VERIFY_PEER, nullptr);
  } else {
    ::SSL_set_accept_state(session);
  }
  return std::make_unique<TlsSession>(session, socket);
}

TlsSession::TlsSession(ssl_st* session, int socket) : session_(session), socket_(socket) {
  BIO* output = ::BIO_new(output_method(take_record));
  WEIR_ASSERT(output != nullptr);
  ::BIO_set_data(output, this);
  ::BIO_set_init(output, 1);
  ::SSL_set0_wbio(session_, output);
}

TlsSession::~TlsSession() { ::SSL_free(session_); }

int TlsSession::take_record(bio_st* bio, const char* bytes, int size) {
  std::vector<char>& records = static_cast<TlsSession*>(::BIO_get_data(bio))->records_;
  records.insert(records.end(), bytes, bytes + size);
  return size;
}

bool TlsSession::push() {
  while (sent_ < records_.size()) {
    const ssize_t n =
        ::send(socket_, records_.data() + sent_, records_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    sent_ += static_cast<std::size_t>(n);
    WEIR_ASSERT(sent_ <= records_.size());
  }
  records_.clear();
  sent_ = 0;
  return true;
}

TlsSession::Step TlsSession::handshake() {
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(session_);
  const int why = ::SSL_get_error(session_, result);
  const bool pushed = push();
  if ((!pushed && errno != EAGAIN) || (result != 1 && why != SSL_ERROR_WANT_READ)) {
    broken_ = true;
    return Step::failed;
  }
  if (!pushed) return Step::wants_write;
  if (result != 1) return Step::wants_read;
  may_have_more_ = true;  // data may have arrived with the last handshake message
  // Only a peer with the key gets this far, but this is checked anyway.
  return ::SSL_session_reused(session_) == 1 ? Step::done : Step::failed;
}

ssize_t TlsSession::failed(int result) {
  const int why = ::SSL_get_error(session_, result);
  (void)push();  // sends an alert to the peer
  if (why == SSL_ERROR_ZERO_RETURN) return 0;
  // Otherwise a record was altered, or the connection ended without notice or failed.
  broken_ = why != SSL_ERROR_WANT_READ;
  errno = broken_ ? ECONNRESET : EAGAIN;
  return -1;
}

ssize_t TlsSession::read(std::span<const iovec> list) {
  std::size_t have = 0;
  for (const iovec& part : list) {
    for (std::size_t filled = 0; filled < part.iov_len;) {
      ::ERR_clear_error();
      std::size_t n = 0;
      const int result =
          ::SSL_read_ex(session_, static_cast<char*>(part.iov_base) + filled, part.iov_len - filled, &n);
      if (result != 1) {
        const ssize_t why = failed(result);
        // The next call finds the end again; the socket itself may not report it.
        may_have_more_ = have > 0 && (why == 0 || errno != EAGAIN);
        return have > 0 ? static_cast<ssize_t>(have) : why;
      }
      filled += n;
      have += n;
    }
  }
  may_have_more_ = true;
  return static_cast<ssize_t>(have);
}

ssize_t TlsSession::write(std::span<const iovec> list) {
  if (!push()) return -1;
  std::size_t taken = 0;
  std::size_t piece = 0;
  std::size_t at = 0;  // offset in the current piece
  while (piece < list.size()) {
    const std::byte* from = static_cast<const std::byte*>(list[piece].iov_base) + at;
    std::size_t size = std::min(list[piece].iov_len - at, kRecordBytes);
    if (size < kRecordBytes && piece + 1 < list.size()) {
      staging_.resize(kRecordBytes);
      size = 0;
      for (std::size_t i = piece, skip = at; i < list.size() && size < kRecordBytes; ++i, skip = 0) {
        const std::size_t n = std::min(list[i].iov_len - skip, kRecordBytes - size);
        std::memcpy(staging_.data() + size, static_cast<const std::byte*>(list[i].iov_base) + skip, n);
        size += n;
      }
      from = staging_.data();
    }
    ::ERR_clear_error();
    std::size_t n = 0;
    const int result = ::SSL_write_ex(session_, from, size, &n);
    if (result != 1) return failed(result);
    WEIR_ASSERT(n <= size);
    taken += n;
    for (at += n; piece < list.size() && at >= list[piece].iov_len; ++piece) at -= list[piece].iov_len;
    if (records_.size() >= kOwedMax && !push()) return static_cast<ssize_t>(taken);
  }
  (void)push();  // errors are reported when the rest is sent
  return static_cast<ssize_t>(taken);
}

void TlsSession::say_end() {
  if (!broken_) (void)::SSL_shutdown(session_);
  (void)push();
  ::ERR_clear_error();
}

}  // namespace weir::transport
