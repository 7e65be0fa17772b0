#include <weir/base/assert.hpp>
#include <weir/base/broken_invariant.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace weir {
namespace {

std::atomic<BrokenInvariantHandler>& handler() {
  static std::atomic<BrokenInvariantHandler> set = nullptr;
  return set;
}

}  // namespace

void on_broken_invariant(BrokenInvariantHandler set) { handler() = set; }

namespace detail {

void assertion_failed(const char* expression, const char* file, int line) {
  if (const BrokenInvariantHandler handle = handler().exchange(nullptr)) {
    handle(expression, file, line);
  } else {
    std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, expression);
  }
  std::abort();
}

}  // namespace detail
}  // namespace weir
