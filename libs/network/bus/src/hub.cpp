#include "admission.hpp"
#include "connection_watch.hpp"
#include "sockets.hpp"
#include <weir/base/assert.hpp>
#include <weir/bus/hub.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

namespace weir::bus {
namespace {

constexpr int kTurnMax = 1000;        // messages of one kind in one poll()
constexpr std::size_t kCommands = 0;  // places of the sockets in ConnectionWatch
constexpr std::size_t kPublishers = 1;
constexpr std::size_t kSubscribers = 2;
constexpr int kReceiveBufferBytes = kUnreadBytesMax / 2;  // the kernel doubles it
constexpr const char* kUserId = "User-Id";
constexpr const char* kPeerAddress = "Peer-Address";

security::BusRole role_of(std::string_view name) {
  for (const auto role :
       {security::BusRole::control, security::BusRole::node, security::BusRole::operator_}) {
    if (security::name(role) == name) return role;
  }
  return security::BusRole::observer;
}

std::string address_of(const zmq::message_t& message) {
  const char* address = zmq_msg_gets(message.handle(), kPeerAddress);
  return address == nullptr ? "" : address;
}

std::string_view user_of(const zmq::message_t& message) {
  const char* user = zmq_msg_gets(message.handle(), kUserId);
  return user == nullptr ? std::string_view() : std::string_view(user);
}

}  // namespace

struct Hub::Core {
  explicit Core(HubSettings wanted)
      : settings(std::move(wanted)),
        commands(context, zmq::socket_type::router),
        publishers(context, zmq::socket_type::xsub),
        subscribers(context, zmq::socket_type::xpub),
        watch(context, {settings.connections_max, settings.held_bytes_max, settings.first_bytes_max}) {
    if (settings.keys) admission = std::make_unique<Admission>(context, settings.clients);
    for (zmq::socket_t* socket : {&commands, &publishers, &subscribers}) {
      const int queue_max = socket == &commands ? settings.queue_max : settings.published_queue_max;
      set_limits(*socket, queue_max, settings.message_bytes_max);
      set_server_keys(*socket, settings.keys);
      socket->set(zmq::sockopt::rcvbuf, kReceiveBufferBytes);
    }
    // A message to a client that is gone fails, so that the caller is informed.
    commands.set(zmq::sockopt::router_mandatory, 1);
    // A client that reconnects replaces its previous connection.
    commands.set(zmq::sockopt::router_handover, 1);
    watch.add(kCommands, commands);
    watch.add(kPublishers, publishers);
    watch.add(kSubscribers, subscribers);
    port = bind_at(commands, settings.host, settings.port);
    publish_port = bind_near(publishers, settings.publish_port);
    subscribe_port = bind_near(subscribers, settings.subscribe_port);
    watch.start({port, publish_port, subscribe_port});
    if (!settings.beside) return;
    serve(commands, settings.beside(port));
    serve(publishers, settings.beside(publish_port));
    serve(subscribers, settings.beside(subscribe_port));
  }

  static void serve(zmq::socket_t& socket, int listening) {
    WEIR_ASSERT(listening >= 0);
    if (zmq_setsockopt(socket.handle(), ZMQ_USE_FD, &listening, sizeof listening) != 0)
      throw std::runtime_error("the bus cannot listen at a second place");
    (void)bind_at(socket, "127.0.0.1", 0);  // the address is ignored: the socket listens already
  }

  // Binds to any free port if the wanted one is taken: clients receive the port number over the bus.
  [[nodiscard]] std::uint16_t bind_near(zmq::socket_t& socket, std::uint16_t wanted) const {
    try {
      return bind_at(socket, settings.host, wanted);
    } catch (const std::runtime_error&) {
      if (wanted == 0) throw;
      return bind_at(socket, settings.host, 0);
    }
  }

  void take_commands(HubHandler& handler) {
    for (int i = 0; i < kTurnMax; ++i) {
      zmq::message_t id;
      if (!commands.recv(id, zmq::recv_flags::dontwait)) return watch.drained(kCommands);
      zmq::message_t body;
      bool more = id.more();
      std::size_t parts = 0;
      bool readable = true;
      while (more) {
        if (!commands.recv(body, zmq::recv_flags::dontwait)) break;
        readable = watch.taken(kCommands, body) && readable;
        more = body.more();
        ++parts;
      }
      Sender from;
      from.id = id.to_string();
      from.address = address_of(body);
      if (settings.keys) from.role = role_of(user_of(body));
      if (parts == 1 && readable && body.size() > settings.first_bytes_max && !handler.sends_long(from)) {
        ++counters.too_long;
        continue;
      }
      const auto message = parts == 1 && readable ? from_message(body) : std::nullopt;
      if (!message) {
        ++counters.malformed;
        continue;
      }
      ++counters.received;
      remember(from.id, descriptor_of(body));
      handler.on_message(from, *message);
    }
  }

