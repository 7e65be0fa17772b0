#pragma once

#include "tls.hpp"
#include <weir/transport/loop.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <memory>
#include <unordered_set>
#include <vector>

namespace weir::transport {

class Connection;

class Loop::Core {
 public:
  explicit Core(SocketPolicy socket_policy)
      : policy(std::move(socket_policy)),
        tls(policy.tls_keys.empty() ? nullptr : std::make_unique<TlsContext>(policy.tls_keys)) {}

  void set_options(int socket);
  void flush_dirty();
  void remember(Connection* connection) { live.insert(connection); }
  void forget(Connection* connection, const ports::StreamCounters& last);

  SocketPolicy policy;
  std::unique_ptr<TlsContext> tls;  // empty: plain TCP
  boost::asio::io_context io{1};    // one thread runs it; posts from others stay locked
  // Without this the reactor would return at once instead of waiting.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  boost::asio::steady_timer alarm{io};
  TimeNs alarm_ns = 0;  // time of the alarm; 0: not set
  std::unique_ptr<boost::asio::signal_set> signals;
  std::function<void(int)> signal_handler;
  std::vector<std::shared_ptr<Connection>> dirty;
  std::unordered_set<Connection*> live;
  ports::StreamCounters closed_totals;
  LoopCounters counters;
  std::uint64_t looks = 0;  // polls of the reactor
  std::size_t received_in_pass = 0;
  std::atomic<bool> stopped{false};
  std::atomic<bool> wake_pending{false};
};

ports::StreamCounters& operator+=(ports::StreamCounters& left, const ports::StreamCounters& right);

}  // namespace weir::transport
