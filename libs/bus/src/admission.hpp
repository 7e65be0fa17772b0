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

// Answers ZeroMQ's question who may connect (ZAP, RFC 27): a client's key has to be on the list, and tells
// its role, which messages then carry as their "User-Id". A thread of its own, as ZeroMQ's I/O thread waits
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
  zmq::socket_t stop_;  // the thread's end
  zmq::socket_t stop_sender_;
  std::map<std::string, std::string> roles_;  // by Z85 key
  std::atomic<std::uint64_t> refused_{0};
  std::thread thread_;
};

}  // namespace weir::bus
