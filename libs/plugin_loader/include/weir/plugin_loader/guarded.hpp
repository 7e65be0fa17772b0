#pragma once

#include <weir/base/text.hpp>

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

// Calls into plugins: none of them takes the process down by an exception.
namespace weir::plugin_loader {

// Room for a plugin's own words about an error, the closing zero included.
constexpr std::uint32_t kErrorTextSize = 512;

// What a plugin says of itself and of errors, and writes into the log, is cleaned (clean_text, base) and cut
// where it comes in: a name, a version or a counter's name, and any longer text.
constexpr std::size_t kPluginNameMax = 100;
constexpr std::size_t kPluginTextMax = 2000;

// Runs a function of the plugin; false, with the reason in `error`, when it throws.
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

// Plugins are asked to end their text with a zero byte; the buffer's last byte is ours, and stays one.
inline std::string text_of(char* error) {
  error[kErrorTextSize - 1] = 0;
  return error[0] == 0 ? "it gave no reason" : clean_text(error, kPluginTextMax);
}

}  // namespace weir::plugin_loader
