#pragma once

#include <weir/base/awake_clock.hpp>
#include <weir/base/time.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/network.hpp>
#include <weir/simnet/random.hpp>
#include <weir/simnet/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::simnet {

class Host;
struct End;
struct Listening;

// Behaviour of the network and the processes without faults.
struct WorldSettings {
  DurationNs delay_min = 20 * kMicrosecond;  // of one chunk of bytes, one way
  DurationNs delay_max = 300 * kMicrosecond;
  std::uint32_t tail_permille = 10;  // of the chunks take up to this
  DurationNs tail_max = 20 * kMillisecond;
  std::size_t window_min = 2048;  // bytes of one direction sent and not read: drawn per connection
  std::size_t window_max = 256 * 1024;
  std::size_t chunk_max = 64 * 1024;       // bytes that travel together
  std::uint32_t cut_permille = 100;        // of the sends and receives are cut short
  DurationNs pass_min = 5 * kMicrosecond;  // duration of one pass of a process
  DurationNs pass_max = 200 * kMicrosecond;
  // Of the passes take up to slow_max, as on a busy machine; then clocks advance within passes. 0: none.
  std::uint32_t slow_permille = 0;
  DurationNs slow_max = 30 * kMillisecond;
  DurationNs idle_wait = 5 * kMillisecond;  // between passes without events
  bool flips = false;                       // flip_bits() is called: connections keep track of their frames
};

// The effect of a process' end on its connections.
enum class Death : std::uint8_t {
  process,  // the kernel lives: bytes that it has accepted arrive, or some of them; the peer notices soon
  machine   // bytes in flight are lost, and the peer notices late
};

// Some processes, the network between them, and time. Everything follows from the seed and the owner's calls.
// Not thread-safe. Requires: destroyed after all listeners and connections.
class World {
 public:
  World(std::uint64_t seed, const WorldSettings& settings);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Adds a host that lasts as long as the world; its process may die and be booted again.
  Host& add_host(const std::string& name);
  [[nodiscard]] Timeline& timeline() { return timeline_; }
  [[nodiscard]] Trace& trace() { return trace_; }
  [[nodiscard]] TimeNs now_ns() const { return timeline_.now_ns(); }
  // Returns the host with the running pass; null between passes.
  [[nodiscard]] const char* running() const { return running_; }
  void note(const char* who, const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    trace_.note(timeline_.now_ns(), who, what, a, b);
  }

  // Breaks the connections between the two hosts: each end notices at its own time.
  void break_connections(Host& left, Host& right);
  // Delays all bytes from `from` to `to` until this time; the connections stay.
  void silence(Host& from, Host& to, TimeNs until_ns);
  // Delays everything between the two hosts until this time: bytes and new connections arrive then, unless
  // the connecting side has given up.
  void partition(Host& left, Host& right, TimeNs until_ns);
  // Delays all that goes between `host` and any address `address` of others (ports::Endpoint::host), in both
  // directions, until this time: a plane that is dead for this host.
  void cut(Host& host, const std::string& address, TimeNs until_ns);
  // Flips one bit in some of the chunks from `from` to `to` until this time: in a frame's payload, its type
  // or, if it carries data, its length. All of these are checked by the receiver; in the other fields of a
  // head that has no checksum, a flip is another valid frame.
  void flip_bits(Host& from, Host& to, TimeNs until_ns, std::uint32_t chunks_permille);
  // Refuses new connections to the host until this time.
  void refuse(Host& host, TimeNs until_ns);

 private:
  friend class Host;
  friend struct End;

