#include <weir/child_process/child_parts.hpp>
#include <weir/child_process/lifted_descriptor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace weir::child_process {
namespace {

constexpr std::size_t kLineMax = 64 * 1024;     // bytes of a line that are held back until it ends
constexpr std::size_t kPassedMax = 256 * 1024;  // bytes of output in one call

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void print(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

}  // namespace

SharedFile::~SharedFile() {
  if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_);
}

bool SharedFile::open(const char* name, std::size_t bytes) {
  file_ = lifted(OwnedDescriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!file_.is_open() || ::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) return false;
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return false;
  bytes_ = bytes;
  memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  return memory_ != MAP_FAILED;
}

OwnedDescriptor sealed_file(const char* name, std::string_view bytes) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  OwnedDescriptor file = lifted(OwnedDescriptor(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!file.is_open() || !write_all(file.get(), bytes)) return {};
  return ::fcntl(file.get(), F_ADD_SEALS, kSeals) == 0 ? std::move(file) : OwnedDescriptor();
}

bool Pipe::open(int flags) {
  int ends[2];
  if (::pipe2(ends, flags) != 0) return false;
  read = lifted(OwnedDescriptor(ends[0]));
  write = lifted(OwnedDescriptor(ends[1]));
  return read.is_open() && write.is_open();
}

void set_default_signals(posix_spawnattr_t& attributes, short group) {
  sigset_t all;
  sigset_t none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  const int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group;
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
}

Beginning::Beginning() {
  ::posix_spawnattr_init(&attributes_);
  ::posix_spawn_file_actions_init(&actions_);
  ::posix_spawnattr_setpgroup(&attributes_, 0);
  set_default_signals(attributes_, POSIX_SPAWN_SETPGROUP);
  ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
}

Beginning::~Beginning() {
  ::posix_spawn_file_actions_destroy(&actions_);
  ::posix_spawnattr_destroy(&attributes_);
}

void Beginning::pass_on(int from, int to) {
  ::posix_spawn_file_actions_adddup2(&actions_, from, to);
  first_closed_ = std::max(first_closed_, to + 1);
}

int Beginning::start(std::vector<std::string> command, std::string mark, pid_t& pid) {
  ::posix_spawn_file_actions_addclosefrom_np(&actions_, first_closed_);
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> environment{mark.data()};
  for (char** word = environ; *word != nullptr; ++word) environment.push_back(*word);
  environment.push_back(nullptr);
  return ::posix_spawn(&pid, argv.front(), &actions_, &attributes_, argv.data(), environment.data());
}

bool PassedOutput::open() {
  // Programs do not expect an output that refuses bytes.
  return pipe_.open(O_CLOEXEC) && ::fcntl(pipe_.read.get(), F_SETFL, O_NONBLOCK) == 0;
}

void PassedOutput::pass_on(bool end) {
  std::array<char, 16 * 1024> piece;
  for (std::size_t passed = 0; passed < kPassedMax;) {
    const ssize_t got = ::read(pipe_.read.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) pipe_.read = OwnedDescriptor();
    if (got <= 0) break;
    passed += static_cast<std::size_t>(got);
    line_.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t whole = line_.size() > kLineMax ? line_.size() : line_.rfind('\n') + 1;
    print(std::string_view(line_).substr(0, whole));
    line_.erase(0, whole);
  }
  if (!end || line_.empty()) return;
  print(line_ + "\n");
  line_.clear();
}

}  // namespace weir::child_process
