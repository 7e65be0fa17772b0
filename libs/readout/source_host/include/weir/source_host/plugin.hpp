#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/plugin_loader/plugin_copy.hpp>
#include <weir/plugin_loader/plugin_library.hpp>
#include <weir/source_host/error.hpp>
#include <weir/weir_source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::source_host {

// Settings of the process that runs a source in Python.
struct HostSettings {
  std::string python;           // interpreter; empty: the first one with NumPy
  DurationNs timeout_ns;        // without progress on an announced slice
  DurationNs start_timeout_ns;  // to become ready, and to begin a run
  DurationNs wait_ns;           // for a fragment that has not arrived; 0: no limit
  std::uint64_t lane_bytes;
  std::uint64_t memory_bytes;  // 0: no limit
};

// A source in Python as it was read.
struct PythonSource {
  plugin_loader::PluginCopy copy;
  std::vector<std::string> command;  // of its process
  HostSettings settings;
};

// A loaded plugin library, checked against ABI 1, or a source in Python, behind the same functions. A library
// is unloaded with its last owner; instances use its code, and are owners. Immutable and thread-safe.
class SourcePlugin {
 public:
  // `name_or_path` is a path if it has a slash or ends in .so; otherwise NAME.so is searched in the folders
  // of `search_path`, in order. NAME.py is a source in Python, run as `host` says.
  [[nodiscard]] static Expected<std::shared_ptr<const SourcePlugin>, SourceError> load(
      const std::string& name_or_path, const std::vector<std::string>& search_path,
      const HostSettings& host = {});

  SourcePlugin(const SourcePlugin&) = delete;
  SourcePlugin& operator=(const SourcePlugin&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const std::string& path() const {
    return python_ ? python_->copy.files.front().path : library_->path();
  }
  [[nodiscard]] std::uint32_t file_crc32c() const {
    return python_ ? python_->copy.crc32c : library_->file_crc32c();
  }
  // Null for a library.
  [[nodiscard]] const PythonSource* python() const { return python_.get(); }
  [[nodiscard]] const weir_source_plugin& functions() const { return *functions_; }

 private:
  SourcePlugin() = default;

  [[nodiscard]] static Expected<std::shared_ptr<const SourcePlugin>, SourceError> load_python(
      const std::string& name_or_path, const std::vector<std::string>& search_path, const HostSettings& host);

  std::shared_ptr<const plugin_loader::PluginLibrary> library_;
  std::unique_ptr<PythonSource> python_;
  const weir_source_plugin* functions_ = nullptr;
  std::string name_;
  std::string version_;
  std::string description_;
};

}  // namespace weir::source_host
