// The boundary between a C++ plugin and its C ABI: no exception may pass it. Part of weir/filter.hpp and
// weir/source.hpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>

namespace weir {
inline namespace plugin_v1 {
namespace plugin_detail {

inline void put_error(char* error, std::uint32_t size, const char* text) noexcept {
  if (error != nullptr && size > 0) std::snprintf(error, size, "%s", text);
}

// Runs `body`. An exception becomes the text in `error`, and `failed` the result.
template <class Body, class Result>
Result at_border(char* error, std::uint32_t size, Result failed, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& e) {
    put_error(error, size, e.what());
  } catch (...) {
    put_error(error, size, "an exception other than std::exception");
  }
  return failed;
}

}  // namespace plugin_detail
}  // namespace plugin_v1
}  // namespace weir
