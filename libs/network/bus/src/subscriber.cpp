#include "sockets.hpp"
#include <weir/bus/subscriber.hpp>

namespace weir::bus {

struct Subscriber::Core {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::sub};
};

Subscriber::Subscriber(SubscriberSettings settings) : core_(std::make_unique<Core>()) {
  set_limits(core_->socket, settings.queue_max, settings.message_bytes_max);
  set_client_keys(core_->socket, settings.keys);
  core_->socket.connect(address(settings.host, settings.port));
}
Subscriber::~Subscriber() = default;

void Subscriber::subscribe(const std::string& tag) { core_->socket.set(zmq::sockopt::subscribe, tag); }

std::optional<Published> Subscriber::take(DurationNs wait) {
  core_->socket.set(zmq::sockopt::rcvtimeo, static_cast<int>(milliseconds(wait).count()));
  zmq::message_t message;
  try {
    if (!core_->socket.recv(message)) return std::nullopt;
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return std::nullopt;  // a signal: return to the caller, which has to handle it
    throw;
  }
  const auto parts = split(message);
  if (!parts || message.more()) return std::nullopt;
  return Published{std::string(parts->tag),
                   {reinterpret_cast<const char*>(parts->payload.data()), parts->payload.size()}};
}

}  // namespace weir::bus
