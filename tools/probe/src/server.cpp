#include "addresses.hpp"
#include "datagram_reader.hpp"
#include "exit_status.hpp"
#include "handshake.hpp"
#include "session.hpp"
#include <weir/clock/clock.hpp>
#include <weir/config/plan.hpp>
#include <weir/probe/probe.hpp>
#include <weir/transport/signals.hpp>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <list>
#include <memory>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace weir::probe {
namespace {

constexpr std::size_t kSessionsMax = 8;
constexpr int kPollMs = 100;
constexpr int kStreamingPollMs = 5;

// Binds a TCP and a UDP socket to the same address. Port 0: one that is free for both. Throws
// std::runtime_error.
OwnedDescriptor bind_both(const Address& at, OwnedDescriptor& datagrams) {
  constexpr int kTries = 20;
  for (int left = at.port() == 0 ? kTries : 1;; --left) {
    OwnedDescriptor listener = bound_socket(at, SOCK_STREAM);
    try {
      datagrams = bound_socket(address_of(listener.get()), SOCK_DGRAM);
      return listener;
    } catch (const std::runtime_error&) {
      if (left == 1) throw;
    }
  }
}

// A connection with its thread.
struct Serving {
  OwnedDescriptor handle;  // of the same socket as the thread's own: to shut it down
  std::atomic<bool> ended{false};
  std::thread thread;
};

class Server {
 public:
  Server(const ListenOptions& options, std::FILE* out)
      : out_(out),
        key_(read_key(options.key_file)),
        listener_(bind_both(resolve(options.at, true), datagrams_)),
        reader_(datagrams_.get()) {
    if (::listen(listener_.get(), static_cast<int>(kSessionsMax)) != 0)
      throw std::runtime_error("cannot listen at " + address_of(listener_.get()).text());
    prepare_receiver(datagrams_.get());
    parts_ = {&client_, key_.get(), datagrams_.get(), &stop_};
  }

  ~Server() { end_sessions(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void run(transport::SignalWatch& signals) {
    fmt::print(out_, "weir probe: listens at {}, TCP and UDP, {}; Ctrl-C ends it\n",
               address_of(listener_.get()).text(), key_ ? "for clients with its key" : "without a key");
    std::fflush(out_);
    while (!signals.received()) {
      std::array<pollfd, 2> polls{{{listener_.get(), POLLIN, 0}, {datagrams_.get(), POLLIN, 0}}};
      const bool streaming = client_.streaming();
      ::poll(polls.data(), streaming ? 1 : 2, streaming ? kStreamingPollMs : kPollMs);
      if ((polls[0].revents & POLLIN) != 0) accept();
      if (polls[1].revents != 0 && !streaming) answer_echoes();
      servings_.remove_if([](Serving& serving) {
        if (serving.ended) serving.thread.join();
        return serving.ended.load();
      });
    }
    end_sessions();
    fmt::print(
        out_,
        "weir probe: served {} connections, put off {} while another was measuring, refused {}, and {} "
        "datagrams\n",
        served_.load(), put_off_.load(), refused_.load(), strangers_ + reader_.malformed());
  }

 private:
  void end_sessions() {
    stop_ = true;
    for (Serving& serving : servings_) end(serving);
  }

  static void end(Serving& serving) {
    ::shutdown(serving.handle.get(), SHUT_RDWR);
    if (serving.thread.joinable()) serving.thread.join();
  }

  void accept() {
    Address from;
    OwnedDescriptor socket(::accept4(listener_.get(), from.get(), &from.size, SOCK_CLOEXEC));
    if (!socket.is_open()) return;
    OwnedDescriptor handle(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    if (servings_.size() >= kSessionsMax || !handle.is_open()) {
      ++refused_;
      return;
    }
    Serving& serving = servings_.emplace_back();
    serving.handle = std::move(handle);
    const auto held = std::make_shared<OwnedDescriptor>(std::move(socket));  // a function must be copyable
    serving.thread = std::thread([this, &serving, from, held] { serve(serving, std::move(*held), from); });
  }

  void serve(Serving& serving, OwnedDescriptor socket, const Address& from) {
    try {
      const SessionEnd end = serve_session(std::move(socket), from, parts_);
      ++(end.measured ? served_ : end.put_off ? put_off_ : refused_);
    } catch (const std::exception&) {
      ++refused_;
    }
    ::shutdown(serving.handle.get(), SHUT_RDWR);
    serving.ended = true;
  }

  // Answers only the present client, with as many bytes as it sent.
  void answer_echoes() {
    reader_.read([this](const ReceivedDatagram& received, const Address& from) {
      if (received.header.kind != DatagramKind::echo || !client_.verify(from, received.header.token)) {
        ++strangers_;
        return;
      }
      Datagram answer = received.header;
      answer.kind = DatagramKind::answer;
      answer.echo_sent_ns = received.header.sent_ns;
      answer.echo_arrived_ns = received.arrived_ns;
      answer_.assign(received.bytes.begin(), received.bytes.end());
      answer.sent_ns = utc_now_ns();
      encode_datagram(answer, answer_);
      (void)::sendto(datagrams_.get(), answer_.data(), answer_.size(), MSG_DONTWAIT, from.get(), from.size);
    });
  }

  std::FILE* out_;
  std::shared_ptr<const ports::Authenticator> key_;
  OwnedDescriptor datagrams_;
  OwnedDescriptor listener_;
  DatagramReader reader_;
  MeasuringClient client_;
  std::atomic<bool> stop_{false};
  SessionParts parts_;
  std::list<Serving> servings_;
  std::atomic<std::uint64_t> served_{0};
  std::atomic<std::uint64_t> put_off_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::uint64_t strangers_ = 0;
  std::vector<std::byte> answer_;
};

}  // namespace

int listen(const ListenOptions& options, std::FILE* out, std::FILE* err) {
  if (!config::is_loopback(options.at) && options.key_file.empty() && !options.open) {
    fmt::print(err,
               "weir probe: {} is reachable from other machines: give a farm key with --key FILE (`weir keys "
               "new`), or --open on a private network\n",
               options.at);
    return kUsage;
  }
  try {
    transport::SignalWatch signals{SIGINT, SIGTERM};
    Server(options, out).run(signals);
    return 0;
  } catch (const std::invalid_argument& error) {
    fmt::print(err, "weir probe: {}\n", error.what());
    return kUsage;
  } catch (const std::runtime_error& error) {
    fmt::print(err, "weir probe: {}\n", error.what());
    return kFailed;
  }
}

}  // namespace weir::probe
