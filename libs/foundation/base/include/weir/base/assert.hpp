#pragma once

namespace weir::detail {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}

// For bugs, not for bad input. Active in release builds too: a node with a broken invariant must not
// continue.
#define WEIR_ASSERT(expression)            \
  (static_cast<bool>(expression) ? void(0) \
                                 : ::weir::detail::assertion_failed(#expression, __FILE__, __LINE__))
