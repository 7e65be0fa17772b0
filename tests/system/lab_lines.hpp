#pragma once

#include "farm_run.hpp"

#include <memory>
#include <string>
#include <vector>

namespace weir::system_test {

// Controls the links of a node's host in a virtual network. TCP gets no error for packets that they drop. A
// failed command fails the test.
class LabLines {
 public:
  // Requires: the node is running. Its host remains if the node dies.
  LabLines(const TemporaryFolder& folder, const FarmRun& run, const std::string& node);
  ~LabLines();
  LabLines(const LabLines&) = delete;
  LabLines& operator=(const LabLines&) = delete;

  // All frames of the data network that come ("ingress") or go ("egress").
  void cut(const std::string& direction) { drop("data", direction, ""); }
  // Cuts packets from or to another host, on both networks.
  void cut(const std::string& direction, const LabLines& other);
  void mend();

 private:
  struct Address {
    std::string device;
    std::string address;  // as IPv4 writes it
  };
  // `address`: empty: all frames.
  void drop(const std::string& device, const std::string& direction, const std::string& address);
  [[nodiscard]] std::string command(const std::string& words) const;  // returns its output

  const TemporaryFolder& folder_;
  int space_;
  std::vector<Address> addresses_;
  std::vector<std::string> cut_;  // devices
};

}  // namespace weir::system_test
