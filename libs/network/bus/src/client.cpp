#include "sockets.hpp"
#include <weir/base/assert.hpp>
#include <weir/bus/client.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weir::bus {

struct Client::Core {
  using Clock = std::chrono::steady_clock;

  Core(ClientSettings wanted, std::function<void()> on_arrival)
      : settings(std::move(wanted)),
        wake(std::move(on_arrival)),
        event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (event < 0) throw std::system_error(errno, std::generic_category(), "eventfd for the bus");
    WEIR_ASSERT(settings.queue_max > 0 && settings.queue_bytes_max > 0);
    commands = zmq::socket_t(context, zmq::socket_type::dealer);
    publisher = zmq::socket_t(context, zmq::socket_type::pub);
    for (zmq::socket_t* socket : {&commands, &publisher}) {
      set_limits(*socket, settings.queue_max, settings.message_bytes_max);
      set_client_keys(*socket, settings.keys);
    }
    // Messages that cannot be sent yet stay in this queue, which is bounded and counted, instead of in a
    // socket without a peer.
    commands.set(zmq::sockopt::immediate, 1);
    commands.connect(address(settings.host, settings.port));
    thread = std::thread([this] { run(); });
  }

  ~Core() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    ring();
    thread.join();
    ::close(event);
  }

  void ring() const {
    const std::uint64_t one = 1;
    if (::write(event, &one, sizeof one) < 0) return;  // full: a wake-up is pending already
  }

  void run() {
    for (;;) {
      bool waits = false;  // for room to send
      bool last = false;
      bool done = false;
      auto wait = kIdleWait;
      {
        const std::lock_guard lock(mutex);
        waits = !outgoing.empty();
        last = ending;
        if (ending && leave_at) leave_at = Clock::now();
        done = ending && (!waits || tries_at_end++ > kTriesAtEnd);
        if (leave_at) wait = std::clamp(until(*leave_at), std::chrono::milliseconds(0), kIdleWait);
      }
      if (done) return deliver_published();  // sends the messages with a deadline
      std::array<zmq::pollitem_t, 2> items{
          {{commands.handle(), 0, static_cast<short>(ZMQ_POLLIN | (waits ? ZMQ_POLLOUT : 0)), 0},
           {nullptr, event, ZMQ_POLLIN, 0}}};
      try {
        zmq::poll(items.data(), items.size(), last ? kEndWait : wait);
      } catch (const zmq::error_t& error) {
        if (error.num() != EINTR) return;
      }
      // Reads the event only after poll() has reported it: for ZeroMQ each check of a socket costs several
      // system calls.
      std::uint64_t rings = 0;
      const bool rung = (items[1].revents & ZMQ_POLLIN) != 0 && ::read(event, &rings, sizeof rings) > 0;
      if ((items[0].revents & ZMQ_POLLIN) != 0) receive();
      if (rung || waits) deliver();
      deliver_published();
    }
  }

  void receive() {
    bool arrived = false;
    zmq::message_t part;
    while (commands.recv(part, zmq::recv_flags::dontwait)) {
      auto message = part.more() ? std::nullopt : from_message(part);
      const std::lock_guard lock(mutex);
      const bool full = incoming.size() >= static_cast<std::size_t>(settings.queue_max);
      if (!message || full) {
        ++(message ? counters.dropped_received : counters.malformed);
        continue;
      }
      incoming.push_back(std::move(*message));
      arrived = true;
    }
    if (!arrived) return;
    if (wake) wake();
    arrival.notify_all();
  }

  void deliver() {
    for (;;) {
      // The lock is held until the message has left the queue: meanwhile, send() and drop_unsent() may remove
      // it.
      const std::lock_guard lock(mutex);
      if (outgoing.empty()) return;
      zmq::message_t message;
      message.copy(outgoing.front());
      if (!commands.send(message, zmq::send_flags::dontwait)) return;
      outgoing.pop_front();
      ++counters.sent;
    }
  }

  void deliver_published() {
    std::uint16_t port = 0;
    std::deque<zmq::message_t> published;
    {
      const std::lock_guard lock(mutex);
      port = publish_port;
      if (leave_at && until(*leave_at).count() <= 0) {
        leave_at.reset();
        WEIR_ASSERT(publish_bytes <= settings.queue_bytes_max);
        published.swap(to_publish);
        publish_bytes = 0;
      }
    }
    if (port != 0 && port != connected_port) {
      if (connected_port != 0) publisher.disconnect(address(settings.host, connected_port));
      publisher.connect(address(settings.host, port));
      connected_port = port;
    }
    // PUB never blocks. A slow subscriber loses its own messages, at the hub.
    for (zmq::message_t& message : published) publisher.send(message, zmq::send_flags::dontwait);
  }

  // Rounded up, so that the wait does not end too early.
  static std::chrono::milliseconds until(Clock::time_point at) {
    return std::chrono::ceil<std::chrono::milliseconds>(at - Clock::now());
  }

  // Sets the time by which queued publications have to leave. Returns true if the thread must be woken.
  bool leave_by(Clock::time_point at) {
    if (leave_at && *leave_at <= at) return false;
    leave_at = at;
    return true;
  }

  static constexpr std::chrono::milliseconds kIdleWait{2000};  // cut short by ring() and by the sockets
  static constexpr std::chrono::milliseconds kEndWait{100};
  static constexpr int kTriesAtEnd = 20;

  ClientSettings settings;
  std::function<void()> wake;
  int event;
  zmq::context_t context{1};
  zmq::socket_t commands;  // `commands` and `publisher` belong to the thread
  zmq::socket_t publisher;
  std::uint16_t connected_port = 0;
  int tries_at_end = 0;

  std::mutex mutex;  // guards the members below
  std::condition_variable arrival;
  std::deque<zmq::message_t> outgoing;
  std::deque<zmq::message_t> to_publish;
  std::size_t publish_bytes = 0;
  std::optional<Clock::time_point> leave_at;  // when `to_publish` must be sent; set while it is not empty
  std::uint16_t publish_port = 0;
  std::vector<v1::BusMessage> incoming;
  ClientCounters counters;
  bool ending = false;
  std::thread thread;
};

