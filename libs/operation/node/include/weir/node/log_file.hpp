#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <string>

// The files in `run.out`/log: NAME.log is the open one; closed ones have the time of their end in their name,
// as dcm-0.2026-03-01T100000Z.log.
namespace weir::node {

constexpr std::uint32_t kLogFilesKept = 20;

// Closes a log that is not empty under another name, and deletes the oldest closed files of this process
// beyond `kept`. A log that cannot be renamed stays, and is continued.
void close_log(const std::string& path, std::uint32_t kept);

// Starts a new log file when this process' file has grown too long. Does nothing unless standard error goes
// to that file. Not thread-safe, but other threads may write to the log meanwhile.
class LogFile {
 public:
  LogFile(std::string path, std::uint64_t bytes_max, std::uint32_t kept)
      : path_(std::move(path)), bytes_max_(bytes_max), kept_(kept) {}

  // Cheap: checks once per kEvery.
  void look(TimeNs now);
  static constexpr DurationNs kEvery = 10 * kMillisecond;

 private:
  std::string path_;
  std::uint64_t bytes_max_;
  std::uint32_t kept_;
  TimeNs next_ns_ = 0;
};

}  // namespace weir::node
