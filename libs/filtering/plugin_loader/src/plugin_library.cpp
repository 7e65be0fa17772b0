#include "origin.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/plugin_loader/plugin_library.hpp>

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace weir::plugin_loader {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kPluginSizeMax = 64 * 1024;  // a larger size is garbage, not a newer version
constexpr std::uint32_t kNewestAbiLookedFor = 16;

Unexpected<LoadError> refuse(LoadErrorCode code, std::string text) {
  return Unexpected<LoadError>(LoadError{code, std::move(text)});
}

std::string join(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text.empty() ? "none" : text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  WEIR_ASSERT(row.back() <= std::max(a.size(), b.size()));
  return row.back();
}

LoadError not_found(const PluginKind& kind, const std::string& name,
                    const std::vector<std::string>& search_path) {
  const std::vector<std::string> there = PluginLibrary::list(search_path);
  std::string text =
      kind.noun + " plugin '" + name + "' is not in " + join(search_path) + "; plugins there: " + join(there);
  const auto nearest = std::min_element(there.begin(), there.end(), [&](const auto& a, const auto& b) {
    return edit_distance(a, name) < edit_distance(b, name);
  });
  if (nearest != there.end() && edit_distance(*nearest, name) <= 1 + name.size() / 3) {
    text += ". Is '" + *nearest + "' meant?";
  } else {
    text += ". Name one of these, give a path to the .so file, or add its folder to the plugin search path";
  }
  return {LoadErrorCode::not_found, text};
}

Expected<std::string, LoadError> find_library(const PluginKind& kind, const std::string& name,
                                              const std::vector<std::string>& search_path) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos || fs::path(name).extension() == ".so") {
    if (fs::is_regular_file(name, ignored)) return fs::absolute(name).string();
    const fs::path place = fs::absolute(name, ignored).lexically_normal();
    const std::string looked =
        fs::path(name).is_absolute()
            ? ""
            : ": " + place.string() +
                  " (a relative path begins in the working folder, not beside the farm file)";
    return refuse(LoadErrorCode::not_found,
                  kind.noun + " plugin '" + name + "': no such file" + looked +
                      "; plugins in the search path: " + join(PluginLibrary::list(search_path)));
  }
  for (const std::string& folder : search_path) {
    const fs::path candidate = fs::path(folder) / (name + ".so");
    if (fs::is_regular_file(candidate, ignored)) return fs::absolute(candidate).string();
  }
  return Unexpected<LoadError>(not_found(kind, name, search_path));
}

#if defined(__x86_64__)
constexpr int kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kOwnMachine = EM_AARCH64;
#else
constexpr int kOwnMachine = EM_NONE;
#endif

// Checks the headers of a library, given its first bytes and its size. Returns an error text, or an empty
// string. dlopen() faults on a truncated file, and reports one for another processor as nonexistent.
std::string header_problem(std::string_view head, std::uint64_t size) {
  const std::string truncated =
      "is truncated, it has " + std::to_string(size) + " bytes: copy or build it again";
  ElfW(Ehdr) header{};
  if (head.size() < sizeof header) return truncated;
  std::memcpy(&header, head.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      (kOwnMachine != EM_NONE && header.e_machine != kOwnMachine)) {
    return "is built for another processor (ELF class " + std::to_string(header.e_ident[EI_CLASS]) +
           ", machine " + std::to_string(header.e_machine) + "): build it for this one";
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::uint64_t at = header.e_phoff + i * sizeof(ElfW(Phdr));
    if (at + sizeof(ElfW(Phdr)) > size) return truncated;
    if (at + sizeof(ElfW(Phdr)) > head.size()) break;
    ElfW(Phdr) part{};
    std::memcpy(&part, head.data() + at, sizeof part);
    if (part.p_type == PT_LOAD && part.p_offset + part.p_filesz > size) return truncated;
  }
  return {};
}

// Returns the CRC32C of a file that starts like a shared library. `path`: the plugin's, for errors.
Expected<std::uint32_t, LoadError> checksum_elf(const PluginKind& kind, const std::string& path,
                                                const std::string& from) {
  constexpr std::string_view kElfMagic =
      "\x7f"
      "ELF";
  std::ifstream file(from, std::ios::binary);
  std::vector<char> chunk(1 << 16);
  std::uint32_t crc = 0;
  std::uint64_t size = 0;
  std::string head;
  while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), file.gcount() > 0) {
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(file.gcount()));
    if (size == 0) head = bytes;
    if (!head.starts_with(kElfMagic)) break;
    size += bytes.size();
    crc = crc32c_extend(crc, std::as_bytes(std::span(bytes)));
  }
  if (size > 0 && file.eof()) {
    const std::string problem = header_problem(head, size);
    if (problem.empty()) return crc;
    return refuse(LoadErrorCode::not_loadable, kind.noun + " plugin '" + path + "' " + problem);
  }
  return refuse(LoadErrorCode::not_loadable,
                kind.noun + " plugin '" + path +
                    "' cannot be read, or is not a shared library (ELF file): give the "
                    "path of the built .so file");
}

std::string wrong_abi(const PluginKind& kind, const std::string& path, std::uint32_t version) {
  return kind.noun + " plugin '" + path + "' is built for " + kind.noun + " ABI " + std::to_string(version) +
         ", this Weir needs ABI " + std::to_string(kind.abi) + ": " + kind.build_advice;
}

