#include "signal_inbox.hpp"

#include <weir/base/assert.hpp>
#include <weir/transport/signals.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <mutex>
#include <system_error>
#include <unistd.h>

namespace weir::transport {
namespace {

constexpr std::size_t kBoxesMax = 64;

// Pipes are kept for later inboxes, because a handler in another thread may be about to write into them.
struct Box {
  std::atomic<std::uint64_t> signals{0};  // as a mask; 0: free
  std::array<int, 2> pipe{-1, -1};
};
std::array<Box, kBoxesMax> boxes;
std::mutex boxes_mutex;  // for changes; the handler only reads

constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << signal; }

void deliver(int signal) {
  const int saved = errno;
  const auto byte = static_cast<char>(signal);
  for (const Box& box : boxes) {
    if ((box.signals.load(std::memory_order_acquire) & bit(signal)) == 0) continue;
    // A full pipe has signals enough.
    [[maybe_unused]] const ssize_t written = ::write(box.pipe[1], &byte, 1);
  }
  errno = saved;
}

void set_action(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigfillset(&action.sa_mask);
  if (::sigaction(signal, &action, nullptr) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot receive a signal");
}

bool is_received(int signal) {
  for (const Box& box : boxes) {
    if ((box.signals.load(std::memory_order_relaxed) & bit(signal)) != 0) return true;
  }
  return false;
}

}  // namespace

SignalInbox::SignalInbox(std::initializer_list<int> signals) {
  const std::lock_guard lock(boxes_mutex);
  for (box_ = 0; box_ < kBoxesMax && boxes[box_].signals.load(std::memory_order_relaxed) != 0;) ++box_;
  WEIR_ASSERT(box_ < kBoxesMax);
  Box& box = boxes[box_];
  if (box.pipe[0] < 0 && ::pipe2(box.pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot receive signals");
  while (take()) {  // of an inbox before
  }
  std::uint64_t mask = bit(0);  // taken, even without a signal
  for (const int signal : signals) {
    if (!is_ignored(signal)) mask |= bit(signal);
  }
  box.signals.store(mask, std::memory_order_release);
  for (const int signal : signals) {
    if ((mask & bit(signal)) != 0) set_action(signal, deliver);
  }
}

SignalInbox::~SignalInbox() {
  const std::lock_guard lock(boxes_mutex);
  const std::uint64_t mask = boxes[box_].signals.exchange(0, std::memory_order_acq_rel);
  for (int signal = 1; signal < 64; ++signal) {
    if ((mask & bit(signal)) != 0 && !is_received(signal)) std::signal(signal, SIG_DFL);
  }
}

int SignalInbox::descriptor() const { return boxes[box_].pipe[0]; }

std::optional<int> SignalInbox::take() {
  char byte = 0;
  if (::read(boxes[box_].pipe[0], &byte, 1) != 1) return std::nullopt;
  return byte;
}

}  // namespace weir::transport
