#include "space.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <sched.h>
#include <stdexcept>
#include <thread>

namespace weir::lab {
namespace {

// Only this thread changes its namespace; the process' other threads keep theirs.
void in_thread(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

void in_space(int space, const std::function<void()>& work) {
  in_thread([&] {
    if (::setns(space, CLONE_NEWNET) != 0) {
      throw std::runtime_error(std::string("cannot enter a network namespace: ") + std::strerror(errno));
    }
    work();
  });
}

OwnedDescriptor make_space(const std::function<void()>& first) {
  OwnedDescriptor space;
  in_thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) {
      if (errno == EPERM) throw NotPermitted();
      throw std::runtime_error(std::string("cannot create a network namespace: ") + std::strerror(errno));
    }
    space = OwnedDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!space.is_open())
      throw std::runtime_error(std::string("/proc/thread-self/ns/net: ") + std::strerror(errno));
    first();
  });
  return space;
}

Expected<void, std::string> write_sysctl(const std::string& name, const std::string& value) {
  const OwnedDescriptor file(::open(("/proc/sys/net/" + name).c_str(), O_WRONLY | O_CLOEXEC));
  const bool written =
      file.is_open() && ::write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
  if (!written) return Unexpected<std::string>(std::strerror(errno));
  return {};
}

}  // namespace weir::lab
