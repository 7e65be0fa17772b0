#include "admission.hpp"
#include "sockets.hpp"
#include <weir/bus/hub.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace weir::bus {
namespace {

constexpr int kTurnMax = 1000;  // messages of one kind in one poll()
constexpr std::chrono::milliseconds kEventsInterval{100};
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
        subscribers(context, zmq::socket_type::xpub) {
    if (settings.keys) admission = std::make_unique<Admission>(context, settings.clients);
    for (zmq::socket_t* socket : {&commands, &publishers, &subscribers}) {
      const int queue_max = socket == &commands ? settings.queue_max : settings.published_queue_max;
      set_limits(*socket, queue_max, settings.message_bytes_max);
      set_server_keys(*socket, settings.keys);
    }
    // A message to a client that is gone fails, so that the caller is informed.
    commands.set(zmq::sockopt::router_mandatory, 1);
    // A client that reconnects replaces its previous connection.
    commands.set(zmq::sockopt::router_handover, 1);
    watch(commands, "commands", 0);
    watch(publishers, "publishers", 1);
    watch(subscribers, "subscribers", 2);
    port = bind_at(commands, settings.host, settings.port);
    publish_port = bind_near(publishers, settings.publish_port);
    subscribe_port = bind_near(subscribers, settings.subscribe_port);
    if (!settings.beside) return;
    serve(commands, settings.beside(port));
    serve(publishers, settings.beside(publish_port));
    serve(subscribers, settings.beside(subscribe_port));
  }

  static void serve(zmq::socket_t& socket, int listening) {
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

  void watch(zmq::socket_t& socket, const std::string& name, std::size_t place) {
    const std::string at = "inproc://monitor-" + name;
    constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                            ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    zmq_socket_monitor(socket.handle(), at.c_str(), kEvents);
    monitors[place] = zmq::socket_t(context, zmq::socket_type::pair);
    monitors[place].connect(at);
  }

  // The events are only counted, so a delay does no harm. They are read often enough to keep ZeroMQ's thread
  // from blocking.
  void take_events() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_events) return;
    next_events = now + kEventsInterval;
    for (zmq::socket_t& monitor : monitors) take_events(monitor);
  }

  // An event has two frames: its number with a value, and the address.
  void take_events(zmq::socket_t& monitor) {
    zmq::message_t part;
    while (monitor.recv(part, zmq::recv_flags::dontwait)) {
      std::uint16_t event = 0;
      if (part.more() && part.size() >= sizeof event) {
        std::memcpy(&event, part.data(), sizeof event);
        if (event != ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) ++counters.refused_handshake;
      }
    }
  }

  void take_commands(HubHandler& handler) {
    for (int i = 0; i < kTurnMax; ++i) {
      zmq::message_t id;
      if (!commands.recv(id, zmq::recv_flags::dontwait)) return;
      zmq::message_t body;
      bool more = id.more();
      std::size_t parts = 0;
      while (more) {
        if (!commands.recv(body, zmq::recv_flags::dontwait)) break;
        more = body.more();
        ++parts;
      }
      const auto message = parts == 1 ? from_message(body) : std::nullopt;
      if (!message) {
        ++counters.malformed;
        continue;
      }
      ++counters.received;
      Sender from;
      from.id = id.to_string();
      from.address = address_of(body);
      if (settings.keys) from.role = role_of(user_of(body));
      handler.on_message(from, *message);
    }
  }

  void forward_published(HubHandler& handler) {
    for (int i = 0; i < kTurnMax; ++i) {
      zmq::message_t message;
      if (!publishers.recv(message, zmq::recv_flags::dontwait)) return;
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

  void pass_on(zmq::message_t message) {
    // If one subscriber's queue is full, only that subscriber loses the message.
    const bool sent = subscribers.send(message, zmq::send_flags::dontwait).has_value();
    ++(sent ? counters.published : counters.dropped);
  }

  // Passes subscriptions on: publishers send only tags to which a client has subscribed.
  void forward_subscriptions() {
    for (int i = 0; i < kTurnMax; ++i) {
      zmq::message_t wish;
      if (!subscribers.recv(wish, zmq::recv_flags::dontwait)) return;
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
  std::array<zmq::socket_t, 3> monitors;
  std::chrono::steady_clock::time_point next_events{};
  std::vector<std::string> observed;
  std::uint16_t port = 0;
  std::uint16_t publish_port = 0;
  std::uint16_t subscribe_port = 0;
  HubCounters counters;
};

Hub::Hub(HubSettings settings) : core_(std::make_unique<Core>(std::move(settings))) {}
Hub::~Hub() = default;

std::uint16_t Hub::port() const { return core_->port; }
const HubSettings& Hub::settings() const { return core_->settings; }
std::uint16_t Hub::publish_port() const { return core_->publish_port; }
std::uint16_t Hub::subscribe_port() const { return core_->subscribe_port; }

void Hub::poll(DurationNs wait, HubHandler& handler) {
  Core& core = *core_;
  std::array<zmq::pollitem_t, 3> items{{{core.commands.handle(), 0, ZMQ_POLLIN, 0},
                                        {core.publishers.handle(), 0, ZMQ_POLLIN, 0},
                                        {core.subscribers.handle(), 0, ZMQ_POLLIN, 0}}};
  try {
    zmq::poll(items.data(), items.size(), milliseconds(wait));
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
  // Reads only sockets that are ready: each check costs ZeroMQ several system calls.
  const auto has = [&](std::size_t item) { return (items[item].revents & ZMQ_POLLIN) != 0; };
  if (has(2)) core.forward_subscriptions();
  if (has(0)) core.take_commands(handler);
  if (has(1)) core.forward_published(handler);
  core.take_events();
}

void Hub::send(const std::string& client, const v1::BusMessage& message) {
  try {
    const bool sent = core_->commands
                          .send(zmq::message_t(client.data(), client.size()),
                                zmq::send_flags::sndmore | zmq::send_flags::dontwait)
                          .has_value() &&
                      core_->commands.send(to_message(message), zmq::send_flags::dontwait).has_value();
    if (!sent) ++core_->counters.dropped;
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
  if (core_->admission) counters.refused_key = core_->admission->refused();
  return counters;
}

}  // namespace weir::bus
