#include "loss_note.hpp"

#include <spdlog/spdlog.h>

namespace weir::dcm {

void log_if_due(LossNote& note, bool ending, bool back, TimeNs now_ns) {
  const LossNote::Due due = note.look(ending, back, now_ns);
  if (due == LossNote::Due::nothing) return;
  spdlog::log(due == LossNote::Due::loss ? spdlog::level::warn : spdlog::level::info, "{}", note.what());
}

}  // namespace weir::dcm
