#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/owned_descriptor.hpp>

#include <functional>
#include <string>

namespace weir::lab {

// Runs `work` in a separate thread inside the network namespace and waits for it. Sockets that it opens stay
// in that namespace. Throws the exceptions of `work`, or std::runtime_error if the namespace cannot be
// entered.
void in_space(int space, const std::function<void()>& work);

// Makes a new network namespace without a name, which exists while a descriptor, a process or a socket is in
// it. `first` runs inside it. Throws std::runtime_error, or NotPermitted if this user lacks the rights.
struct NotPermitted {};
[[nodiscard]] OwnedDescriptor make_space(const std::function<void()>& first);

// Writes a setting below /proc/sys/net/ of the calling thread's namespace. The error is errno's text.
[[nodiscard]] Expected<void, std::string> write_sysctl(const std::string& name, const std::string& value);

}  // namespace weir::lab
