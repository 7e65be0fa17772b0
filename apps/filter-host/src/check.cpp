#include "library.hpp"
#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/worker_setup.hpp>

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

namespace {

using namespace weir;

enum : std::int32_t { kGood = 0, kNotLoadable = 1, kRefused = 2 };

std::int32_t check(const std::string& json, std::string& text) {
  v1::WorkerMessage::Setup setup;
  if (const auto parsed = google::protobuf::util::JsonStringToMessage(json, &setup); !parsed.ok()) {
    text = "its settings are not JSON: " + parsed.ToString();
    return kNotLoadable;
  }
  const auto plugin = filter_host::FilterPlugin::load(
      setup.plugin(), {setup.search_path().begin(), setup.search_path().end()});
  if (!plugin) {
    text = plugin.error().text;
    return kNotLoadable;
  }
  filter_host::FilterMetrics metrics;
  const auto made = filter_host::FilterInstance::create(*plugin, filter_host::config_of(setup), metrics);
  if (!made) {
    text = made.error().text;
    return kRefused;
  }
  text = "  " + (*plugin)->name() + " " + (*plugin)->version() + ", " + (*plugin)->description() +
         "\n  from " + (*plugin)->path() + "\n";
  return kGood;
}

}  // namespace

std::int32_t weir_filter_host_check(const char* setup, char* out, std::uint32_t size) {
  std::string text;
  std::int32_t status = kNotLoadable;
  try {
    status = check(setup, text);
  } catch (const std::exception& problem) {
    text = problem.what();
  }
  const std::size_t length = std::min<std::size_t>(text.size(), size - 1);
  std::memcpy(out, text.data(), length);
  out[length] = 0;
  return status;
}
