#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>
#include <weir/lab/relay.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace weir::lab {

// The descriptors on which the relay's thread waits.
class RelayEvents {
 public:
  RelayEvents();
  // Adds a descriptor, by a name of the caller's. Throws std::runtime_error.
  void watch(int file, std::uint64_t name);
  // Ends or resumes waiting for the descriptor's data.
  void set_reading(int file, std::uint64_t name, bool on);
  [[nodiscard]] int get() const { return epoll_.get(); }

 private:
  OwnedDescriptor epoll_;
};

// The frames of a relay, between its devices. The relay's thread and reports use it one at a time.
class RelayWork {
 public:
  virtual ~RelayWork() = default;
  // Returns the descriptors of the devices.
  [[nodiscard]] virtual std::vector<int> devices() const = 0;
  // Takes the frames that arrived at a device. Returns false if it was removed.
  virtual bool receive(std::size_t device, RelayEvents& events) = 0;
  // Sends the frames that are due. Returns false if a device was removed.
  virtual bool send_due(RelayEvents& events) = 0;
  [[nodiscard]] virtual std::optional<TimeNs> due_ns() const = 0;
  virtual void set_down(bool down) = 0;
  [[nodiscard]] virtual std::array<PortCount, 2> line_counts() const = 0;
  [[nodiscard]] virtual std::vector<PortCount> port_counts() const = 0;
  // Adds the frames that the hosts' devices dropped. Thread-safe.
  virtual void add_device_drops(std::vector<PortCount>& ports) const = 0;
  [[nodiscard]] virtual reports::RelayReport report() const = 0;

 protected:
  static constexpr std::size_t kFrameBytesMax = 65536;
  static constexpr int kFramesPerTurn = 64;  // of a device
};

// Links with a delay, and the long line. Throws std::runtime_error.
[[nodiscard]] std::unique_ptr<RelayWork> relay_links(const LabPlan& plan, const LabNetwork& network);
// The software switches of a lab. Throws std::runtime_error.
[[nodiscard]] std::unique_ptr<RelayWork> relay_software(const LabPlan& plan, const LabNetwork& network);
// All switches of a lab with back-pressure. Throws std::runtime_error.
[[nodiscard]] std::unique_ptr<RelayWork> relay_switches(const LabPlan& plan, const LabNetwork& network);

}  // namespace weir::lab
