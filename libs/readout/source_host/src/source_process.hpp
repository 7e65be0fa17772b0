#pragma once

#include <weir/base/time.hpp>
#include <weir/child_process/child_process.hpp>
#include <weir/source_host/lane.hpp>
#include <weir/source_host/plugin.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::source_host {

// Settings of a host, which it reads before it makes its sources.
struct HostSetup {
  std::string readout;
  std::uint32_t index = 0;
  std::uint32_t fragment_bytes_max = 0;
  std::uint64_t memory_bytes = 0;  // 0: no limit
  std::vector<std::uint32_t> sources;
  std::vector<std::pair<std::string, std::string>> parameters;
};

// Returns the setup in the form of docs/protocols.md, "Source hosts": pairs of a name and a value.
[[nodiscard]] std::string setup_text(const HostSetup& setup, const plugin_loader::PluginCopy& copy);

// One life of a source host: its process, and its lane, which a forked child of an earlier life cannot reach.
class SourceProcess {
 public:
  SourceProcess() = default;
  // Kills a process that has not ended.
  ~SourceProcess();
  SourceProcess(const SourceProcess&) = delete;
  SourceProcess& operator=(const SourceProcess&) = delete;

  // Returns why it cannot be started; empty: it was. `wake`: written to by the host.
  [[nodiscard]] std::string start(const PythonSource& source, const std::string& setup, int wake);
  [[nodiscard]] LaneReader& lane() { return lane_; }
  [[nodiscard]] child_process::ChildProcess& child() { return child_; }

 private:
  child_process::SharedFile lane_file_;
  LaneReader lane_;
  child_process::ChildProcess child_;
};

}  // namespace weir::source_host
