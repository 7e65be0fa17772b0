#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <string>

namespace weir::http {

// PEM files of a server: its certificate, followed by those between it and an authority, and its private key,
// not encrypted.
struct TlsFiles {
  std::string certificate;  // empty: plain HTTP
  std::string key;
};

struct TlsProblem {
  bool of_key = false;  // else of the certificate
  std::string what;     // a sentence with the file
};

// Returns the end of the certificate's validity. Errors: the files cannot be used.
[[nodiscard]] Expected<UtcNs, TlsProblem> check_tls(const TlsFiles& files);

}  // namespace weir::http
