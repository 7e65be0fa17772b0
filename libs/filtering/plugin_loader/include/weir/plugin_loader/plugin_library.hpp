#pragma once

#include <weir/base/expected.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::plugin_loader {

enum class LoadErrorCode : std::uint8_t {
  not_found,          // no file of this name
  not_loadable,       // not a shared library, or refused by the dynamic linker
  no_entry_point,     // a shared library, but not a plugin of this kind
  wrong_abi,          // a plugin of another ABI version
  wrong_struct_size,  // claims the right ABI, but has another struct size
  incomplete,         // a required function or text is null
};

// Why a plugin cannot be used: a sentence with its name, the place, and the remedy.
struct LoadError {
  LoadErrorCode code{};
  std::string text;
};

// Properties of a kind of plugin; the texts are used in messages.
struct PluginKind {
  std::string noun;          // "filter": "filter plugin", "filter ABI"
  std::uint32_t abi = 0;     // version that this Weir supports
  std::string symbol_stem;   // "weir_filter_plugin_v": the version follows
  std::string build_advice;  // advice for a plugin of another ABI
  std::string cpp_macro;     // macro that exports the symbol in C++
};

// A loaded library. Unloaded with its last owner; objects that use its code must be gone by then. Immutable
// and thread-safe.
class PluginLibrary {
 public:
  // `name_or_path` is a path if it has a slash or ends in .so; otherwise NAME.so is searched in the folders
  // of `search_path`, in order.
  [[nodiscard]] static Expected<std::shared_ptr<const PluginLibrary>, LoadError> load(
      const PluginKind& kind, const std::string& name_or_path, const std::vector<std::string>& search_path);
  // Returns the path that load() would load from.
  [[nodiscard]] static Expected<std::string, LoadError> find(const PluginKind& kind,
                                                             const std::string& name_or_path,
                                                             const std::vector<std::string>& search_path);
  // Loads the copy of a library in a sealed file in memory. `path`: of the original. Debuggers, backtraces
  // and dladdr() name it, and needed libraries that the library finds by $ORIGIN are looked for in its
  // folder.
  [[nodiscard]] static Expected<std::shared_ptr<const PluginLibrary>, LoadError> load_copy(
      const PluginKind& kind, const std::string& path, int descriptor);
  // Returns the names that load() would find, sorted. They are not checked to be plugins.
  [[nodiscard]] static std::vector<std::string> list(const std::vector<std::string>& search_path);

  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  [[nodiscard]] void* entry_point() const { return entry_point_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint32_t file_crc32c() const { return file_crc32c_; }  // of the library's bytes

 private:
  PluginLibrary() = default;
  [[nodiscard]] std::optional<LoadError> open(const PluginKind& kind, const std::string& file);

  void* library_ = nullptr;
  void* entry_point_ = nullptr;
  std::string path_;
  std::uint32_t file_crc32c_ = 0;
};

// The fields at the start of a plugin's struct.
struct StructClaim {
  std::uint32_t struct_size = 0;
  std::uint32_t abi_version = 0;
};

// Checks the struct of a plugin: its ABI, its size (at least `size_min`, the first release's), and required
// fields, of which none may be null (false in the list). `plugin` is null if the entry point returned null.
[[nodiscard]] std::optional<LoadError> check_struct(const PluginKind& kind, const std::string& path,
                                                    const StructClaim* plugin, std::uint32_t size_min,
                                                    std::span<const std::pair<const char*, bool>> required);

}  // namespace weir::plugin_loader
