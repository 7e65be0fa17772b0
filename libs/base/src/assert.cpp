#include <weir/base/assert.hpp>

#include <cstdio>
#include <cstdlib>

namespace weir::detail {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, expression);
  std::abort();
}

}  // namespace weir::detail
