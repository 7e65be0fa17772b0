#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/base/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::transport {

// Waits for descriptors with epoll. A descriptor is registered once, usually edge-triggered (EPOLLET):
// waiting for its next event takes no system call. Only wake() may be called from other threads.
class Reactor {
 public:
  class Client {
   public:
    // Called from within wait(). May add and remove clients, itself included.
    virtual void on_events(std::uint32_t epoll_events) = 0;

   protected:
    ~Client() = default;
  };

  // A registered descriptor; destroying it ends the registration. Requires: destroyed before the descriptor
  // is closed, and before the reactor.
  class Registration {
   public:
    Registration() = default;
    ~Registration() { reset(); }
    Registration(Registration&& other) noexcept;
    Registration& operator=(Registration&& other) noexcept;

    [[nodiscard]] bool is_active() const { return reactor_ != nullptr; }
    // Waits for other events, and for those that are present already. Returns false with errno.
    bool change(std::uint32_t epoll_events);
    void reset();

   private:
    friend class Reactor;
    Reactor* reactor_ = nullptr;
    int descriptor_ = -1;
    std::uint32_t slot_ = 0;
  };

  // Throws std::system_error if the process has no descriptor left.
  Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Returns an inactive registration, with errno, if this descriptor cannot be waited on.
  [[nodiscard]] Registration add(int descriptor, std::uint32_t epoll_events, Client& client);
  // Waits for the first events, for `wait_ns` rounded up to milliseconds, and calls their clients. Returns at
  // once after wake(). One system call.
  void wait(DurationNs wait_ns);
  // Ends the current or the next wait(). No system call unless the reactor is waiting.
  void wake();
  // Forgets a wake() and makes earlier writes of its thread visible. Called before its cause is handled.
  void clear_wake() { woken_.exchange(false, std::memory_order_acq_rel); }

 private:
  struct Slot {
    Client* client = nullptr;      // null: free
    std::uint32_t generation = 0;  // tells an event of an earlier registration
  };

  void remove(int descriptor, std::uint32_t slot);
  [[nodiscard]] std::uint64_t key(std::uint32_t slot) const;

  OwnedDescriptor epoll_;
  OwnedDescriptor waker_;  // an eventfd
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::atomic<bool> waiting_{false};
  std::atomic<bool> woken_{false};
};

}  // namespace weir::transport
