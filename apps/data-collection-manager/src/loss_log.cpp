#include "loss_log.hpp"

#include <spdlog/spdlog.h>

namespace weir::dcm {

void log_if_due(LossLog& log, bool ending, bool back, TimeNs now_ns) {
  const LossLog::Due due = log.look(ending, back, now_ns);
  if (due == LossLog::Due::nothing) return;
  spdlog::log(due == LossLog::Due::loss ? spdlog::level::warn : spdlog::level::info, "{}", log.what());
}

}  // namespace weir::dcm