Client::Client(ClientSettings settings, std::function<void()> wake)
    : core_(std::make_unique<Core>(std::move(settings), std::move(wake))) {}
Client::~Client() = default;

void Client::send(const v1::BusMessage& message) {
  zmq::message_t made = to_message(message);
  {
    const std::lock_guard lock(core_->mutex);
    // The oldest message is dropped: an old heartbeat is worthless.
    if (core_->outgoing.size() >= static_cast<std::size_t>(core_->settings.queue_max)) {
      core_->outgoing.pop_front();
      ++core_->counters.dropped_messages;
    }
    core_->outgoing.push_back(std::move(made));
  }
  core_->ring();
}

void Client::drop_unsent() {
  const std::lock_guard lock(core_->mutex);
  core_->counters.dropped_messages += core_->outgoing.size();
  core_->outgoing.clear();
}

void Client::publish_to(std::uint16_t port) {
  {
    const std::lock_guard lock(core_->mutex);
    core_->publish_port = port;
  }
  core_->ring();  // connects before the first message is published
}

bool Client::publish(std::string_view tag, ConstBytes payload, Haste haste) {
  bool tell = false;
  {
    const std::lock_guard lock(core_->mutex);
    const bool full = core_->to_publish.size() >= static_cast<std::size_t>(core_->settings.queue_max) ||
                      core_->publish_bytes + payload.size() > core_->settings.queue_bytes_max;
    if (core_->publish_port == 0 || full) {
      ++core_->counters.dropped_published;
      return false;
    }
    core_->publish_bytes += payload.size();
    core_->to_publish.push_back(join(tag, payload));
    const bool half_full =
        2 * core_->to_publish.size() > static_cast<std::size_t>(core_->settings.queue_max) ||
        2 * core_->publish_bytes > core_->settings.queue_bytes_max;
    const auto now = Core::Clock::now();
    tell = core_->leave_by(haste == Haste::now || half_full ? now : now + std::chrono::nanoseconds(kSoon));
  }
  if (tell) core_->ring();
  return true;
}

std::vector<v1::BusMessage> Client::take() {
  const std::lock_guard lock(core_->mutex);
  return std::exchange(core_->incoming, {});
}

std::vector<v1::BusMessage> Client::wait(DurationNs limit) {
  std::unique_lock lock(core_->mutex);
  core_->arrival.wait_for(lock, std::chrono::nanoseconds(limit), [this] { return !core_->incoming.empty(); });
  return std::exchange(core_->incoming, {});
}

ClientCounters Client::counters() const {
  const std::lock_guard lock(core_->mutex);
  return core_->counters;
}

}  // namespace weir::bus
