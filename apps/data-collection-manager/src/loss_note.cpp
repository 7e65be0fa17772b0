#include "loss_note.hpp"

#include <spdlog/spdlog.h>

namespace weir::dcm {

void say(LossNote& note, bool ending, bool back, TimeNs now_ns) {
  const LossNote::Say due = note.look(ending, back, now_ns);
  if (due == LossNote::Say::nothing) return;
  spdlog::log(due == LossNote::Say::loss ? spdlog::level::warn : spdlog::level::info, "{}", note.what());
}

}  // namespace weir::dcm
