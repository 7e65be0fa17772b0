#pragma once

#include <weir/base/text.hpp>

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

// Calls into plugins. No exception of a plugin ends the process.
namespace weir::plugin_loader {

// Room for a plugin's error text, the terminating zero included.
constexpr std::uint32_t kErrorTextSize = 512;

// All text of a plugin (its description, errors, log lines) is cleaned on receipt (clean_text, base) and cut:
// names, versions and names of counters to this length, and longer text.
constexpr std::size_t kPluginNameMax = 100;
constexpr std::size_t kPluginTextMax = 2000;

// Calls a function of the plugin. Returns false, with the reason in `error`, if it throws.
template <class Call>
bool guarded(char* error, Call call) {
  try {
    call();
    return true;
  } catch (const std::exception& e) {
    std::strncpy(error, e.what(), kErrorTextSize - 1);
  } catch (...) {
    std::strncpy(error, "an exception", kErrorTextSize - 1);
  }
  return false;
}

// Plugins should terminate their text with a zero byte. The buffer's last byte is not given to them and stays
// zero.
inline std::string text_of(char* error) {
  error[kErrorTextSize - 1] = 0;
  return error[0] == 0 ? "it gave no reason" : clean_text(error, kPluginTextMax);
}

}  // namespace weir::plugin_loader
