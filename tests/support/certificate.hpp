#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/stat.h>

namespace weir {

// A certificate that signs itself and its key, as PEM files in a folder.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

// `names`: as "DNS:localhost,IP:127.0.0.1". `seconds`: from now until it ends.
inline CertificateFiles make_certificate(const std::string& folder, const std::string& name,
                                         const std::string& names, long seconds = 3600) {
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(::EVP_EC_gen("P-256"), ::EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&::X509_free)> made(::X509_new(), ::X509_free);
  if (!key || !made) throw std::runtime_error("OpenSSL makes no certificate");
  ::X509_set_version(made.get(), 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(made.get()), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), -3600);
  ::X509_gmtime_adj(::X509_getm_notAfter(made.get()), seconds);
  ::X509_set_pubkey(made.get(), key.get());
  X509_NAME* subject = ::X509_get_subject_name(made.get());
  ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("a test of weir"), -1, -1, 0);
  ::X509_set_issuer_name(made.get(), subject);
  X509_EXTENSION* extension = ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  ::X509_add_ext(made.get(), extension, -1);
  ::X509_EXTENSION_free(extension);
  ::X509_sign(made.get(), key.get(), ::EVP_sha256());
  const CertificateFiles files{folder + "/" + name + ".pem", folder + "/" + name + ".key"};
  const auto write = [](const std::string& path, const auto& put) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr || put(file) != 1) throw std::runtime_error("cannot write " + path);
    std::fclose(file);
  };
  write(files.certificate, [&](std::FILE* file) { return ::PEM_write_X509(file, made.get()); });
  write(files.key, [&](std::FILE* file) {
    return ::PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  ::chmod(files.key.c_str(), 0600);
  return files;
}

}  // namespace weir
