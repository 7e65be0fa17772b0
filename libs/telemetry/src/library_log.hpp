#pragma once

namespace weir::telemetry {

// What libraries would print by themselves becomes lines of spdlog's default logger, `library name=…
// text="…"`, a few in ten seconds and in the next one how many were left out, so that a
// peer whose bytes a library complains about does not fill the disk. Protocol Buffers is the one that prints;
// a fatal line of it is always written.
void take_over_library_logs();

// While one is there its thread is inside the log: what a library says meanwhile is counted among the left
// out.
class InsideLog {
 public:
  InsideLog();
  ~InsideLog();
  InsideLog(const InsideLog&) = delete;
  InsideLog& operator=(const InsideLog&) = delete;
};

}  // namespace weir::telemetry
