#pragma once

#include <weir/security/keys.hpp>

#include <zmq.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weir::bus {

// Answers ZeroMQ's requests for admission (ZAP, RFC 27): a client's key must be on the list, which also has
// its role. Messages carry the role as "User-Id". Runs in its own thread, because ZeroMQ's I/O thread waits
// for the answer.
class Admission {
 public:
  Admission(zmq::context_t& context, const std::vector<security::AllowedClient>& clients);
  ~Admission();
  // Returns the number of refused connections, and the address of the last one.
  [[nodiscard]] std::pair<std::uint64_t, std::string> refused() const;

 private:
  void serve();
  void answer(std::vector<zmq::message_t>& parts);

  zmq::socket_t socket_;
  zmq::socket_t stop_;  // signals the thread to end
  zmq::socket_t stop_sender_;
  std::map<std::string, std::string> roles_;  // by Z85 key
  mutable std::mutex mutex_;                  // of the two below
  std::uint64_t refused_ = 0;
  std::string refused_from_;
  std::thread thread_;
};

}  // namespace weir::bus
