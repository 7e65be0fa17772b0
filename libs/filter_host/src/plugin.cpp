#include <weir/base/crc32c.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/filter_host/plugin.hpp>

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace weir::filter_host {
namespace {

namespace fs = std::filesystem;

static_assert(WEIR_FRAGMENT_OK == static_cast<int>(FragmentStatus::ok));
static_assert(WEIR_FRAGMENT_MISSING == static_cast<int>(FragmentStatus::missing));
static_assert(WEIR_FRAGMENT_TRUNCATED == static_cast<int>(FragmentStatus::truncated));
static_assert(WEIR_FRAGMENT_CORRUPT == static_cast<int>(FragmentStatus::corrupt));
static_assert(WEIR_FRAGMENT_SUPPRESSED == static_cast<int>(FragmentStatus::suppressed));
static_assert(WEIR_FRAGMENT_NOT_REQUESTED == static_cast<int>(FragmentStatus::not_requested));
static_assert(WEIR_MISSING_DEADLINE == static_cast<int>(MissingReason::deadline));
static_assert(WEIR_MISSING_SOURCE_DOWN == static_cast<int>(MissingReason::source_down));
static_assert(WEIR_MISSING_RESTARTED == static_cast<int>(MissingReason::restarted));
static_assert(WEIR_MISSING_NOT_PRODUCED == static_cast<int>(MissingReason::not_produced));
static_assert(WEIR_MISSING_DROPPED == static_cast<int>(MissingReason::dropped));
static_assert(WEIR_MISSING_MASKED == static_cast<int>(MissingReason::masked));
static_assert(WEIR_MISSING_NO_BUFFER == static_cast<int>(MissingReason::no_buffer));
static_assert(WEIR_MISSING_OVERFLOW == static_cast<int>(MissingReason::overflow));
static_assert(WEIR_MISSING_TOO_LARGE == static_cast<int>(MissingReason::too_large));
static_assert(WEIR_MISSING_UNKNOWN_SOURCE == static_cast<int>(MissingReason::unknown_source));

// What the first release of ABI 1 had; later fields are optional and their presence is read from struct_size.
constexpr std::uint32_t kPluginSizeMin = offsetof(weir_filter_plugin, first_sources) + sizeof(void*);
constexpr std::uint32_t kPluginSizeMax = 64 * 1024;  // more is no growth but garbage
constexpr std::uint32_t kNewestAbiLookedFor = 16;
const std::string kBuildAgain =
    "build it against this Weir (find_package(Weir COMPONENTS FilterSDK), docs/writing-a-filter.md)";

Unexpected<FilterError> refuse(FilterErrorCode code, std::string text) {
  return Unexpected<FilterError>(FilterError{code, std::move(text)});
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
  return row.back();
}

FilterError not_found(const std::string& name, const std::vector<std::string>& search_path) {
  const std::vector<std::string> there = FilterPlugin::list(search_path);
  std::string text =
      "filter plugin '" + name + "' is not in " + join(search_path) + "; plugins there: " + join(there);
  const auto nearest = std::min_element(there.begin(), there.end(), [&](const auto& a, const auto& b) {
    return edit_distance(a, name) < edit_distance(b, name);
  });
  if (nearest != there.end() && edit_distance(*nearest, name) <= 1 + name.size() / 3) {
    text += ". Is '" + *nearest + "' meant?";
  } else {
    text += ". Name one of these, give a path to the .so file, or add its folder to the plugin search path";
  }
  return {FilterErrorCode::not_found, text};
}

Expected<std::string, FilterError> find_library(const std::string& name,
                                                const std::vector<std::string>& search_path) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos || fs::path(name).extension() == ".so") {
    if (fs::is_regular_file(name, ignored)) return fs::absolute(name).string();
    return refuse(FilterErrorCode::not_found, "filter plugin '" + name +
                                                  "': there is no such file; plugins in the search path: " +
                                                  join(FilterPlugin::list(search_path)));
  }
  for (const std::string& folder : search_path) {
    const fs::path candidate = fs::path(folder) / (name + ".so");
    if (fs::is_regular_file(candidate, ignored)) return fs::absolute(candidate).string();
  }
  return Unexpected<FilterError>(not_found(name, search_path));
}

