#pragma once

#include <weir/ports/network.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::transport {

using TcpEndpoints = std::vector<boost::asio::ip::tcp::endpoint>;

// Returns the addresses of a host, by the system's resolver; empty: none. May block for seconds.
[[nodiscard]] TcpEndpoints look_up(const ports::Endpoint& host, bool to_listen);

// Looks hosts up in a thread of its own, which the first question starts.
class NameLookup {
 public:
  ~NameLookup();  // waits for the current question

  // Calls `answer` in the other thread.
  void ask(ports::Endpoint host, std::function<void(TcpEndpoints)> answer);

 private:
  struct Question {
    ports::Endpoint host;
    std::function<void(TcpEndpoints)> answer;
  };

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> questions_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace weir::transport
