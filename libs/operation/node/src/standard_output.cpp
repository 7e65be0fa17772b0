#include <weir/node/standard_output.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <poll.h>
#include <string>
#include <unistd.h>

namespace weir::node {
namespace {

constexpr int kNotWritten = 1;

bool reader_is_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

// Some file systems report a full disk only here.
bool closes_well(int descriptor) {
  const int copy = ::dup(descriptor);
  return copy >= 0 && ::close(copy) == 0;
}

}  // namespace

int status_with_output(int status) {
  errno = 0;
  bool good = std::cout.flush().good();
  good = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && good;
  good = good && closes_well(STDOUT_FILENO);
  const int error = errno;
  if (good || reader_is_gone()) return status;
  const std::string why = error == 0 ? "" : std::string(": ") + std::strerror(error);
  std::fprintf(stderr, "%s: standard output could not be written%s\n", program_invocation_short_name,
               why.c_str());
  return status == 0 ? kNotWritten : status;
}

}  // namespace weir::node
