#pragma once

#include "messages.hpp"

#include <string>

namespace weir::probe {

// Returns the kernel's setting net.ipv4.tcp_slow_start_after_idle, of this process's network namespace.
[[nodiscard]] IdleRestart read_idle_restart();
// Returns whether this process may change it: it is in a network namespace of its own, not in that of the
// host, and may write the setting.
[[nodiscard]] bool may_change_idle_restart();

// Restores the setting that it found.
class IdleRestartChange {
 public:
  IdleRestartChange() : before_(read_idle_restart()) {}
  ~IdleRestartChange();
  IdleRestartChange(const IdleRestartChange&) = delete;
  IdleRestartChange& operator=(const IdleRestartChange&) = delete;

  // Requires: may_change_idle_restart(). Returns false if the kernel refuses.
  [[nodiscard]] bool set(IdleRestart value);

 private:
  IdleRestart before_;
  bool changed_ = false;
};

}  // namespace weir::probe
