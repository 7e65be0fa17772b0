#pragma once

#include <weir/base/expected.hpp>
#include <weir/plugin_loader/plugin_library.hpp>
#include <weir/source_host/error.hpp>
#include <weir/weir_source.h>

#include <memory>
#include <string>
#include <vector>

namespace weir::source_host {

// A loaded plugin library, checked against ABI 1. Unloaded with its last owner; instances use its code, and
// are owners. Immutable and thread-safe.
class SourcePlugin {
 public:
  // `name_or_path` is a path if it has a slash or ends in .so; otherwise NAME.so is searched in the folders
  // of `search_path`, in order.
  [[nodiscard]] static Expected<std::shared_ptr<const SourcePlugin>, SourceError> load(
      const std::string& name_or_path, const std::vector<std::string>& search_path);

  SourcePlugin(const SourcePlugin&) = delete;
  SourcePlugin& operator=(const SourcePlugin&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const std::string& path() const { return library_->path(); }
  [[nodiscard]] std::uint32_t file_crc32c() const { return library_->file_crc32c(); }
  [[nodiscard]] const weir_source_plugin& functions() const { return *functions_; }

 private:
  SourcePlugin() = default;

  std::shared_ptr<const plugin_loader::PluginLibrary> library_;
  const weir_source_plugin* functions_ = nullptr;
  std::string name_;
  std::string version_;
  std::string description_;
};

}  // namespace weir::source_host
