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

}  // namespace weir::transport
