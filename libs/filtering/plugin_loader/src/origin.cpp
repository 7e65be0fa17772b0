#include "origin.hpp"

#include <weir/base/assert.hpp>

#include <elf.h>
#include <link.h>

#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::plugin_loader {
namespace {

// Libraries that a library needs, from its dynamic section.
struct Needs {
  std::vector<std::string> libraries;
  std::string search_path;  // folders with colons between them
};

class Elf {
 public:
  explicit Elf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    const auto header = at<ElfW(Ehdr)>(0);
    if (!header) return;
    for (std::size_t i = 0; i < header->e_phnum; ++i) {
      if (const auto part = at<ElfW(Phdr)>(header->e_phoff + i * sizeof(ElfW(Phdr)))) parts_.push_back(*part);
    }
  }

  [[nodiscard]] Needs needs() const {
    std::vector<ElfW(Dyn)> entries;
    for (const auto& part : parts_) {
      if (part.p_type != PT_DYNAMIC) continue;
      for (std::size_t i = 0; i < part.p_filesz / sizeof(ElfW(Dyn)); ++i) {
        if (const auto entry = at<ElfW(Dyn)>(part.p_offset + i * sizeof(ElfW(Dyn))))
          entries.push_back(*entry);
      }
    }
    std::uint64_t texts = 0;
    bool runpath = false;
    for (const auto& entry : entries) {
      if (entry.d_tag == DT_STRTAB) texts = entry.d_un.d_ptr;
      runpath = runpath || entry.d_tag == DT_RUNPATH;
    }
    Needs needs;
    for (const auto& entry : entries) {
      if (entry.d_tag == DT_NEEDED) needs.libraries.push_back(text(texts + entry.d_un.d_val));
      if (entry.d_tag == (runpath ? DT_RUNPATH : DT_RPATH))
        needs.search_path = text(texts + entry.d_un.d_val);
    }
    return needs;
  }

 private:
  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::string text(std::uint64_t address) const {
    for (const auto& part : parts_) {
      if (part.p_type != PT_LOAD || address < part.p_vaddr || address - part.p_vaddr >= part.p_filesz)
        continue;
      const std::uint64_t offset = part.p_offset + (address - part.p_vaddr);
      if (offset >= bytes_.size()) return {};
      WEIR_ASSERT(offset < bytes_.size());
      return {bytes_.data() + offset, ::strnlen(bytes_.data() + offset, bytes_.size() - offset)};
    }
    return {};
  }

  std::string bytes_;
  std::vector<ElfW(Phdr)> parts_;
};

// Returns whether the folder names $ORIGIN, which is then replaced.
bool replace_origin(std::string& folder, const std::string& origin) {
  bool found = false;
  for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"}) {
    for (std::size_t at = 0; (at = folder.find(word, at)) != folder.npos; at += origin.size()) {
      folder.replace(at, word.size(), origin);
      found = true;
    }
  }
  return found;
}

void load_first(const std::string& library, std::string_view search_path, const std::string& origin) {
  while (true) {
    const std::size_t colon = search_path.find(':');
    std::string folder(search_path.substr(0, colon));
    const bool from_origin = replace_origin(folder, origin);
    const std::string path = folder + "/" + library;
    std::error_code error;
    if (!folder.empty() && std::filesystem::exists(path, error)) {
      if (from_origin) (void)dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      return;
    }
    if (colon == search_path.npos) return;
    search_path.remove_prefix(colon + 1);
  }
}

}  // namespace

void load_needed_from(const std::string& origin, const std::string& file) {
  const Needs needs = Elf(file).needs();
  if (needs.search_path.find("ORIGIN") == std::string::npos) return;
  for (const std::string& library : needs.libraries) {
    if (library.find('/') == library.npos) load_first(library, needs.search_path, origin);
  }
}

}  // namespace weir::plugin_loader
