#include <weir/base/fragment_status.hpp>
#include <weir/base/plugin_file.hpp>
#include <weir/base/text.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/plugin_loader/guarded.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace weir::filter_host {
namespace {

static_assert(WEIR_FRAGMENT_OK == static_cast<int>(FragmentStatus::ok));
static_assert(WEIR_FRAGMENT_MISSING == static_cast<int>(FragmentStatus::missing));
static_assert(WEIR_FRAGMENT_TRUNCATED == static_cast<int>(FragmentStatus::truncated));
static_assert(WEIR_FRAGMENT_CORRUPT == static_cast<int>(FragmentStatus::corrupt));
static_assert(WEIR_FRAGMENT_SUPPRESSED == static_cast<int>(FragmentStatus::suppressed));
static_assert(WEIR_FRAGMENT_NOT_REQUESTED == static_cast<int>(FragmentStatus::not_requested));
static_assert(WEIR_FRAGMENT_OUT_OF_STEP == static_cast<int>(FragmentStatus::out_of_step));
static_assert(WEIR_MISSING_NONE == static_cast<int>(MissingReason::none));
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
static_assert(WEIR_MISSING_GAP == static_cast<int>(MissingReason::gap));
static_assert(WEIR_MISSING_REMOVED == static_cast<int>(MissingReason::removed));
static_assert(WEIR_MISSING_TOO_OLD + 1 == kMissingReasons, "add the new reason to weir_filter.h");

// The fields of the first release of ABI 1; later fields are optional and their presence is read from
// struct_size.
constexpr std::uint32_t kPluginSizeMin = offsetof(weir_filter_plugin, first_sources) + sizeof(void*);

const plugin_loader::PluginKind kKind{
    "filter", WEIR_FILTER_ABI_VERSION, "weir_filter_plugin_v",
    "build it against this Weir (find_package(Weir COMPONENTS FilterSDK), docs/writing-a-filter.md)",
    "WEIR_FILTER_PLUGIN(Class, name, version, text)"};

FilterError from(plugin_loader::LoadError error) {
  constexpr std::array kCodes{FilterErrorCode::not_found,         FilterErrorCode::not_loadable,
                              FilterErrorCode::no_entry_point,    FilterErrorCode::wrong_abi,
                              FilterErrorCode::wrong_struct_size, FilterErrorCode::incomplete};
  return {kCodes[static_cast<std::size_t>(error.code)], std::move(error.text)};
}

std::optional<plugin_loader::LoadError> check(const weir_filter_plugin* plugin, const std::string& path) {
  if (plugin == nullptr) return plugin_loader::check_struct(kKind, path, nullptr, kPluginSizeMin, {});
  const plugin_loader::StructClaim claim{plugin->struct_size, plugin->abi_version};
  // Behind a wrong claim nothing else is read.
  auto error = plugin_loader::check_struct(kKind, path, &claim, kPluginSizeMin, {});
  if (error) return error;
  const std::pair<const char*, bool> required[] = {{"name", plugin->name != nullptr},
                                                   {"version", plugin->version != nullptr},
                                                   {"description", plugin->description != nullptr},
                                                   {"create", plugin->create != nullptr},
                                                   {"process", plugin->process != nullptr},
                                                   {"destroy", plugin->destroy != nullptr}};
  return plugin_loader::check_struct(kKind, path, &claim, kPluginSizeMin, required);
}

FilterPlugin::PythonLoader& python_loader() {
  static FilterPlugin::PythonLoader loader;
  return loader;
}

}  // namespace

void FilterPlugin::load_python_with(PythonLoader loader) { python_loader() = std::move(loader); }

