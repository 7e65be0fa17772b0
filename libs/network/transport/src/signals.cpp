#include <weir/transport/signals.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

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
  boost::asio::io_context io;
  boost::asio::signal_set signals{io};
  std::optional<int> last;

  void wait() {
    signals.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      last = signal;
      wait();
    });
  }
};

SignalWatch::SignalWatch(std::initializer_list<int> signals) : core_(std::make_unique<Core>()) {
  for (const int signal : signals) {
    if (!is_ignored(signal)) core_->signals.add(signal);
  }
  core_->wait();
}

SignalWatch::~SignalWatch() = default;

std::optional<int> SignalWatch::received() {
  core_->io.poll();
  return core_->last;
}

}  // namespace weir::transport
