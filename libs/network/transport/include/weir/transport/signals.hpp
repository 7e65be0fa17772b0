#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

namespace weir::transport {

// True if this process was started with the signal ignored (nohup, a shell's background job). Such a signal
// gets no handler.
[[nodiscard]] bool is_ignored(int signal);

// Installs a handler, except for a signal that is ignored.
void handle_signal(int signal, void (*handler)(int));

// Notes signals while no loop waits for them, as between two loops that run in turn; a running loop receives
// them as well (Loop::on_signals).
class SignalWatch {
 public:
  explicit SignalWatch(std::initializer_list<int> signals);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Returns the last signal since the watch began; nullopt: none.
  [[nodiscard]] std::optional<int> received();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::transport
