#pragma once

#include <weir/ports/network.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// A network inside one test: streams are queues, time is the number of calls of run(). It neither loses nor
// reorders data; a test can break, refuse or stall connections. The port identifies an endpoint.
namespace weir::test {

class MemoryNetwork final : public ports::Network {
  struct End;

 public:
  Expected<std::unique_ptr<ports::Listener>, std::string> listen(const ports::Endpoint& at,
                                                                 ports::Acceptor& acceptor) override {
    const ports::Endpoint real{at.host, at.port == 0 ? next_port_++ : at.port};
    if (find(real.port) != nullptr) {
      return Unexpected<std::string>(real.host + ":" + std::to_string(real.port) +
                                     ": address already in use");
    }
    return std::make_unique<Listening>(*this, real, acceptor);
  }

  std::unique_ptr<ports::Stream> connect(const ports::Endpoint& to, ports::StreamHandler& handler) override {
    ++connects;
    auto end = std::make_shared<End>();
    end->handler = &handler;
    end->peer_name = to.host + ":" + std::to_string(to.port);
    pending_.push_back({end, to.port});
    return std::make_unique<MemoryStream>(end);
  }

  // Delivers everything until no data is in transit. A receive gets at most `cut` bytes.
  void run(std::size_t cut = SIZE_MAX) {
    bool moved = true;
    while (moved) {
      moved = connect_pending();
      const auto ends = ends_;  // callbacks may open and close streams
      for (const auto& end : ends) moved = deliver(*end, cut) || moved;
      std::erase_if(ends_, [](const auto& end) { return end->closed; });
    }
  }

  // Breaks all streams; both ends of each are notified.
  void break_all() {
    const auto ends = ends_;
    for (const auto& end : ends) finish(*end, ports::CloseReason::reset);
  }

  // Called with the whole frames that one side has sent since the last call, before the other side gets them.
  std::function<void(std::vector<std::byte>& sent)> on_the_way;
  bool refuse_connections = false;
  bool hold_connections = false;  // neither refused nor accepted
  std::size_t connects = 0;

 private:
  struct End {
    ports::StreamHandler* handler = nullptr;
    std::weak_ptr<End> far;
    std::vector<std::byte> out;
    std::deque<std::byte> in;
    std::vector<std::byte> reserved;  // filled by its owner until the next call
    std::vector<std::shared_ptr<const void>>
        owners;  // owners of the buffers in `out`, released when it is sent
    std::string peer_name;
    ports::StreamCounters counters;
    bool paused = false;
    bool far_closed = false;  // everything it sent is in `in`
    bool closed = false;

    void commit() {
      out.insert(out.end(), reserved.begin(), reserved.end());
      reserved.clear();
    }
    void flush() {
      commit();
      owners.clear();
      if (out.empty()) return;
      counters.bytes_sent += out.size();
      ++counters.send_calls;
      if (const auto to = far.lock()) to->in.insert(to->in.end(), out.begin(), out.end());
      out.clear();
    }
    void close() {
      if (closed) return;
      flush();
      closed = true;
      handler = nullptr;
      if (const auto to = far.lock()) to->far_closed = true;
    }
  };

  class MemoryStream final : public ports::Stream {
   public:
    explicit MemoryStream(std::shared_ptr<End> end) : end_(std::move(end)) {}
    ~MemoryStream() override { end_->close(); }
    Bytes reserve(std::size_t size) override {
      end_->commit();
      end_->reserved.resize(size);
      return end_->reserved;
    }
    void append(ConstBytes bytes) override {
      end_->commit();
      end_->out.insert(end_->out.end(), bytes.begin(), bytes.end());
    }
    void append_reference(ConstBytes bytes, std::shared_ptr<const void> owner) override {
      append(bytes);
      if (owner) end_->owners.push_back(std::move(owner));
    }
    std::size_t unsent_bytes() const override { return end_->out.size() + end_->reserved.size(); }
    void pause_receiving(bool paused) override { end_->paused = paused; }
    void close() override { end_->close(); }
    ports::StreamCounters counters() const override { return end_->counters; }
    std::string peer() const override { return end_->peer_name; }

   private:
    std::shared_ptr<End> end_;
  };

  class Listening final : public ports::Listener {
   public:
    Listening(MemoryNetwork& network, ports::Endpoint at, ports::Acceptor& acceptor)
        : network_(network), at_(std::move(at)), acceptor_(acceptor) {
      network_.listening_.push_back(this);
    }
    ~Listening() override { std::erase(network_.listening_, this); }
    ports::Endpoint endpoint() const override { return at_; }
    ports::Acceptor& acceptor() { return acceptor_; }

   private:
    MemoryNetwork& network_;
    ports::Endpoint at_;
    ports::Acceptor& acceptor_;
  };

  struct Pending {
    std::shared_ptr<End> end;
    std::uint16_t port = 0;
  };

  Listening* find(std::uint16_t port) {
    const auto found = std::find_if(listening_.begin(), listening_.end(),
                                    [&](const Listening* each) { return each->endpoint().port == port; });
    return found == listening_.end() ? nullptr : *found;
  }

  bool connect_pending() {
    if (hold_connections || pending_.empty()) return false;
    const auto pending = std::exchange(pending_, {});
    for (const auto& [near, port] : pending) {
      if (near->closed) continue;
      Listening* listening = refuse_connections ? nullptr : find(port);
      if (listening == nullptr) {
        finish(*near, ports::CloseReason::refused);
        continue;
      }
      auto far = std::make_shared<End>();
      far->peer_name = "memory:" + std::to_string(connects);
      far->far = near;
      near->far = far;
      ends_.push_back(near);
      ends_.push_back(far);
      far->handler = listening->acceptor().on_accept(std::make_unique<MemoryStream>(far));
      if (far->handler == nullptr) far->close();
      near->handler->on_connected();
    }
    return true;
  }

  bool deliver(End& end, std::size_t cut) {
    if (end.closed) return false;
    const bool drained = !end.out.empty() || !end.reserved.empty();
    if (on_the_way && drained) {
      end.commit();
      on_the_way(end.out);
    }
    end.flush();
    if (drained) end.handler->on_drained();
    if (end.closed) return true;
    if (!end.in.empty() && !end.paused) {
      receive(end, cut);
      return true;
    }
    if (!end.far_closed || end.paused) return drained;
    finish(end, ports::CloseReason::peer_closed);
    return true;
  }

  void receive(End& end, std::size_t cut) {
    std::size_t taken = 0;
    for (const Bytes space : end.handler->receive_space()) {
      const std::size_t n = std::min({space.size(), end.in.size(), cut - taken});
      std::copy_n(end.in.begin(), n, space.begin());
      end.in.erase(end.in.begin(), end.in.begin() + static_cast<std::ptrdiff_t>(n));
      taken += n;
    }
    end.counters.bytes_received += taken;
    ++end.counters.receive_calls;
    const bool good = end.handler->on_received(taken);
    if (!end.closed && !good) finish(end, ports::CloseReason::protocol_error);
  }

  static void finish(End& end, ports::CloseReason reason) {
    ports::StreamHandler* handler = end.handler;
    end.close();
    if (handler != nullptr) handler->on_closed(reason);
  }

  std::vector<Listening*> listening_;
  std::vector<Pending> pending_;
  std::vector<std::shared_ptr<End>> ends_;
  std::uint16_t next_port_ = 7000;
};

}  // namespace weir::test
