#pragma once

namespace weir::telemetry {

// Turns libraries' own output into lines of spdlog's default logger, `library name=… text="…"`: a few per ten
// seconds, the next of which has the number left out, so that a peer cannot fill the disk with bytes that
// make a library complain. Protocol Buffers prints such lines; its fatal ones are always written.
void take_over_library_logs();

// While an object exists, its thread is inside the log: a library's messages in that time are only counted.
class InsideLog {
 public:
  InsideLog();
  ~InsideLog();
  InsideLog(const InsideLog&) = delete;
  InsideLog& operator=(const InsideLog&) = delete;
};

}  // namespace weir::telemetry
