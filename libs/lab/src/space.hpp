#pragma once

#include "descriptor.hpp"
#include <weir/base/expected.hpp>

#include <functional>
#include <string>

namespace weir::lab {

// Runs `work` in a thread of its own inside the network namespace and waits for it. What it opens belongs to
// that namespace for good. Throws what `work` throws, or std::runtime_error when the namespace cannot be
// entered.
void in_space(int space, const std::function<void()>& work);

// A fresh network namespace without a name: it lives as long as a descriptor, a process or a socket is in
// it. `first` runs inside it. Throws std::runtime_error; NotPermitted when this user may not.
struct NotPermitted {};
[[nodiscard]] Descriptor make_space(const std::function<void()>& first);

// Writes a setting below /proc/sys/net/ of the calling thread's namespace. The error is errno's text.
[[nodiscard]] Expected<void, std::string> write_sysctl(const std::string& name, const std::string& value);

}  // namespace weir::lab
