#include "burst_disk.hpp"

#include <weir/reports/numbers.hpp>

#include <spdlog/spdlog.h>

#include <utility>

namespace weir::dcm {
namespace {

constexpr DurationNs kPauseAfterError = kSecond;

}  // namespace

void BurstDisk::pass(TimeNs now_ns, const Arrived& arrived) {
  for (const ports::ScratchResult& result : disk_->take_results()) {
    if (const auto write = writes_.extract(result.token)) {
      take_write(result, write.mapped(), now_ns);
    } else if (const auto read = reads_.extract(result.token)) {
      take_read(result, read.mapped(), arrived);
    }
  }
  if (now_ns < pause_until_ns_) return;
  while (const auto write = ring_.next_write()) {
    writes_.emplace(++tokens_, *write);
    disk_->write(write->to, ConstBytes(memory_ + write->from, write->bytes), tokens_);
  }
}

void BurstDisk::read(const burst::Ring::Record& record) {
  reads_.emplace(++tokens_, record);
  disk_->read(record.offset, record.bytes, tokens_);
}

void BurstDisk::take_write(const ports::ScratchResult& result, const burst::Ring::Write& write,
                           TimeNs now_ns) {
  if (result.error.empty()) {
    ring_.written(write.slice, result.crc32c);
    bytes_written_ += write.bytes;
    if (std::exchange(failing_, false)) spdlog::info("burst ring disk resumed");
    return;
  }
  ring_.write_failed(write.slice);
  ++errors_;
  pause_until_ns_ = now_ns + kPauseAfterError;
  if (!std::exchange(failing_, true))
    spdlog::error("burst ring has only its memory until the disk works reason=\"{}\"", result.error);
}

void BurstDisk::take_read(const ports::ScratchResult& result, const burst::Ring::Record& record,
                          const Arrived& arrived) {
  if (result.error.empty() && result.crc32c == record.checksum && result.bytes.size() == record.bytes)
    return arrived(record, result.bytes, result.owner);
  ++errors_;
  spdlog::error("burst ring lost a slice on its disk slice={} reason=\"{}\"", record.slice.value,
                result.error.empty() ? "checksum differs" : result.error);
  ring_.read_failed(record.alert, record.slice);
}

void BurstDisk::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  counters["burst.disk_bytes_written"] = bytes_written_;
  counters["burst.disk_errors"] = errors_;
  counters.of("burst.disk_missed.", "slow") = ring_.disk_slow();
  counters.of("burst.disk_missed.", "failed") = ring_.disk_failed();
  reports::Gauges gauges(report);
  gauges["burst_disk_bytes_used"] = static_cast<double>(ring_.disk_bytes_used());
}

}  // namespace weir::dcm