Expected<std::string, FilterError> FilterPlugin::find(const std::string& name_or_path,
                                                      const std::vector<std::string>& search_path) {
  if (!is_python_plugin(name_or_path)) {
    auto path = plugin_loader::PluginLibrary::find(kKind, name_or_path, search_path);
    if (!path) return Unexpected<FilterError>(from(std::move(path.error())));
    return std::move(*path);
  }
  auto path = plugin_loader::find_python_plugin(kKind.noun, name_or_path, search_path);
  if (path) return std::move(*path);
  return Unexpected<FilterError>({FilterErrorCode::not_found, std::move(path.error())});
}

FilterPlugin::Loaded FilterPlugin::take_library(
    Expected<std::shared_ptr<const plugin_loader::PluginLibrary>, plugin_loader::LoadError> library) {
  if (!library) return Unexpected<FilterError>(from(std::move(library.error())));
  std::shared_ptr<FilterPlugin> plugin(new FilterPlugin);
  plugin->library_ = *library;
  plugin->functions_ = reinterpret_cast<weir_filter_entry_point>((*library)->entry_point())();
  plugin->path_ = (*library)->path();
  plugin->file_crc32c_ = (*library)->file_crc32c();
  return plugin;
}

FilterPlugin::Loaded FilterPlugin::load_python(const plugin_loader::PluginCopy& copy) {
  const std::string& path = copy.files.front().path;
  if (!python_loader()) {
    return Unexpected<FilterError>({FilterErrorCode::not_loadable,
                                    "filter '" + path + "' is Python, and this process has no interpreter"});
  }
  auto loaded = python_loader()(copy);
  if (!loaded)
    return Unexpected<FilterError>(
        {FilterErrorCode::not_loadable, "filter '" + path + "': " + loaded.error()});
  std::shared_ptr<FilterPlugin> plugin(new FilterPlugin);
  plugin->functions_ = loaded->functions;
  plugin->has_batches_ = std::move(loaded->has_batches);
  plugin->begin_batch_ = std::move(loaded->begin_batch);
  plugin->path_ = std::move(loaded->path);
  plugin->file_crc32c_ = loaded->file_crc32c;
  return plugin;
}

Expected<std::shared_ptr<const FilterPlugin>, FilterError> FilterPlugin::load(
    const std::string& name_or_path, const std::vector<std::string>& search_path) {
  if (!is_python_plugin(name_or_path))
    return checked(take_library(plugin_loader::PluginLibrary::load(kKind, name_or_path, search_path)));
  const auto path = find(name_or_path, search_path);
  if (!path) return Unexpected<FilterError>(path.error());
  const auto copy = plugin_loader::copy_plugin(*path);
  if (copy) return checked(load_python(*copy));
  return Unexpected<FilterError>({FilterErrorCode::not_loadable, "filter '" + *path + "': " + copy.error()});
}

Expected<std::shared_ptr<const FilterPlugin>, FilterError> FilterPlugin::load_copy(
    const plugin_loader::PluginCopy& copy, int descriptor) {
  const std::string& path = copy.files.front().path;
  if (is_python_plugin(path)) return checked(load_python(copy));
  return checked(take_library(plugin_loader::PluginLibrary::load_copy(kKind, path, descriptor)));
}

Expected<std::shared_ptr<const FilterPlugin>, FilterError> FilterPlugin::checked(Loaded loaded) {
  if (!loaded) return Unexpected<FilterError>(std::move(loaded.error()));
  const std::shared_ptr<FilterPlugin> plugin = std::move(*loaded);
  if (auto error = check(plugin->functions_, plugin->path())) {
    return Unexpected<FilterError>(from(std::move(*error)));
  }
  using namespace plugin_loader;
  plugin->name_ = clean_text(plugin->functions_->name, kPluginNameMax);
  plugin->version_ = clean_text(plugin->functions_->version, kPluginNameMax);
  plugin->description_ = clean_text(plugin->functions_->description, kPluginTextMax);
  return std::shared_ptr<const FilterPlugin>(plugin);
}

std::vector<std::string> FilterPlugin::list(const std::vector<std::string>& search_path) {
  return plugin_loader::PluginLibrary::list(search_path);
}

}  // namespace weir::filter_host
