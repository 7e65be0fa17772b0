#include "loop_core.hpp"
#include <weir/transport/loop.hpp>

#include <sys/epoll.h>
#include <utility>

namespace weir::transport {
namespace {

// Registered for one event at a time: its reader may leave data in the descriptor.
class Watching final : public std::enable_shared_from_this<Watching>, private Reactor::Client {
 public:
  explicit Watching(std::function<void()> on_readable) : on_readable_(std::move(on_readable)) {}

  bool open(Reactor& reactor, int descriptor) {
    wait_ = reactor.add(descriptor, EPOLLONESHOT, *this);
    return wait_.is_active();
  }
  void arm() {
    if (!armed_) armed_ = wait_.change(EPOLLIN | EPOLLONESHOT);
  }
  void close() { wait_.reset(); }

 private:
  void on_events(std::uint32_t) override {
    const auto self = shared_from_this();  // the handler may destroy the Watch
    if (std::exchange(armed_, false)) on_readable_();
  }

  std::function<void()> on_readable_;
  Reactor::Registration wait_;
  bool armed_ = false;
};

class DescriptorWatch final : public ports::Watch {
 public:
  explicit DescriptorWatch(std::shared_ptr<Watching> watching) : watching_(std::move(watching)) {}
  ~DescriptorWatch() override { watching_->close(); }
  void arm() override { watching_->arm(); }

 private:
  std::shared_ptr<Watching> watching_;
};

}  // namespace

std::unique_ptr<ports::Watch> Loop::watch(int descriptor, std::function<void()> on_readable) {
  auto watching = std::make_shared<Watching>(std::move(on_readable));
  if (!watching->open(core_->reactor, descriptor)) return nullptr;
  return std::make_unique<DescriptorWatch>(std::move(watching));
}

}  // namespace weir::transport
