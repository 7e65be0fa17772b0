#include "trace_log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <mutex>
#include <string>

namespace weir::sim {
namespace {

class Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  Sink(SimFarm& farm, bool print) : farm_(farm), print_(print) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    farm_.note_log({message.payload.data(), message.payload.size()});
    if (!print_) return;
    std::printf("%.6f %s log %.*s\n", static_cast<double>(farm_.world().now_ns()) / kSecond,
                farm_.world().running(), static_cast<int>(message.payload.size()), message.payload.data());
  }
  void flush_() override {}

  SimFarm& farm_;
  bool print_;
};

}  // namespace

TraceLog::TraceLog(SimFarm& farm, bool print) : before_(spdlog::default_logger()) {
  if (!print && !farm.reads_logs()) {
    spdlog::set_level(spdlog::level::off);
    return;
  }
  auto logger = std::make_shared<spdlog::logger>("sim", std::make_shared<Sink>(farm, print));
  logger->set_level(print ? spdlog::level::debug : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
  if (!print) return;
  farm.set_trace([](TimeNs at_ns, const char* who, const char* what, std::uint64_t a, std::uint64_t b) {
    std::printf("%.6f %s %s %llu %llu\n", static_cast<double>(at_ns) / kSecond, who, what,
                static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  });
}

TraceLog::~TraceLog() {
  spdlog::set_default_logger(before_);
  spdlog::set_level(spdlog::level::info);
}

}  // namespace weir::sim
