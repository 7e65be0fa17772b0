#include "detachment.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace weir::run {
namespace {

constexpr char kStays = '\0';  // sent when the child has said all that the parent is to print
constexpr mode_t kLogMode = 0666;

void lead_output_to(int descriptor) {
  std::fflush(nullptr);
  (void)::dup2(descriptor, STDOUT_FILENO);
  (void)::dup2(descriptor, STDERR_FILENO);
}

}  // namespace

Expected<Detachment, std::string> Detachment::begin() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Unexpected<std::string>(std::strerror(errno));
  OwnedDescriptor from(ends[0]);
  OwnedDescriptor to(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return Unexpected<std::string>(std::strerror(errno));
  Detachment made;
  if (child > 0) {
    made.parent_ = true;
    made.pipe_ = std::move(from);
    to = OwnedDescriptor();
    made.wait_for(child);
    return made;
  }
  (void)::setsid();
  const OwnedDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.is_open()) (void)::dup2(nothing.get(), STDIN_FILENO);
  lead_output_to(to.get());
  made.pipe_ = std::move(to);
  return made;
}

void Detachment::wait_for(int child) {
  char text[4096];
  for (;;) {
    const ssize_t got = ::read(pipe_.get(), text, sizeof text);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const auto* end = static_cast<const char*>(std::memchr(text, kStays, static_cast<std::size_t>(got)));
    std::fwrite(text, 1,
                end == nullptr ? static_cast<std::size_t>(got) : static_cast<std::size_t>(end - text),
                stdout);
    std::fflush(stdout);
    if (end != nullptr) return;
  }
  int how = 0;
  while (::waitpid(child, &how, 0) < 0 && errno == EINTR) {
  }
  status_ = WIFEXITED(how) ? WEXITSTATUS(how) : 1;
}

void Detachment::stay(const std::string& log_file) {
  std::fflush(nullptr);
  (void)!::write(pipe_.get(), &kStays, 1);
  OwnedDescriptor file(::open(log_file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kLogMode));
  if (!file.is_open()) file = OwnedDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (file.is_open()) lead_output_to(file.get());
  pipe_ = OwnedDescriptor();
}

}  // namespace weir::run
