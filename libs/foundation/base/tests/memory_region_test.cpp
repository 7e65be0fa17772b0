#include "weir_catch.hpp"
#include <weir/base/memory_region.hpp>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir {
namespace {

constexpr std::size_t kBytes = 8192;

TEST_CASE("a sealed region is written through its own mapping and read through any other") {
  MemoryRegion region("sealed", kBytes);
  region.seal();

  CHECK(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.descriptor(), 0) == MAP_FAILED);
  CHECK(errno == EPERM);

  void* other = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, region.descriptor(), 0);
  REQUIRE(other != MAP_FAILED);
  region.bytes()[17] = std::byte{42};
  CHECK(static_cast<const std::byte*>(other)[17] == std::byte{42});
  CHECK(::mprotect(other, kBytes, PROT_READ | PROT_WRITE) != 0);
  CHECK(::munmap(other, kBytes) == 0);
}

TEST_CASE("a sealed region keeps its size and takes no write()") {
  MemoryRegion region("sealed", kBytes);
  region.seal();
  const char byte = 1;
  CHECK(::pwrite(region.descriptor(), &byte, 1, 0) == -1);
  CHECK(::ftruncate(region.descriptor(), 0) == -1);
  CHECK(::ftruncate(region.descriptor(), 2 * kBytes) == -1);
  CHECK(region.bytes()[0] == std::byte{0});
}

TEST_CASE("a region above the limit of file sizes works, but cannot be shared") {
  // In a child process, because the limit can only be lowered.
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{kBytes / 2, kBytes / 2};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    MemoryRegion region("large", kBytes);
    region.bytes()[kBytes - 1] = std::byte{7};
    try {
      region.seal();
    } catch (const std::runtime_error& error) {
      const bool named = std::string(error.what()).find("ulimit -f") != std::string::npos;
      ::_exit(named && region.descriptor() == -1 ? 0 : 3);
    }
    ::_exit(4);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a region that is not sealed can be mapped for writing") {
  const MemoryRegion region("open", kBytes);
  void* other = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.descriptor(), 0);
  REQUIRE(other != MAP_FAILED);
  static_cast<std::byte*>(other)[3] = std::byte{9};
  CHECK(region.bytes()[3] == std::byte{9});
  CHECK(::munmap(other, kBytes) == 0);
}

}  // namespace
}  // namespace weir
