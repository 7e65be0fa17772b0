#include <weir/node/run_claim.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>

namespace weir::node {
namespace {

constexpr mode_t kClaimMode = 0666;
constexpr std::string_view kId = "id: \"";
constexpr int kHexadecimal = 16;

std::string text_of(RunNumber run, const std::string& farm, std::uint64_t id) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format(
      "# Owner of this run: its processes have this id, and no others work on it.\n"
      "run: {}\n{}{:016x}\"\nfarm: \"{}\"\nclaimed: {:%Y-%m-%dT%H:%M:%SZ}\nhost: \"{}\"\nprocess: {}\n",
      run.value, kId, id, farm, fmt::gmtime(std::chrono::system_clock::now()), host, ::getpid());
}

bool write_new(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kClaimMode);
  if (file < 0) return false;
  const ssize_t written = ::write(file, text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  const bool whole = ::close(file) == 0 && written == static_cast<ssize_t>(text.size());
  if (whole) return true;
  ::unlink(path.c_str());
  errno = error;
  return false;
}

// Makes the file appear complete or not at all, because other processes read it.
bool make_once(const std::string& path, const std::string& beside, const std::string& text) {
  if (!write_new(beside, text)) return false;
  const bool linked = ::link(beside.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(beside.c_str());
  if (linked) return true;
  errno = error;
  // True for a file system without hard links.
  const bool without = error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
  return without && write_new(path, text);
}

}  // namespace

std::string claim_path(const std::string& folder, RunNumber run) {
  return fmt::format("{}/run-{:06}-claim.yaml", folder, run.value);
}

std::optional<std::uint64_t> read_claim(const std::string& folder, RunNumber run) {
  std::ifstream file(claim_path(folder, run));
  if (!file) return std::nullopt;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kId)) continue;
    std::uint64_t id = 0;
    const char* begin = line.data() + kId.size();
    const auto [end, error] = std::from_chars(begin, line.data() + line.size(), id, kHexadecimal);
    if (error == std::errc() && end != begin) return id;
  }
  return 0;
}

Expected<bool, std::string> claim_run(const std::string& folder, RunNumber run, const std::string& farm,
                                      std::uint64_t id) {
  const std::string path = claim_path(folder, run);
  if (make_once(path, fmt::format("{}.{:016x}-{}", path, id, ::getpid()), text_of(run, farm, id)))
    return true;
  if (errno == EEXIST) return false;
  return Unexpected<std::string>(fmt::format("cannot write into '{}': {}", folder, std::strerror(errno)));
}

Expected<bool, std::string> hold_claim(const std::string& folder, RunNumber run, const std::string& farm,
                                       std::uint64_t id) {
  if (read_claim(folder, run) == id) return false;
  const auto claimed = claim_run(folder, run, farm, id);
  if (!claimed || *claimed) return claimed;
  if (read_claim(folder, run) == id) return false;  // another process of the run came first
  return Unexpected<std::string>(
      fmt::format("'{}' holds run {} of another farm, as {} shows: choose another run number or folder",
                  folder, run.value, claim_path(folder, run)));
}

void give_up_claim(const std::string& folder, RunNumber run, std::uint64_t id) {
  if (read_claim(folder, run) == id) ::unlink(claim_path(folder, run).c_str());
}

}  // namespace weir::node
