#pragma once

namespace weir::telemetry {

// Makes a failed WEIR_ASSERT a line of spdlog's default logger, with a backtrace:
//   broken invariant expression="…" at=libs/…:17 backtrace="weir-dcm+0x2f3a1 …"
void log_broken_invariants();

}  // namespace weir::telemetry
