#pragma once

#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

namespace weir::test {

// Runs `work` in a thread, and throws its exception.
inline void in_thread(const std::function<void()>& work) {
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

// Runs `work` in a thread with a new network namespace, which ends with it.
inline void in_own_space(const std::function<void()>& work) {
  in_thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) throw std::runtime_error("cannot make a network namespace");
    work();
  });
}

// Runs `work` in a thread in the network namespace that `path` names.
inline void in_space(const std::string& path, const std::function<void()>& work) {
  in_thread([&] {
    const int space = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = space >= 0 && ::setns(space, CLONE_NEWNET) == 0;
    if (space >= 0) ::close(space);
    if (!entered) throw std::runtime_error("cannot enter the network namespace " + path);
    work();
  });
}

// Makes a cable between two new devices that send no frames by themselves.
inline void add_cable(const std::string& a, const std::string& b) {
  const std::string make = "ip link add " + a + " type veth peer name " + b;
  const std::string up = " && ip link set " + a + " arp off up && ip link set " + b + " arp off up";
  if (std::system(
          ("(echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6) 2>/dev/null; " + make + up).c_str()) != 0)
    throw std::runtime_error("cannot make a cable");
}

}  // namespace weir::test
