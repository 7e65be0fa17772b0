#pragma once

#include <stdexcept>
#include <string>

namespace weir::node {

// Exit status of a process that could not listen because its address is in use: a later start may succeed.
constexpr int kAddressInUse = 76;

class AddressInUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws AddressInUse if a Network's error says so, otherwise std::runtime_error.
[[noreturn]] void throw_listen_failure(const std::string& why);

}  // namespace weir::node
