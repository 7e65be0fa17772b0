#include "python_source.hpp"
#include <weir/base/fragment_status.hpp>
#include <weir/base/plugin_file.hpp>
#include <weir/base/text.hpp>
#include <weir/plugin_loader/guarded.hpp>
#include <weir/python_host/interpreter.hpp>
#include <weir/source_host/plugin.hpp>

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace weir::source_host {
namespace {

static_assert(WEIR_SOURCE_OK == static_cast<int>(FragmentStatus::ok));
static_assert(WEIR_SOURCE_MISSING == static_cast<int>(FragmentStatus::missing));
static_assert(WEIR_SOURCE_TRUNCATED == static_cast<int>(FragmentStatus::truncated));
static_assert(WEIR_SOURCE_CORRUPT == static_cast<int>(FragmentStatus::corrupt));
static_assert(WEIR_SOURCE_SUPPRESSED == static_cast<int>(FragmentStatus::suppressed));
static_assert(WEIR_SOURCE_DOWN == static_cast<int>(MissingReason::source_down));
static_assert(WEIR_SOURCE_TOO_LARGE == static_cast<int>(MissingReason::too_large));
static_assert(WEIR_SOURCE_NOT_PRODUCED == static_cast<int>(MissingReason::not_produced));
static_assert(WEIR_SOURCE_DROPPED == static_cast<int>(MissingReason::dropped));
static_assert(WEIR_SOURCE_GAP == static_cast<int>(MissingReason::gap));

// The fields of ABI 1's first release. Later ones are optional, and struct_size shows whether they are
// present.
constexpr std::uint32_t kPluginSizeMin = offsetof(weir_source_plugin, announced) + sizeof(void*);

const plugin_loader::PluginKind kKind{
    "source", WEIR_SOURCE_ABI_VERSION, "weir_source_plugin_v",
    "build it against this Weir (find_package(Weir COMPONENTS SourceSDK), docs/writing-a-source.md)",
    "WEIR_SOURCE_PLUGIN(Class, name, version, text)"};

SourceError from(plugin_loader::LoadError error) {
  constexpr std::array kCodes{SourceErrorCode::not_found,         SourceErrorCode::not_loadable,
                              SourceErrorCode::no_entry_point,    SourceErrorCode::wrong_abi,
                              SourceErrorCode::wrong_struct_size, SourceErrorCode::incomplete};
  return {kCodes[static_cast<std::size_t>(error.code)], std::move(error.text)};
}

std::optional<plugin_loader::LoadError> check(const weir_source_plugin* plugin, const std::string& path) {
  if (plugin == nullptr) return plugin_loader::check_struct(kKind, path, nullptr, kPluginSizeMin, {});
  const plugin_loader::StructClaim claim{plugin->struct_size, plugin->abi_version};
  // After a wrong struct size no further field is read.
  auto error = plugin_loader::check_struct(kKind, path, &claim, kPluginSizeMin, {});
  if (error) return error;
  const std::pair<const char*, bool> required[] = {
      {"name", plugin->name != nullptr},
      {"version", plugin->version != nullptr},
      {"description", plugin->description != nullptr},
      {"create", plugin->create != nullptr},
      {"destroy", plugin->destroy != nullptr},
      {"make and no poll", plugin->make != nullptr || plugin->poll != nullptr}};
  return plugin_loader::check_struct(kKind, path, &claim, kPluginSizeMin, required);
}

// Looks for an interpreter once in a process: it starts one that imports NumPy, while the readout waits.
Expected<python_host::Interpreter, std::string> interpreter(const std::string& chosen) {
  static std::mutex mutex;
  static std::map<std::string, python_host::Interpreter> found;
  const std::lock_guard lock(mutex);
  if (const auto known = found.find(chosen); known != found.end()) return known->second;
  auto python = python_host::find_interpreter(chosen, python_host::installation(), kKind.noun);
  if (python) found.emplace(chosen, *python);
  return python;
}

}  // namespace

Expected<std::shared_ptr<const SourcePlugin>, SourceError> SourcePlugin::load(
    const std::string& name_or_path, const std::vector<std::string>& search_path, const HostSettings& host) {
  if (is_python_plugin(name_or_path)) return load_python(name_or_path, search_path, host);
  auto library = plugin_loader::PluginLibrary::load(kKind, name_or_path, search_path);
  if (!library) return Unexpected<SourceError>(from(std::move(library.error())));
  const std::shared_ptr<SourcePlugin> plugin(new SourcePlugin);
  plugin->library_ = *library;
  plugin->functions_ = reinterpret_cast<weir_source_entry_point>((*library)->entry_point())();
  if (auto error = check(plugin->functions_, plugin->path())) {
    return Unexpected<SourceError>(from(std::move(*error)));
  }
  using namespace plugin_loader;
  plugin->name_ = clean_text(plugin->functions_->name, kPluginNameMax);
  plugin->version_ = clean_text(plugin->functions_->version, kPluginNameMax);
  plugin->description_ = clean_text(plugin->functions_->description, kPluginTextMax);
  return std::shared_ptr<const SourcePlugin>(plugin);
}

Expected<std::shared_ptr<const SourcePlugin>, SourceError> SourcePlugin::load_python(
    const std::string& name_or_path, const std::vector<std::string>& search_path, const HostSettings& host) {
  const auto failed = [](SourceErrorCode code, std::string text) {
    return Unexpected<SourceError>({code, std::move(text)});
  };
  const auto path = plugin_loader::find_python_plugin(kKind.noun, name_or_path, search_path);
  if (!path) return failed(SourceErrorCode::not_found, path.error());
  auto copy = plugin_loader::copy_plugin(*path);
  if (!copy) return failed(SourceErrorCode::not_loadable, "source '" + *path + "': " + copy.error());
  const auto python = interpreter(host.python);
  if (!python) return failed(SourceErrorCode::not_loadable, python.error());
  const std::shared_ptr<SourcePlugin> plugin(new SourcePlugin);
  plugin->name_ = std::filesystem::path(*path).stem().string();
  plugin->version_ = "Python";
  plugin->description_ = "a source in Python";
  plugin->python_ = std::make_unique<PythonSource>(
      PythonSource{std::move(*copy), python_host::source_host_command(*python, "run", {}), host});
  plugin->functions_ = &python_source_functions();
  return std::shared_ptr<const SourcePlugin>(plugin);
}

}  // namespace weir::source_host
