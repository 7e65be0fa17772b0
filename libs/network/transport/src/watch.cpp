
#include <boost/asio/posix/stream_descriptor.hpp>

namespace weir::transport {
namespace {

// The pending wait keeps this object alive; the Watch disables it.
class Watching : public std::enable_shared_from_this<Watching> {
 public:
  Watching(boost::asio::io_context& io, std::function<void()> on_readable)
      : descriptor_(io), on_readable_(std::move(on_readable)) {}

  bool open(int descriptor) {
    boost::system::error_code error;
    descriptor_.assign(descriptor, error);
    return !error;
  }
  void arm() {
    if (armed_) return;
    armed_ = true;
    descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                           [self = shared_from_this()](boost::system::error_code error) {
                             self->armed_ = false;
                             if (!error && self->on_readable_) self->on_readable_();
                           });
  }
  void close() {
    on_readable_ = nullptr;
    (void)descriptor_.release();  // stays open, because the caller owns it
  }

 private:
  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> on_readable_;
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
  auto watching = std::make_shared<Watching>(core_->io, std::move(on_readable));
  if (!watching->open(descriptor)) return nullptr;
  return std::make_unique<DescriptorWatch>(std::move(watching));
}

}  // namespace weir::transport
