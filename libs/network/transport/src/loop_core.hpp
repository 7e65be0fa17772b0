#pragma once

#include "name_lookup.hpp"
#include "reactor.hpp"
#include "signal_inbox.hpp"
#include "tls.hpp"
#include <weir/base/owned_descriptor.hpp>
#include <weir/transport/loop.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weir::transport {

class Connection;

class Loop::Core {
 public:
  // Throws std::system_error if the process has no descriptor left.
  explicit Core(SocketPolicy socket_policy);

  void set_options(int socket);
  // Waits for the first event, calls due tasks, and gives connections with received data their turns. A turn
  // beyond the limits of a pass is due in the next one.
  void take_in(DurationNs wait_ns);
  void flush_dirty();
  void remember(Connection* connection) { live.insert(connection); }
  void forget(Connection* connection, const ports::StreamCounters& last);
  // Calls `task` on the loop's thread, not from within this call. May be called from other threads.
  void post(std::function<void()> task);
  // Calls `task` after kRetry, or earlier if other tasks wait already.
  void post_later(std::function<void()> task);
  void set_alarm(TimeNs at_ns);
  void receive_signals(std::initializer_list<int> signals, std::function<void(int)> handler);

  SocketPolicy policy;
  std::unique_ptr<TlsContext> tls;  // empty: plain TCP
  Reactor reactor;
  std::vector<std::shared_ptr<Connection>> dirty;    // have data to send
  std::deque<std::shared_ptr<Connection>> readable;  // have data to receive, in the order of their turns
  std::unordered_set<Connection*> live;
  ports::StreamCounters closed_totals;
  LoopCounters counters;
  std::uint64_t looks = 0;  // polls of the reactor
  std::size_t received_in_pass = 0;
  std::atomic<bool> stopped{false};

 private:
  using Tasks = std::vector<std::function<void()>>;

  class Callback final : public Reactor::Client {
   public:
    explicit Callback(std::function<void()> call) : call_(std::move(call)) {}
    void on_events(std::uint32_t) override { call_(); }

   private:
    std::function<void()> call_;
  };

  void run_tasks();

  std::mutex tasks_mutex_;
  Tasks tasks_;
  std::atomic<bool> has_tasks_{false};
  Tasks later_;
  TimeNs later_ns_ = 0;  // when they are due
  OwnedDescriptor timer_;
  TimeNs alarm_ns_ = 0;  // 0: not set
  Callback on_alarm_{[this] { alarm_ns_ = 0; }};
  Reactor::Registration alarm_;
  std::unique_ptr<SignalInbox> signals_;
  std::unique_ptr<Callback> on_signal_;
  Reactor::Registration signal_wait_;

 public:
  NameLookup names;  // destroyed first, because its thread posts tasks
};

ports::StreamCounters& operator+=(ports::StreamCounters& left, const ports::StreamCounters& right);

}  // namespace weir::transport
