#include "library_log.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/clock/clock.hpp>
#include <weir/telemetry/line_limit.hpp>

#include <google/protobuf/stubs/common.h>
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#endif
#include <spdlog/spdlog.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace weir::telemetry {
namespace {

constexpr std::size_t kTextBytesMax = 300;

thread_local int logs_inside = 0;

// Log lines of libraries arrive on any thread.
class LibraryLog {
 public:
  void say(spdlog::level::level_enum level, std::string_view library, std::string_view text) {
    std::uint64_t left_out = 0;
    {
      const std::lock_guard lock(mutex_);
      left_out_inside_ += logs_inside > 0 ? 1 : 0;
      if (logs_inside > 0) return;
      const auto more = limit_.ask(monotonic_now_ns());
      if (!more && level != spdlog::level::critical) return;
      left_out = more.value_or(0) + std::exchange(left_out_inside_, 0);
    }
    spdlog::log(level, "library name={} left_out={} text=\"{}\"", library, left_out,
                clean_quoted(text, kTextBytesMax));
  }

 private:
  std::mutex mutex_;
  LineLimit limit_;
  std::uint64_t left_out_inside_ = 0;
};

LibraryLog& library_log() {
  static LibraryLog log;
  return log;
}

#if GOOGLE_PROTOBUF_VERSION < 4022000
void say_of_protobuf(google::protobuf::LogLevel level, const char*, int, const std::string& text) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::info, spdlog::level::warn,
                                                   spdlog::level::err, spdlog::level::critical};
  static_assert(std::size(kLevels) == google::protobuf::LOGLEVEL_FATAL + 1);
  library_log().say(kLevels[level], "protobuf", text);
}
#endif

}  // namespace

InsideLog::InsideLog() { ++logs_inside; }
InsideLog::~InsideLog() {
  WEIR_ASSERT(logs_inside > 0);
  --logs_inside;
}

void take_over_library_logs() {
#if GOOGLE_PROTOBUF_VERSION < 4022000
  (void)library_log();
  google::protobuf::SetLogHandler(say_of_protobuf);
#endif
}

}  // namespace weir::telemetry
