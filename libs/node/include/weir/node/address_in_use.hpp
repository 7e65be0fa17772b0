#pragma once

#include <stdexcept>
#include <string>

namespace weir::node {

// The exit status of a process that could not listen because another one has its address: the
// same start may succeed later.
constexpr int kAddressInUse = 76;

class AddressInUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws AddressInUse if the sentence of a Network that cannot listen says so, otherwise std::runtime_error.
[[noreturn]] void throw_listen_failure(const std::string& why);

}  // namespace weir::node
