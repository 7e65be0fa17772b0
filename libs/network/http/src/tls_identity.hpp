#pragma once

#include <weir/http/tls_files.hpp>

#include <boost/asio/ssl/context.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace weir::http {

// A server's certificate and key, which follow their files: a renewed certificate needs no restart. For one
// thread.
class TlsIdentity {
 public:
  using Context = std::shared_ptr<boost::asio::ssl::context>;

  // Throws std::runtime_error if the files cannot be used.
  explicit TlsIdentity(TlsFiles files);
  // Returns the context for a new connection. Reads changed files again; if they cannot be used, the earlier
  // ones stay in use, and problem() has the reason.
  [[nodiscard]] Context current();
  [[nodiscard]] UtcNs ends_utc_ns() const { return ends_utc_ns_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct Stamp {
    std::array<std::int64_t, 8> of_files{};  // inode, size and time of change of each
    bool operator==(const Stamp&) const = default;
  };
  [[nodiscard]] Stamp stamp() const;

  TlsFiles files_;
  Stamp read_;
  Context context_;
  UtcNs ends_utc_ns_ = 0;
  std::string problem_;
};

}  // namespace weir::http
