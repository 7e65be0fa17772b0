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
  not_loadable,       // no shared library, or one that the dynamic linker refuses
  no_entry_point,     // a shared library, but no plugin of this kind
  wrong_abi,          // a plugin of another ABI version
  wrong_struct_size,  // says the right ABI, but its struct is not that ABI's
  incomplete,         // a required function or text is null
};

// Why a plugin cannot be used: a sentence that names it, where, and what to do.
struct LoadError {
  LoadErrorCode code{};
  std::string text;
};

// What tells one kind of plugin from another; the texts go into sentences.
struct PluginKind {
  std::string noun;          // "filter": "filter plugin", "filter ABI"
  std::uint32_t abi = 0;     // version that this Weir speaks
  std::string symbol_stem;   // "weir_filter_plugin_v": the version follows
  std::string build_advice;  // what to do about another ABI
  std::string cpp_macro;     // what exports the symbol in C++
};

// A loaded library. Unloaded when the last owner goes; whatever holds code of it must be gone by then.
// Immutable, any thread.
class PluginLibrary {
 public:
  // `name_or_path` is a path when it has a slash or ends in .so; otherwise NAME.so is looked for in the
  // folders of `search_path`, in order.
  [[nodiscard]] static Expected<std::shared_ptr<const PluginLibrary>, LoadError> load(
      const PluginKind& kind, const std::string& name_or_path, const std::vector<std::string>& search_path);
  // Names that load() would find, sorted. Says nothing of whether they are plugins.
  [[nodiscard]] static std::vector<std::string> list(const std::vector<std::string>& search_path);

  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  [[nodiscard]] void* entry_point() const { return entry_point_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint32_t file_crc32c() const { return file_crc32c_; }  // of the library's bytes

 private:
  PluginLibrary() = default;

  void* library_ = nullptr;
  void* entry_point_ = nullptr;
  std::string path_;
  std::uint32_t file_crc32c_ = 0;
};

// What a plugin says of itself at the start of its struct.
struct StructClaim {
  std::uint32_t struct_size = 0;
  std::uint32_t abi_version = 0;
};

// What is wrong with the struct of a plugin: its ABI, its size (below `size_min`, the first release's), or
// something required that is null (false in the list). `plugin` is null when the entry point gave nothing.
[[nodiscard]] std::optional<LoadError> check_struct(const PluginKind& kind, const std::string& path,
                                                    const StructClaim* plugin, std::uint32_t size_min,
                                                    std::span<const std::pair<const char*, bool>> required);

}  // namespace weir::plugin_loader