// Returns the path in a spelling under which no other file was loaded. The linker keeps a library that cannot
// be unloaded by its name, and would return it for the file that has replaced it.
std::string own_spelling(const std::string& path) {
  struct Loaded {
    dev_t device = 0;
    ino_t inode = 0;
    std::size_t replacements = 0;
  };
  static std::mutex mutex;
  static std::map<std::string, Loaded> all;
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return path;
  const std::lock_guard lock(mutex);
  const auto [one, is_first] = all.try_emplace(path, Loaded{now.st_dev, now.st_ino, 0});
  Loaded& loaded = one->second;
  if (!is_first && (loaded.device != now.st_dev || loaded.inode != now.st_ino))
    loaded = {now.st_dev, now.st_ino, loaded.replacements + 1};
  const fs::path file(path);
  fs::path folder = file.parent_path();
  for (std::size_t i = 0; i < loaded.replacements; ++i) folder /= ".";
  return (folder / file.filename()).string();
}

LoadError no_entry_point(const PluginKind& kind, void* library, const std::string& path) {
  for (std::uint32_t version = 0; version <= kNewestAbiLookedFor; ++version) {
    const std::string symbol = kind.symbol_stem + std::to_string(version);
    if (dlsym(library, symbol.c_str()) != nullptr)
      return {LoadErrorCode::wrong_abi, wrong_abi(kind, path, version)};
  }
  return {LoadErrorCode::no_entry_point,
          "'" + path + "' is a shared library, but not a " + kind.noun + " plugin: it does not export " +
              kind.symbol_stem + std::to_string(kind.abi) + ". In C++, " + kind.cpp_macro + " does"};
}

}  // namespace

Expected<std::shared_ptr<const PluginLibrary>, LoadError> PluginLibrary::load(
    const PluginKind& kind, const std::string& name_or_path, const std::vector<std::string>& search_path) {
  const auto path = find_library(kind, name_or_path, search_path);
  if (!path) return Unexpected<LoadError>(path.error());
  const auto crc = checksum_elf(kind, *path, *path);
  if (!crc) return Unexpected<LoadError>(crc.error());

  const std::shared_ptr<PluginLibrary> plugin(new PluginLibrary);
  plugin->path_ = *path;
  plugin->file_crc32c_ = *crc;
  if (auto error = plugin->open(kind, own_spelling(*path))) return Unexpected<LoadError>(std::move(*error));
  return std::shared_ptr<const PluginLibrary>(plugin);
}

Expected<std::shared_ptr<const PluginLibrary>, LoadError> PluginLibrary::load_copy(const PluginKind& kind,
                                                                                   const std::string& path,
                                                                                   int descriptor) {
  const std::string copy = "/proc/self/fd/" + std::to_string(descriptor);
  const auto crc = checksum_elf(kind, path, copy);
  if (!crc) return Unexpected<LoadError>(crc.error());
  const std::shared_ptr<PluginLibrary> plugin(new PluginLibrary);
  plugin->path_ = path;
  plugin->file_crc32c_ = *crc;
  load_needed_from(fs::path(path).parent_path().string(), copy);
  if (auto error = plugin->open(kind, copy)) return Unexpected<LoadError>(std::move(*error));
  link_map* map = nullptr;
  // The linker has allocated the name, and frees it.
  if (dlinfo(plugin->library_, RTLD_DI_LINKMAP, &map) == 0)
    std::free(std::exchange(map->l_name, ::strdup(path.c_str())));
  return std::shared_ptr<const PluginLibrary>(plugin);
}

std::optional<LoadError> PluginLibrary::open(const PluginKind& kind, const std::string& file) {
  library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    return LoadError{LoadErrorCode::not_loadable,
                     kind.noun + " plugin '" + path_ + "' cannot be loaded: " + dlerror()};
  }
  const std::string symbol = kind.symbol_stem + std::to_string(kind.abi);
  entry_point_ = dlsym(library_, symbol.c_str());
  if (entry_point_ != nullptr) return std::nullopt;
  return no_entry_point(kind, library_, path_);
}

Expected<std::string, LoadError> PluginLibrary::find(const PluginKind& kind, const std::string& name_or_path,
                                                     const std::vector<std::string>& search_path) {
  return find_library(kind, name_or_path, search_path);
}

std::optional<LoadError> check_struct(const PluginKind& kind, const std::string& path,
                                      const StructClaim* plugin, std::uint32_t size_min,
                                      std::span<const std::pair<const char*, bool>> required) {
  const std::string who = kind.noun + " plugin '" + path + "' ";
  const std::string abi = "ABI " + std::to_string(kind.abi);
  if (plugin == nullptr) {
    return LoadError{LoadErrorCode::incomplete, who + "returns no description (null): it is broken"};
  }
  if (plugin->abi_version != kind.abi) {
    return LoadError{LoadErrorCode::wrong_abi, wrong_abi(kind, path, plugin->abi_version)};
  }
  if (plugin->struct_size < size_min || plugin->struct_size > kPluginSizeMax) {
    return LoadError{LoadErrorCode::wrong_struct_size,
                     who + "says that its struct has " + std::to_string(plugin->struct_size) + " bytes, " +
                         abi + " has " + std::to_string(size_min) + " at least: " + kind.build_advice};
  }
  for (const auto& [what, there] : required) {
    if (there) continue;
    return LoadError{LoadErrorCode::incomplete, who + "has no " + what + " (null): " + abi + " requires it"};
  }
  return std::nullopt;
}

std::vector<std::string> PluginLibrary::list(const std::vector<std::string>& search_path) {
  std::vector<std::string> names;
  for (const std::string& folder : search_path) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".so") names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

PluginLibrary::~PluginLibrary() {
  if (library_ != nullptr) dlclose(library_);
}

}  // namespace weir::plugin_loader
