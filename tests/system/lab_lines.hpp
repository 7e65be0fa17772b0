#pragma once

#include "farm_run.hpp"

#include <memory>
#include <string>
#include <vector>

namespace weir::system_test {

// The lines of a node's host in a virtual network. What they drop, TCP hears nothing of. Each failure of a
// command fails the test.
class LabLines {
 public:
  // The node has to run; its host stays when it dies.
  LabLines(const TemporaryFolder& folder, const FarmRun& run, const std::string& node);
  ~LabLines();
  LabLines(const LabLines&) = delete;
  LabLines& operator=(const LabLines&) = delete;

  // All frames of the data network that come ("ingress") or go ("egress").
  void cut(const std::string& direction) { drop("data", direction, ""); }
  // Those that come from another host, or go there, on both networks.
  void cut(const std::string& direction, const LabLines& other);
  void mend();

 private:
  struct Address {
    std::string device;
    std::string address;  // as IPv4 writes it
  };
  // `address`: empty: all frames.
  void drop(const std::string& device, const std::string& direction, const std::string& address);
  [[nodiscard]] std::string command(const std::string& words) const;  // what it says

  const TemporaryFolder& folder_;
  int space_;
  std::vector<Address> addresses_;
  std::vector<std::string> cut_;  // devices
};

}  // namespace weir::system_test