  struct Silence {
    const Host* from;
    const Host* to;
    TimeNs until_ns;
  };
  struct Flips {
    const Host* from;
    const Host* to;
    TimeNs until_ns;
    std::uint32_t chunks_permille;
  };
  struct Cut {
    const Host* host;
    std::string address;
    TimeNs until_ns;
  };
  [[nodiscard]] TimeNs silent_until(const Host* from, const Host* to) const;
  // Of a connection to this address.
  [[nodiscard]] TimeNs cut_until(const Host* one, const Host* other, const std::string& address) const;
  void damage(End& sender, std::vector<std::byte>& bytes);
  [[nodiscard]] TimeNs parted_until(const Host* one, const Host* other) const;
  [[nodiscard]] DurationNs draw_delay();
  [[nodiscard]] std::shared_ptr<Listening> find_listener(std::uint16_t port) const;
  void arrive_connect(const std::shared_ptr<End>& near, std::uint16_t port);

  WorldSettings settings_;
  Random random_;
  Timeline timeline_;
  Trace trace_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Silence> silences_;
  std::vector<Silence> partitions_;
  std::vector<Cut> cuts_;
  std::vector<Flips> flips_;
  std::uint16_t next_port_ = 20'000;
  std::uint64_t next_connection_ = 0;
  const char* running_ = "";
};

// The machine of one process: its sockets, its clocks, and its passes.
class Host final : public ports::Network, public ports::Clock {
 public:
  Host(World& world, std::string name, Random random);
  ~Host() override;

  // Starts a process. `pass` is called after each batch of I/O and at least every idle_wait; `wake_at`
  // returns the latest time for the next one, by this host's clock.
  void boot(std::function<void(TimeNs now_ns)> pass, std::function<TimeNs()> wake_at);
  // The process is gone: no handler is called any more. References to its memory are dropped within this
  // call; the owner destroys the process afterwards.
  void crash(Death death);
  // Sends part of the data of a process that is killed while it sends: of some of its connections. Requires:
  // inside its pass, before crash().
  void flush_some();
  // The process has ended in order. Requires: unsent_bytes() is 0.
  void shut_down();
  [[nodiscard]] bool up() const { return up_; }
  // Delays the next pass until then. The kernel continues to receive.
  void stall(TimeNs until_ns);
  // Makes a pass due soon.
  void wake();
  void jump_utc(DurationNs by_ns) { utc_offset_ns_ += by_ns; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t unsent_bytes() const;
  [[nodiscard]] ports::StreamCounters stream_totals() const;
  [[nodiscard]] std::size_t connections() const { return ends_.size(); }

  // ports::Network
  [[nodiscard]] Expected<std::unique_ptr<ports::Listener>, std::string> listen(
      const ports::Endpoint& at, ports::Acceptor& acceptor) override;
  [[nodiscard]] std::unique_ptr<ports::Stream> connect(const ports::Endpoint& to,
                                                       ports::StreamHandler& handler) override;
  // ports::Clock. Without the time in which the process was stalled, as of transport::Loop.
  [[nodiscard]] TimeNs now_ns() const override;
  [[nodiscard]] UtcNs utc_ns() const override;

 private:
  friend class World;
  friend struct End;

  void schedule(TimeNs when_ns);
  void run();
  void accept_waiting();
  void receive_all();
  void flush_all();

  World& world_;
  std::string name_;
  Random random_;
  DurationNs mono_offset_ns_ = 0;
  AwakeClock awake_;
  DurationNs utc_offset_ns_ = 0;
  std::function<void(TimeNs)> pass_;
  std::function<TimeNs()> wake_at_;
  bool up_ = false;
  TimeNs stalled_until_ns_ = 0;
  TimeNs refuses_until_ns_ = 0;
  TimeNs busy_until_ns_ = 0;
  DurationNs in_pass_ns_ = 0;  // from the present pass' beginning to its readings of the clocks
  TimeNs scheduled_ns_ = 0;
  bool scheduled_ = false;
  std::uint64_t generation_ = 0;
  std::vector<std::shared_ptr<End>> ends_;
  std::vector<std::shared_ptr<Listening>> listening_;
  ports::StreamCounters gone_;
};

}  // namespace weir::simnet
