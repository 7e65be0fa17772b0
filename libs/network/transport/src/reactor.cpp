#include "reactor.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <utility>

namespace weir::transport {
namespace {

constexpr std::size_t kEventsPerWait = 256;
constexpr std::uint64_t kWakerKey = UINT64_MAX;

}  // namespace

Reactor::Registration::Registration(Registration&& other) noexcept
    : reactor_(std::exchange(other.reactor_, nullptr)), descriptor_(other.descriptor_), slot_(other.slot_) {}

Reactor::Registration& Reactor::Registration::operator=(Registration&& other) noexcept {
  if (this == &other) return *this;
  reset();
  reactor_ = std::exchange(other.reactor_, nullptr);
  descriptor_ = other.descriptor_;
  slot_ = other.slot_;
  return *this;
}

bool Reactor::Registration::change(std::uint32_t epoll_events) {
  WEIR_ASSERT(is_active());
  epoll_event event{};
  event.events = epoll_events;
  event.data.u64 = reactor_->key(slot_);
  return ::epoll_ctl(reactor_->epoll_.get(), EPOLL_CTL_MOD, descriptor_, &event) == 0;
}

void Reactor::Registration::reset() {
  if (Reactor* const reactor = std::exchange(reactor_, nullptr)) reactor->remove(descriptor_, slot_);
}

Reactor::Reactor()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // each write is an edge, so the eventfd is never read
  event.data.u64 = kWakerKey;
  if (!epoll_.is_open() || !waker_.is_open() ||
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, waker_.get(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make an event loop");
  }
}

Reactor::Registration Reactor::add(int descriptor, std::uint32_t epoll_events, Client& client) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  WEIR_ASSERT(slots_[slot].client == nullptr);
  epoll_event event{};
  event.events = epoll_events;
  event.data.u64 = key(slot);
  Registration made;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return made;
  free_.pop_back();
  slots_[slot].client = &client;
  made.reactor_ = this;
  made.descriptor_ = descriptor;
  made.slot_ = slot;
  return made;
}

void Reactor::remove(int descriptor, std::uint32_t slot) {
  WEIR_ASSERT(slots_[slot].client != nullptr);
  // Closing alone would not do while a forked child holds the descriptor.
  epoll_event unused{};
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, &unused);
  slots_[slot].client = nullptr;
  ++slots_[slot].generation;
  free_.push_back(slot);
}

std::uint64_t Reactor::key(std::uint32_t slot) const {
  return std::uint64_t{slots_[slot].generation} << 32 | slot;
}

void Reactor::wait(DurationNs wait_ns) {
  int wait_ms = 0;
  if (wait_ns > 0) {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    wait_ms = static_cast<int>(std::min(kMost, (wait_ns - 1) / kMillisecond + 1));
    // A wake() either sees that this thread waits, or is seen here.
    waiting_.store(true, std::memory_order_seq_cst);
    if (woken_.load(std::memory_order_seq_cst)) wait_ms = 0;
  }
  std::array<epoll_event, kEventsPerWait> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms);
  waiting_.store(false, std::memory_order_relaxed);
  WEIR_ASSERT(count >= 0 || errno == EINTR);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t from = events[static_cast<std::size_t>(i)].data.u64;
    if (from == kWakerKey) continue;
    const auto slot = static_cast<std::uint32_t>(from);
    if (key(slot) != from || slots_[slot].client == nullptr) continue;  // removed by a client before it
    slots_[slot].client->on_events(events[static_cast<std::size_t>(i)].events);
  }
}

void Reactor::wake() {
  if (woken_.exchange(true, std::memory_order_seq_cst)) return;
  if (waiting_.load(std::memory_order_seq_cst)) (void)::eventfd_write(waker_.get(), 1);
}

}  // namespace weir::transport
