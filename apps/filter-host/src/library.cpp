#include "library.hpp"

#include <weir/filter_host/plugin.hpp>
#include <weir/filter_host/worker_main.hpp>
#include <weir/filter_try/command.hpp>
#include <weir/filter_try/command_json.hpp>
#include <weir/plugin_loader/plugin_copy.hpp>

#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace weir;

constexpr std::uint32_t kErrorSize = 4096;
constexpr int kFailed = 2;

struct PythonFunctions {
  weir_python_load load = nullptr;
  weir_python_has_batches has_batches = nullptr;
  weir_python_begin_batch begin_batch = nullptr;
};

Expected<filter_host::ForeignPlugin, std::string> load_with(const PythonFunctions& python,
                                                            const plugin_loader::PluginCopy& copy) {
  std::vector<weir_python_file> files;
  for (const plugin_loader::PluginFile& file : copy.files)
    files.push_back({file.path.c_str(), file.content.data(), file.content.size()});
  std::array<char, kErrorSize> error{};
  filter_host::ForeignPlugin plugin;
  plugin.functions = python.load(files.data(), files.size(), error.data(), kErrorSize);
  error.back() = 0;
  if (plugin.functions == nullptr) return Unexpected<std::string>(error.data());
  plugin.path = copy.files.front().path;
  plugin.file_crc32c = copy.crc32c;
  plugin.has_batches = [python](void* instance) { return python.has_batches(instance) != 0; };
  plugin.begin_batch = [python](void* instance, std::span<const weir_filter_slice> slices) {
    python.begin_batch(instance, slices.data(), slices.size());
  };
  return plugin;
}

}  // namespace

void weir_filter_host_set_up(weir_python_load load, weir_python_has_batches has,
                             weir_python_begin_batch begin) {
  const PythonFunctions python{load, has, begin};
  filter_host::FilterPlugin::load_python_with(
      [python](const plugin_loader::PluginCopy& copy) { return load_with(python, copy); });
}

std::int32_t weir_filter_host_is_worker(void) { return filter_host::is_worker() ? 1 : 0; }

void weir_filter_host_prepare(void) { filter_host::prepare_worker(); }

std::int32_t weir_filter_host_work(void) {
  try {
    return filter_host::run_worker();
  } catch (const std::exception& problem) {
    std::cerr << "filter worker failed reason=\"" << problem.what() << "\"\n";
    return kFailed;
  }
}

void weir_filter_host_keep(const weir_filter_slice* slice) { filter_host::keep_slice_bytes(*slice); }

void weir_filter_host_fill(const weir_filter_host* host, std::uint32_t histogram, const double* x,
                           const double* y, const double* weight, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) host->fill(host, histogram, x[i], y[i], weight[i]);
}

void weir_filter_host_out_of_memory(const char* note) { filter_host::end_out_of_memory(note); }

std::int32_t weir_filter_host_try(const char* command) {
  try {
    const auto settings = filter_try::parse_command(command);
    if (!settings) {
      std::cerr << "weir filter try: " << settings.error() << "\n";
      return kFailed;
    }
    const int status = filter_try::run_try_command(*settings, std::cout, std::cerr);
    std::cout.flush();
    return status;
  } catch (const std::exception& problem) {
    std::cerr << "weir filter try: " << problem.what() << "\n";
    return kFailed;
  }
}
