#pragma once

#include "alarm_letter.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::run_control {

struct AlarmOutcome {
  std::uint64_t serial = 0;  // of the letter
  std::string error;         // a sentence; empty: delivered
};

// Delivers letters through child processes: the farm's command, or curl for mail and webhooks. Each has a
// thread of its own, so that nothing waits for a server, a file or a command. Children end by their time
// limit (coreutils' `timeout`), and outlive this object until then.
class AlarmSender {
 public:
  AlarmSender();
  ~AlarmSender();
  AlarmSender(const AlarmSender&) = delete;
  AlarmSender& operator=(const AlarmSender&) = delete;

  // Never waits.
  void send(AlarmLetter letter);
  [[nodiscard]] std::vector<AlarmOutcome> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace weir::run_control
