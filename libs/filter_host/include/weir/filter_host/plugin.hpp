#pragma once

#include <weir/base/expected.hpp>
#include <weir/filter_host/error.hpp>
#include <weir/plugin_loader/plugin_library.hpp>
#include <weir/weir_filter.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::filter_host {

// A loaded plugin library, checked against ABI 1. Unloaded when the last owner goes; instances and slice
// states hold code of it and must be gone by then. Immutable, any thread.
class FilterPlugin {
 public:
  // `name_or_path` is a path when it has a slash or ends in .so; otherwise NAME.so is looked for in the
  // folders of `search_path`, in order.
  [[nodiscard]] static Expected<std::shared_ptr<const FilterPlugin>, FilterError> load(
      const std::string& name_or_path, const std::vector<std::string>& search_path);
  // Names that load() would find, sorted. Says nothing of whether they are plugins.
  [[nodiscard]] static std::vector<std::string> list(const std::vector<std::string>& search_path);

  FilterPlugin(const FilterPlugin&) = delete;
  FilterPlugin& operator=(const FilterPlugin&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const std::string& path() const { return library_->path(); }
  [[nodiscard]] std::uint32_t file_crc32c() const {
    return library_->file_crc32c();
  }  // of the library's bytes
  [[nodiscard]] const weir_filter_plugin& functions() const { return *functions_; }

 private:
  FilterPlugin() = default;

  std::shared_ptr<const plugin_loader::PluginLibrary> library_;
  const weir_filter_plugin* functions_ = nullptr;
  std::string name_;
  std::string version_;
  std::string description_;
};

}  // namespace weir::filter_host
