#pragma once

#include <weir/ports/network.hpp>
#include <weir/simnet/world.hpp>
#include <weir/wire/frame.hpp>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace weir::simnet {

// Bytes of one direction that arrive together, or the end of that direction.
struct Chunk {
  enum class Kind : std::uint8_t { data, end, reset };
  Kind kind = Kind::data;
  TimeNs arrive_ns = 0;
  std::vector<std::byte> bytes;
};

// Bytes that the process has appended and the kernel has not accepted.
class Outgoing {
 public:
  [[nodiscard]] Bytes reserve(std::size_t size);
  void append(ConstBytes bytes);
  void append_reference(ConstBytes bytes, std::shared_ptr<const void> owner);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::vector<std::byte> take(std::size_t size);
  // Owners are released one by one, because they may append to other streams.
  void clear();

 private:
  struct Piece {
    std::vector<std::byte> own;
    ConstBytes referred;
    std::shared_ptr<const void> owner;
    [[nodiscard]] ConstBytes bytes() const { return owner || own.empty() ? referred : ConstBytes(own); }
  };
  std::deque<Piece> pieces_;
  std::size_t taken_ = 0;  // of the first piece
  std::size_t size_ = 0;
};

// Keeps track of the frames in a stream of bytes.
class FrameTracker {
 public:
  // Advances by these bytes. Returns true if a receiver notices that bits of the byte at `at` were flipped.
  bool pass(ConstBytes bytes, std::size_t at);

 private:
  [[nodiscard]] bool is_checked(std::size_t in_head) const;

  std::array<std::byte, wire::kHeaderBytes> head_{};
  std::size_t in_head_ = 0;    // bytes of it so far
  std::uint64_t payload_ = 0;  // bytes of it to come
};

// One end of a connection: the process' view, and the kernel's part.
struct End : std::enable_shared_from_this<End> {
  enum class State : std::uint8_t { connecting, open, ended };

  End(World& world_, Host& host_, std::uint64_t number_, std::string peer_name_);

  // The process
  void close();
  void take_events();
  void flush();
  // The process has died.
  void die(Death death);
  // The connection is broken underneath: no more bytes arrive, and this end notices at that time.
  void lose(TimeNs hears_ns);

  World& world;
  Host& host;
  std::uint64_t number;
  std::string peer_name;
  std::string address;  // of the listening side
  std::weak_ptr<End> far;
  ports::StreamHandler* handler = nullptr;
  State state = State::connecting;
  Outgoing outgoing;
  ports::StreamCounters counters;
  bool dirty = false;  // has appended bytes since it was last drained
  bool paused = false;

  // Bytes sent by this end that the far process has not read.
  std::deque<Chunk> pipe;
  std::size_t window = 0;
  std::size_t unread = 0;
  TimeNs last_arrival_ns = 0;
  FrameTracker frames;  // of sent bytes, with WorldSettings::flips
  bool pumping = false;
  bool lost = false;

  // Bytes that this end's kernel holds for the process.
  std::vector<std::byte> received;
  std::size_t read = 0;
  bool connected = false;  // the result of connect() has arrived
  bool refused = false;
  bool ended_by_far = false;
  bool reset = false;

 private:
  [[nodiscard]] bool has_unread() const { return read < received.size(); }
  void receive_once();
  void finish(ports::CloseReason reason);
  void send(Chunk::Kind kind, std::vector<std::byte> bytes);
  void pump();
  void arrive(Chunk chunk);
  void hear_reset(TimeNs when_ns);
};

struct Listening {
  Host* host = nullptr;
  ports::Endpoint at;
  ports::Acceptor* acceptor = nullptr;
  std::deque<std::shared_ptr<End>> backlog;
};

class SimStream final : public ports::Stream {
 public:
  explicit SimStream(std::shared_ptr<End> end) : end_(std::move(end)) {}
  ~SimStream() override { end_->close(); }
  Bytes reserve(std::size_t size) override;
  void append(ConstBytes bytes) override;
  void append_reference(ConstBytes bytes, std::shared_ptr<const void> owner) override;
  std::size_t unsent_bytes() const override { return end_->outgoing.size(); }
  void pause_receiving(bool paused) override { end_->paused = paused; }
  void close() override { end_->close(); }
  ports::StreamCounters counters() const override { return end_->counters; }
  std::string peer() const override { return end_->peer_name; }

 private:
  std::shared_ptr<End> end_;
  std::vector<std::byte> discarded_;  // space reserved after the end
};

}  // namespace weir::simnet
