#pragma once

#include <weir/security/keys.hpp>

#include <zmq.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace weir::bus {

// Answers ZeroMQ's requests for admission (ZAP, RFC 27): a client's key has to be on the list, which also has
// its role. Messages carry the role as "User-Id". Runs in its own thread, because ZeroMQ's I/O thread waits
// for the answer.
class Admission {
 public:
  Admission(zmq::context_t& context, const std::vector<security::AllowedClient>& clients);
  ~Admission();
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void serve();
  void answer(std::vector<zmq::message_t>& parts);

  zmq::socket_t socket_;
  zmq::socket_t stop_;  // signals the thread to end
  zmq::socket_t stop_sender_;
  std::map<std::string, std::string> roles_;  // by Z85 key
  std::atomic<std::uint64_t> refused_{0};
  std::thread thread_;
};

}  // namespace weir::bus
