#include "tls_identity.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace weir::http {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

struct Loaded {
  TlsIdentity::Context context;
  UtcNs ends_utc_ns = 0;
};

Unexpected<TlsProblem> refuse(bool of_key, const std::string& file, const std::string& why) {
  return Unexpected<TlsProblem>(TlsProblem{of_key, "'" + file + "': " + why});
}

// Returns why the file cannot be read; empty: it can.
std::string unreadable(const std::string& file, bool is_secret) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0 || ::access(file.c_str(), R_OK) != 0) return std::strerror(errno);
  if (!S_ISREG(about.st_mode)) return "is not a regular file";
  if (is_secret && (about.st_mode & 0007U) != 0) return "other users may read it: `chmod o= " + file + "`";
  return {};
}

UtcNs end_of(const X509* certificate) {
  std::tm parts{};
  if (certificate == nullptr || ::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate), &parts) != 1) return 0;
  return static_cast<UtcNs>(::timegm(&parts)) * kSecond;
}

Expected<Loaded, TlsProblem> load(const TlsFiles& files) {
  for (const bool of_key : {false, true}) {
    const std::string& file = of_key ? files.key : files.certificate;
    if (const std::string why = unreadable(file, of_key); !why.empty()) return refuse(of_key, file, why);
  }
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  ::SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  ::SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Otherwise OpenSSL asks for a passphrase at the terminal.
  ::SSL_CTX_set_default_passwd_cb(native, [](char*, int, int, void*) { return -1; });
  ::ERR_clear_error();
  error_code error;
  context->use_certificate_chain_file(files.certificate, error);
  if (error) return refuse(false, files.certificate, "is not a certificate in PEM: " + error.message());
  context->use_private_key_file(files.key, ssl::context::pem, error);
  if (error && ERR_GET_REASON(static_cast<unsigned long>(error.value())) == X509_R_KEY_VALUES_MISMATCH)
    return refuse(true, files.key, "is not the key of '" + files.certificate + "'");
  if (error)
    return refuse(true, files.key, "is not a private key in PEM without a passphrase: " + error.message());
  return Loaded{std::move(context), end_of(::SSL_CTX_get0_certificate(native))};
}

}  // namespace

Expected<UtcNs, TlsProblem> check_tls(const TlsFiles& files) {
  const auto loaded = load(files);
  if (!loaded) return Unexpected<TlsProblem>(loaded.error());
  return loaded->ends_utc_ns;
}

TlsIdentity::TlsIdentity(TlsFiles files) : files_(std::move(files)), read_(stamp()) {
  auto loaded = load(files_);
  if (!loaded) throw std::runtime_error("HTTPS: " + loaded.error().what);
  context_ = std::move(loaded->context);
  ends_utc_ns_ = loaded->ends_utc_ns;
}

TlsIdentity::Stamp TlsIdentity::stamp() const {
  Stamp stamp;
  std::size_t at = 0;
  for (const std::string& file : {files_.certificate, files_.key}) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) about = {};
    for (const std::int64_t one :
         {static_cast<std::int64_t>(about.st_ino), static_cast<std::int64_t>(about.st_size),
          static_cast<std::int64_t>(about.st_mtim.tv_sec), static_cast<std::int64_t>(about.st_mtim.tv_nsec)})
      stamp.of_files[at++] = one;
  }
  return stamp;
}

TlsIdentity::Context TlsIdentity::current() {
  if (const Stamp now = stamp(); now != read_) {
    read_ = now;
    auto loaded = load(files_);
    problem_ = loaded ? "" : loaded.error().what;
    if (loaded) {
      context_ = std::move(loaded->context);
      ends_utc_ns_ = loaded->ends_utc_ns;
    }
  }
  return context_;
}

}  // namespace weir::http