// The CRC32C of a file that starts like a shared library.
Expected<std::uint32_t, FilterError> checksum_elf(const std::string& path) {
  constexpr std::string_view kElfMagic =
      "\x7f"
      "ELF";
  std::ifstream file(path, std::ios::binary);
  std::vector<char> chunk(1 << 16);
  std::uint32_t crc = 0;
  bool first = true;
  while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), file.gcount() > 0) {
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(file.gcount()));
    if (std::exchange(first, false) && bytes.substr(0, kElfMagic.size()) != kElfMagic) break;
    crc = crc32c_extend(crc, std::as_bytes(std::span(bytes)));
    if (file.eof()) return crc;
  }
  return refuse(FilterErrorCode::not_loadable,
                "filter plugin '" + path +
                    "' cannot be read, or is no shared library (ELF file): give the "
                    "path of the built .so file");
}

std::string wrong_abi(const std::string& path, std::uint32_t version) {
  return "filter plugin '" + path + "' is built for filter ABI " + std::to_string(version) +
         ", this Weir speaks ABI " + std::to_string(WEIR_FILTER_ABI_VERSION) + ": " + kBuildAgain;
}

FilterError no_entry_point(void* library, const std::string& path) {
  for (std::uint32_t version = 0; version <= kNewestAbiLookedFor; ++version) {
    const std::string symbol = "weir_filter_plugin_v" + std::to_string(version);
    if (dlsym(library, symbol.c_str()) != nullptr)
      return {FilterErrorCode::wrong_abi, wrong_abi(path, version)};
  }
  return {FilterErrorCode::no_entry_point,
          "'" + path +
              "' is a shared library, but no filter plugin: it does not export " WEIR_FILTER_ENTRY_POINT
              ". In C++, WEIR_FILTER_PLUGIN(Class, name, version, text) does"};
}

std::optional<FilterError> check(const weir_filter_plugin* plugin, const std::string& path) {
  const std::string who = "filter plugin '" + path + "' ";
  if (plugin == nullptr) {
    return FilterError{FilterErrorCode::incomplete,
                       who + "gives no description of itself (null): it is broken"};
  }
  if (plugin->abi_version != WEIR_FILTER_ABI_VERSION) {
    return FilterError{FilterErrorCode::wrong_abi, wrong_abi(path, plugin->abi_version)};
  }
  if (plugin->struct_size < kPluginSizeMin || plugin->struct_size > kPluginSizeMax) {
    return FilterError{FilterErrorCode::wrong_struct_size,
                       who + "says that its struct has " + std::to_string(plugin->struct_size) +
                           " bytes, ABI 1 has " + std::to_string(kPluginSizeMin) +
                           " at least: " + kBuildAgain};
  }
  const std::pair<const char*, bool> required[] = {{"name", plugin->name != nullptr},
                                                   {"version", plugin->version != nullptr},
                                                   {"description", plugin->description != nullptr},
                                                   {"create", plugin->create != nullptr},
                                                   {"process", plugin->process != nullptr},
                                                   {"destroy", plugin->destroy != nullptr}};
  for (const auto& [what, there] : required) {
    if (there) continue;
    return FilterError{FilterErrorCode::incomplete, who + "has no " + what + " (null): ABI 1 requires it"};
  }
  return std::nullopt;
}

}  // namespace

Expected<std::shared_ptr<const FilterPlugin>, FilterError> FilterPlugin::load(
    const std::string& name_or_path, const std::vector<std::string>& search_path) {
  const auto path = find_library(name_or_path, search_path);
  if (!path) return Unexpected<FilterError>(path.error());
  const auto crc = checksum_elf(*path);
  if (!crc) return Unexpected<FilterError>(crc.error());

  const std::shared_ptr<FilterPlugin> plugin(new FilterPlugin);
  plugin->library_ = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin->library_ == nullptr) {
    return refuse(FilterErrorCode::not_loadable,
                  "filter plugin '" + *path + "' cannot be loaded: " + dlerror());
  }
  const auto entry =
      reinterpret_cast<weir_filter_entry_point>(dlsym(plugin->library_, WEIR_FILTER_ENTRY_POINT));
  if (entry == nullptr) return Unexpected<FilterError>(no_entry_point(plugin->library_, *path));
  plugin->functions_ = entry();
  if (auto error = check(plugin->functions_, *path)) return Unexpected<FilterError>(std::move(*error));
  plugin->name_ = plugin->functions_->name;
  plugin->version_ = plugin->functions_->version;
  plugin->description_ = plugin->functions_->description;
  plugin->path_ = *path;
  plugin->file_crc32c_ = *crc;
  return std::shared_ptr<const FilterPlugin>(plugin);
}

std::vector<std::string> FilterPlugin::list(const std::vector<std::string>& search_path) {
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

FilterPlugin::~FilterPlugin() {
  if (library_ != nullptr) dlclose(library_);
}

}  // namespace weir::filter_host
