// Preloaded into a process: counts the bytes that it allocates and copies through the C library, and writes
// both to a file when it ends. Misses copies that the compiler turns into moves.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> copied_bytes{0};

void add(std::atomic<std::uint64_t>& counter, std::uint64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

// Copies byte by byte: if the compiler recognised a memcpy here, it would call this function.
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void move(void* to, const void* from,
                                                                        std::size_t size) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  if (out < in || out >= in + size) {
    for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
  } else {
    for (std::size_t i = size; i > 0; --i) out[i - 1] = in[i - 1];
  }
}

struct AtEnd {
  ~AtEnd() {
    const char* const path = std::getenv("WEIR_COST_FILE");
    if (path == nullptr) return;
    const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return;
    char text[64];
    const int length =
        std::snprintf(text, sizeof text, "%llu %llu\n", static_cast<unsigned long long>(allocations.load()),
                      static_cast<unsigned long long>(copied_bytes.load()));
    if (::write(file, text, static_cast<std::size_t>(length)) != length) std::abort();
    ::close(file);
  }
} at_end;

}  // namespace

// glibc's own functions, under the names that it provides for replacements of malloc.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

__attribute__((visibility("default"))) void* malloc(std::size_t size) {
  add(allocations, 1);
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t size) {
  add(allocations, 1);
  return __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* block, std::size_t size) {
  add(allocations, 1);
  return __libc_realloc(block, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment, std::size_t size) {
  add(allocations, 1);
  return __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) void* memcpy(void* to, const void* from, std::size_t size) {
  add(copied_bytes, size);
  move(to, from, size);
  return to;
}
__attribute__((visibility("default"))) void* memmove(void* to, const void* from, std::size_t size) {
  add(copied_bytes, size);
  move(to, from, size);
  return to;
}
}
