#include <weir/base/owned_descriptor.hpp>
#include <weir/security/keys.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::security {
namespace {

constexpr mode_t kSecretMode = 0600;
constexpr mode_t kPublicMode = 0644;
constexpr mode_t kOthersAnything = 0077;
constexpr mode_t kGroupRead = 0040;
constexpr mode_t kOthersWrite = 0022;

std::string failed(const std::string& file, const char* what) {
  return file + ": cannot be " + what + ": " + std::strerror(errno);
}

// Checks the open file, not a file that may have replaced it since.
std::string wrong_mode(int fd, const std::string& file, bool secret) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return failed(file, "looked at");
  if (!S_ISREG(about.st_mode)) return file + ": is not a regular file";
  if (about.st_uid != ::geteuid() && about.st_uid != 0)
    return file + ": belongs to another user: change its owner with chown";
  // A service gets a secret that root owns through its group.
  const bool handed_out = about.st_uid == 0 && ::geteuid() != 0;
  const mode_t forbidden = handed_out ? kOthersAnything & ~kGroupRead : kOthersAnything;
  if (secret && (about.st_mode & forbidden) != 0) {
    return file + ": holds a secret, and other users can read or write it: if none has, " + "`chmod 600 " +
           file + "`; otherwise create new keys with `weir keys`";
  }
  if ((about.st_mode & kOthersWrite) != 0)
    return file + ": users other than its owner can write to it: `chmod 644 " + file + "`";
  return {};
}

Expected<std::string, std::string> read_file(const std::string& file, bool secret) {
  const OwnedDescriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return Unexpected<std::string>(failed(file, "read"));
  if (std::string why = wrong_mode(fd.get(), file, secret); !why.empty())
    return Unexpected<std::string>(std::move(why));
  std::string text(kKeyFileBytesMax + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Unexpected<std::string>(failed(file, "read"));
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  if (have > kKeyFileBytesMax) {
    return Unexpected<std::string>(file + ": is larger than " + std::to_string(kKeyFileBytesMax) +
                                   " bytes, which no file of keys is");
  }
  text.resize(have);
  return text;
}

std::string write_all(int fd, const std::string& file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(file, "written");
    done += static_cast<std::size_t>(n);
  }
  return ::fsync(fd) == 0 ? std::string() : failed(file, "written");
}

}  // namespace

Expected<FarmKeys, std::string> read_farm_keys(const std::string& file) {
  return read_file(file, true).and_then([&](const std::string& text) { return parse_farm_keys(text, file); });
}

Expected<FarmKeys, std::string> read_trigger_keys(const std::string& file) {
  return read_file(file, true).and_then([&](const std::string& text) {
    return parse_trigger_keys(text, file);
  });
}

Expected<CurveKeys, std::string> read_curve_keys(const std::string& file) {
  return read_file(file, true).and_then([&](const std::string& text) {
    return parse_curve_keys(text, file);
  });
}

Expected<std::vector<AllowedClient>, std::string> read_clients(const std::string& file) {
  return read_file(file, false).and_then([&](const std::string& text) { return parse_clients(text, file); });
}

std::string write_new_file(const std::string& file, const std::string& text, bool secret) {
  const OwnedDescriptor fd(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, secret ? kSecretMode : kPublicMode));
  if (fd.get() < 0 && errno == EEXIST)
    return file + ": exists already, and keys are never overwritten: name another folder";
  if (fd.get() < 0) return failed(file, "made");
  std::string why = write_all(fd.get(), file, text);
  if (!why.empty()) ::unlink(file.c_str());
  return why;
}

std::string replace_file(const std::string& file, const std::string& text, bool secret) {
  const std::string fresh = file + ".new";
  ::unlink(fresh.c_str());  // left by an interrupted attempt
  if (std::string why = write_new_file(fresh, text, secret); !why.empty()) return why;
  if (std::rename(fresh.c_str(), file.c_str()) == 0) return {};
  std::string why = failed(file, "replaced");
  ::unlink(fresh.c_str());
  return why;
}

}  // namespace weir::security
