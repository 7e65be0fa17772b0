#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace weir::filter_host {

// Descriptors of the DCM are above all numbers that a worker inherits.
constexpr int kFirstPrivate = 16;

// A descriptor that is closed with its owner, and at exec.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool good() const { return number_ >= 0; }
  // Above the numbers that posix_spawn's dup2 writes to.
  [[nodiscard]] Descriptor lifted() && {
    if (number_ < 0 || number_ >= kFirstPrivate) return std::move(*this);
    return Descriptor(::fcntl(number_, F_DUPFD_CLOEXEC, kFirstPrivate));
  }

 private:
  int number_ = -1;
};

}  // namespace weir::filter_host