  void forward_published(HubHandler& handler) {
    for (int i = 0; i < kTurnMax; ++i) {
      zmq::message_t message;
      if (!publishers.recv(message, zmq::recv_flags::dontwait)) return watch.drained(kPublishers);
      watch.taken(kPublishers, message);
      const auto parts = split(message);
      if (!parts || message.more()) {
        ++counters.malformed;
        continue;
      }
      if (settings.keys && user_of(message) != security::name(security::BusRole::node)) {
        ++counters.not_allowed;
        continue;
      }
      const bool wanted = std::any_of(observed.begin(), observed.end(),
                                      [&](const std::string& tag) { return parts->tag.starts_with(tag); });
      if (wanted) handler.on_published(parts->tag, parts->payload);
      pass_on(std::move(message));
    }
  }

  // A client that has gone, and one that comes, may share a descriptor: then the next message corrects it.
  void remember(const std::string& client, int descriptor) {
    if (descriptors.size() >= settings.connections_max) descriptors.clear();
    descriptors[client] = descriptor;
  }

  void pass_on(zmq::message_t message) {
    // If one subscriber's queue is full, only that subscriber loses the message.
    const bool sent = subscribers.send(message, zmq::send_flags::dontwait).has_value();
    ++(sent ? counters.published : counters.dropped);
  }

  // Passes subscriptions on: publishers send only tags to which a client has subscribed.
  void forward_subscriptions() {
    for (int i = 0; i < kTurnMax; ++i) {
      zmq::message_t wish;
      if (!subscribers.recv(wish, zmq::recv_flags::dontwait)) return watch.drained(kSubscribers);
      watch.taken(kSubscribers, wish);
      publishers.send(wish, zmq::send_flags::dontwait);
    }
  }

  HubSettings settings;
  zmq::context_t context{1};
  std::unique_ptr<Admission>
      admission;  // constructed before the sockets that consult it, destroyed after them
  zmq::socket_t commands;
  zmq::socket_t publishers;
  zmq::socket_t subscribers;
  ConnectionWatch watch;                             // ends before the sockets that it watches
  std::unordered_map<std::string, int> descriptors;  // of the clients' connections
  std::vector<std::string> observed;
  std::uint16_t port = 0;
  std::uint16_t publish_port = 0;
  std::uint16_t subscribe_port = 0;
  int further = -1;  // a descriptor that ends waiting; negative: none
  HubCounters counters;
};

Hub::Hub(HubSettings settings) : core_(std::make_unique<Core>(std::move(settings))) {}
Hub::~Hub() = default;

std::uint16_t Hub::port() const { return core_->port; }
const HubSettings& Hub::settings() const { return core_->settings; }
std::uint16_t Hub::publish_port() const { return core_->publish_port; }
std::uint16_t Hub::subscribe_port() const { return core_->subscribe_port; }

void Hub::poll(DurationNs wait, HubHandler& handler) {
  WEIR_ASSERT(wait >= 0);  // ZeroMQ waits forever otherwise
  Core& core = *core_;
  std::array<zmq::pollitem_t, 4> items{{{core.commands.handle(), 0, ZMQ_POLLIN, 0},
                                        {core.publishers.handle(), 0, ZMQ_POLLIN, 0},
                                        {core.subscribers.handle(), 0, ZMQ_POLLIN, 0},
                                        {nullptr, core.further, ZMQ_POLLIN, 0}}};
  try {
    zmq::poll(items.data(), core.further < 0 ? items.size() - 1 : items.size(), milliseconds(wait));
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
  // Reads only sockets that are ready: each check costs ZeroMQ several system calls.
  const auto has = [&](std::size_t item) { return (items[item].revents & ZMQ_POLLIN) != 0; };
  if (has(2)) core.forward_subscriptions();
  if (has(0)) core.take_commands(handler);
  if (has(1)) core.forward_published(handler);
}

void Hub::wait_for(int descriptor) {
  WEIR_ASSERT(descriptor >= 0);
  core_->further = descriptor;
}

void Hub::send(const std::string& client, const v1::BusMessage& message) {
  try {
    zmq::message_t made = to_message(message);
    const std::size_t bytes = made.size();
    const bool sent = core_->commands
                          .send(zmq::message_t(client.data(), client.size()),
                                zmq::send_flags::sndmore | zmq::send_flags::dontwait)
                          .has_value() &&
                      core_->commands.send(std::move(made), zmq::send_flags::dontwait).has_value();
    if (!sent) ++core_->counters.dropped;
    const auto descriptor = core_->descriptors.find(client);
    if (sent && descriptor != core_->descriptors.end())
      core_->watch.queued(kCommands, descriptor->second, bytes);
  } catch (const zmq::error_t& error) {
    if (error.num() != EHOSTUNREACH) throw;
    ++core_->counters.dropped;
  }
}

void Hub::publish(std::string_view tag, ConstBytes payload) { core_->pass_on(join(tag, payload)); }

void Hub::observe(std::string_view tag) {
  core_->observed.emplace_back(tag);
  const std::string wish = '\x01' + std::string(tag);
  core_->publishers.send(zmq::message_t(wish.data(), wish.size()), zmq::send_flags::dontwait);
}

HubCounters Hub::counters() const {
  HubCounters counters = core_->counters;
  if (core_->admission) std::tie(counters.refused_key, counters.refused_from) = core_->admission->refused();
  counters.refused_handshake = core_->watch.handshakes_failed();
  counters.ended = core_->watch.ended();
  return counters;
}

}  // namespace weir::bus
