#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>

// Calls into plugins: none of them takes the process down by an exception.
namespace weir::plugin_loader {

// Room for a plugin's own words about an error, the closing zero included.
constexpr std::uint32_t kErrorTextSize = 512;

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
inline std::string_view text_of(char* error) {
  error[kErrorTextSize - 1] = 0;
  return error[0] == 0 ? "it gave no reason" : std::string_view(error);
}

}  // namespace weir::plugin_loader
