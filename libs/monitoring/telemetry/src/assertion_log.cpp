#include "assertion_log.hpp"

#include <weir/base/broken_invariant.hpp>
#include <weir/base/text.hpp>

#include <execinfo.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace weir::telemetry {
namespace {

constexpr int kFramesMax = 32;
constexpr int kOwnFrames = 3;  // of this handler and of WEIR_ASSERT
constexpr std::size_t kExpressionMax = 400;

// Returns the path from the top of the source tree.
std::string_view in_tree(std::string_view file) {
  for (const std::string_view top : {"/libs/", "/apps/", "/plugins/", "/tests/"}) {
    if (const auto at = file.rfind(top); at != file.npos) return file.substr(at + 1);
  }
  return file;
}

// Returns each caller as "program+0xoffset", the form that addr2line takes.
std::string callers() {
  std::array<void*, kFramesMax> frames{};
  const int count = ::backtrace(frames.data(), kFramesMax);
  std::string text;
  for (int i = kOwnFrames; i < count; ++i) {
    void* const frame = frames[static_cast<std::size_t>(i)];
    Dl_info where{};
    if (::dladdr(frame, &where) == 0 || where.dli_fname == nullptr) continue;
    std::string_view program = where.dli_fname;
    if (const auto slash = program.rfind('/'); slash != program.npos) program.remove_prefix(slash + 1);
    const auto offset =
        reinterpret_cast<std::uintptr_t>(frame) - reinterpret_cast<std::uintptr_t>(where.dli_fbase);
    text += fmt::format("{}{}+{:#x}", text.empty() ? "" : " ", program, offset);
  }
  return text;
}

void log_failure(const char* expression, const char* file, int line) {
  spdlog::critical("broken invariant expression=\"{}\" at={}:{} backtrace=\"{}\"",
                   clean_quoted(expression, kExpressionMax), in_tree(file), line, callers());
  spdlog::default_logger()->flush();
}

}  // namespace

void log_broken_invariants() { on_broken_invariant(&log_failure); }

}  // namespace weir::telemetry
