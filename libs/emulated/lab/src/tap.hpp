#pragma once

#include <weir/base/owned_descriptor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace weir::lab {

// A TAP device that a relay holds open, in a network namespace of its own.
struct TapDevice {
  std::string device;
  OwnedDescriptor file;
  std::shared_ptr<OwnedDescriptor> devices;  // /proc/net/dev of its namespace

  // Opens the device, in the calling thread's namespace. Throws std::runtime_error.
  static TapDevice open(const std::string& device, std::shared_ptr<OwnedDescriptor> devices);
  // Returns the table of devices of the calling thread's namespace.
  static std::shared_ptr<OwnedDescriptor> devices_here();
  // Returns the frames dropped because the queue between the kernel and the relay was full.
  [[nodiscard]] std::uint64_t dropped() const;
};

}  // namespace weir::lab
