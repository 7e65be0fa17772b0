#include "lab_lines.hpp"

#include "weir_catch.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

namespace weir::system_test {

LabLines::LabLines(const TemporaryFolder& folder, const FarmRun& run, const std::string& node)
    : folder_(folder),
      space_(::open(("/proc/" + std::to_string(run.pid_of(node)) + "/ns/net").c_str(), O_RDONLY)) {
  REQUIRE(space_ >= 0);
  // 2: data    inet 10.77.0.1/16 scope global data\ ...
  std::istringstream lines(command("ip -4 -o address show scope global"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number;
    std::string family;
    Address found;
    words >> number >> found.device >> family >> found.address;
    found.address.resize(found.address.find('/'));
    addresses_.push_back(found);
  }
  REQUIRE(!addresses_.empty());
}

LabLines::~LabLines() { ::close(space_); }

void LabLines::cut(const std::string& direction, const LabLines& other) {
  for (const Address& own : addresses_) {
    for (const Address& there : other.addresses_) {
      if (there.device == own.device) drop(own.device, direction, there.address);
    }
  }
}

void LabLines::mend() {
  for (const std::string& device : cut_) (void)command("tc qdisc del dev " + device + " clsact");
  cut_.clear();
}

void LabLines::drop(const std::string& device, const std::string& direction, const std::string& address) {
  if (std::find(cut_.begin(), cut_.end(), device) == cut_.end()) {
    (void)command("tc qdisc add dev " + device + " clsact");
    cut_.push_back(device);
  }
  // Classic BPF: the source of an IPv4 frame is at byte 26, the destination at byte 30. 2 drops, -1 passes.
  std::string program = "1,6 0 0 2,";
  if (!address.empty()) {
    const std::string at = direction == "ingress" ? "26" : "30";
    program = "4,32 0 0 " + at + ",21 0 1 " + std::to_string(ntohl(::inet_addr(address.c_str()))) +
              ",6 0 0 2,6 0 0 4294967295,";
  }
  (void)command("tc filter add dev " + device + " " + direction + " bpf direct-action bytecode '" + program +
                "'");
}

std::string LabLines::command(const std::string& words) const {
  const std::string space = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(space_);
  Process process({"/bin/sh", "-c", "nsenter --net=" + space + " " + words}, folder_ / "line.out",
                  folder_ / "line.err");
  const auto status = process.wait(Seconds(10));
  INFO(words << "\n" << process.err());
  REQUIRE(status == 0);
  return process.out();
}

}  // namespace weir::system_test
