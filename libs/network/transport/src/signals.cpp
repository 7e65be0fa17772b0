#include "signal_inbox.hpp"
#include <weir/transport/signals.hpp>

#include <csignal>

namespace weir::transport {

bool is_ignored(int signal) {
  struct sigaction now = {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void handle_signal(int signal, void (*handler)(int)) {
  if (!is_ignored(signal)) std::signal(signal, handler);
}

struct SignalWatch::Core {
  SignalInbox inbox;
  std::optional<int> last;
};

SignalWatch::SignalWatch(std::initializer_list<int> signals)
    : core_(new Core{SignalInbox(signals), std::nullopt}) {}

SignalWatch::~SignalWatch() = default;

std::optional<int> SignalWatch::received() {
  while (const std::optional<int> signal = core_->inbox.take()) core_->last = signal;
  return core_->last;
}

}  // namespace weir::transport
