#pragma once

#include <weir/base/expected.hpp>
#include <weir/filter_host/error.hpp>
#include <weir/plugin_loader/plugin_copy.hpp>
#include <weir/plugin_loader/plugin_library.hpp>
#include <weir/weir_filter.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weir::filter_host {

// A filter in another language: functions that its interpreter provides, which stay valid until the process
// ends.
struct ForeignPlugin {
  const weir_filter_plugin* functions = nullptr;
  std::string path;
  std::uint32_t file_crc32c = 0;  // of the bytes that were compiled
  // Returns true if this instance decides on batches. May be empty, as the next one.
  std::function<bool(void* instance)> has_batches;
  // Receives the slices of the instance's next process() calls, in their order. Each of these calls passes
  // the same state, at the same address.
  std::function<void(void* instance, std::span<const weir_filter_slice>)> begin_batch;
};

// A loaded plugin library, checked against ABI 1. Unloaded when the last owner goes; instances and slice
// states hold code of it and must be gone by then. Immutable, any thread.
class FilterPlugin {
 public:
  // Compiles the first file. An error is a sentence.
  using PythonLoader =
      std::function<Expected<ForeignPlugin, std::string>(const plugin_loader::PluginCopy& files)>;
  // From now on load() hands files that end in .py to `loader`. Requires: called once, before any load().
  static void load_python_with(PythonLoader loader);

  // `name_or_path` is a path when it has a slash or ends in .so; otherwise NAME.so is looked for in the
  // folders of `search_path`, in order. A file that ends in .py needs a process with an interpreter.
  [[nodiscard]] static Expected<std::shared_ptr<const FilterPlugin>, FilterError> load(
      const std::string& name_or_path, const std::vector<std::string>& search_path);
  // Loads a plugin from a copy: a library from the sealed file `descriptor`, Python from the contents. Its
  // path is that of the original.
  [[nodiscard]] static Expected<std::shared_ptr<const FilterPlugin>, FilterError> load_copy(
      const plugin_loader::PluginCopy& copy, int descriptor);
  // Returns the path that load() would load from, and an error as it does.
  [[nodiscard]] static Expected<std::string, FilterError> find(const std::string& name_or_path,
                                                               const std::vector<std::string>& search_path);
  // Names that load() would find, sorted. Says nothing of whether they are plugins.
  [[nodiscard]] static std::vector<std::string> list(const std::vector<std::string>& search_path);

  FilterPlugin(const FilterPlugin&) = delete;
  FilterPlugin& operator=(const FilterPlugin&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint32_t file_crc32c() const { return file_crc32c_; }  // of the file's bytes
  [[nodiscard]] const weir_filter_plugin& functions() const { return *functions_; }
  // As ForeignPlugin::has_batches and begin_batch.
  [[nodiscard]] bool has_batches(void* instance) const { return has_batches_ && has_batches_(instance); }
  void begin_batch(void* instance, std::span<const weir_filter_slice> slices) const {
    begin_batch_(instance, slices);
  }

 private:
  FilterPlugin() = default;
  using Loaded = Expected<std::shared_ptr<FilterPlugin>, FilterError>;
  [[nodiscard]] static Loaded take_library(
      Expected<std::shared_ptr<const plugin_loader::PluginLibrary>, plugin_loader::LoadError> library);
  [[nodiscard]] static Loaded load_python(const plugin_loader::PluginCopy& copy);
  [[nodiscard]] static Expected<std::shared_ptr<const FilterPlugin>, FilterError> checked(Loaded loaded);

  std::shared_ptr<const plugin_loader::PluginLibrary> library_;  // null: in another language
  const weir_filter_plugin* functions_ = nullptr;
  std::function<bool(void*)> has_batches_;
  std::function<void(void*, std::span<const weir_filter_slice>)> begin_batch_;
  std::string path_;
  std::uint32_t file_crc32c_ = 0;
  std::string name_;
  std::string version_;
  std::string description_;
};

}  // namespace weir::filter_host
