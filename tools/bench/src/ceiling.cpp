#include <weir/base/bytes.hpp>
#include <weir/bench/ceiling.hpp>
#include <weir/clock/clock.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace weir::bench {
namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFlatMax = 512;  // up to here header and payload are copied into one piece
constexpr std::size_t kFragmentsPerCall = 512;
constexpr std::size_t kBytesPerCall = 4U << 20;
constexpr std::size_t kSpillSmall = 256 * 1024;
constexpr std::size_t kSpillLarge = 16 * 1024;
// A readout sends data from its detector, not the same cached bytes repeatedly.
constexpr std::size_t kPayloadsMax = 64;
constexpr std::size_t kPayloadBytesMax = 16U << 20;
constexpr double kWarmUpSeconds = 0.5;
constexpr int kWaitMs = 50;
constexpr unsigned kProcessesMax = 64;

struct Request {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Written by each process at its end and read by the parent, in shared memory.
struct Account {
  std::uint64_t fragments = 0;  // of DCMs
  std::uint64_t system_calls = 0;
  double cpu_s = 0;
  double seconds = 0;
};
struct Shared {
  std::array<Account, kProcessesMax> accounts;
};

double cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void set_options(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

// Allocates memory in advance: otherwise a forked process pays for its first touch. Goes
// with the process.
std::byte* map_memory(std::size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  return static_cast<std::byte*>(memory);
}

// Counts between the end of the warm-up and the end of the measurement.
class Meter {
 public:
  Meter(Account& account, double seconds)
      : account_(account), begin_s_(monotonic_now_s() + kWarmUpSeconds), seconds_(seconds) {}

  // False: time is up.
  bool goes_on() {
    const double now = monotonic_now_s();
    if (!begun_ && now >= begin_s_) {
      begun_ = true;
      begin_s_ = now;
      cpu_begin_s_ = cpu_s();
      calls_begin_ = calls;
      fragments_begin_ = fragments;
    }
    if (!ended_ && begun_ && now >= begin_s_ + seconds_) {
      ended_ = true;
      account_ = {fragments - fragments_begin_, calls - calls_begin_, cpu_s() - cpu_begin_s_, now - begin_s_};
    }
    // The others end a little later: they shall not run into closed connections while they are measured.
    return now < begin_s_ + seconds_ + kWarmUpSeconds;
  }

  std::uint64_t calls = 0;
  std::uint64_t fragments = 0;

 private:
  Account& account_;
  double begin_s_;
  double seconds_;
  double cpu_begin_s_ = 0;
  std::uint64_t calls_begin_ = 0;
  std::uint64_t fragments_begin_ = 0;
  bool begun_ = false;
  bool ended_ = false;
};

class Poll {
 public:
  Poll() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {}
  ~Poll() { ::close(fd_); }
  void add(int fd, std::uint32_t tag) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.u32 = tag;
    ::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event);
  }
  std::span<epoll_event> wait() {
    const int n = ::epoll_wait(fd_, events_.data(), static_cast<int>(events_.size()), kWaitMs);
    return std::span(events_).first(static_cast<std::size_t>(std::max(0, n)));
  }

 private:
  int fd_;
  std::array<epoll_event, 64> events_{};
};

// ---- readout

class Answers {
 public:
  Answers(std::uint32_t fragment_bytes, Bytes payloads)
      : size_(fragment_bytes), frame_(kHeaderBytes + fragment_bytes), payloads_(payloads) {}

  void ask(std::uint64_t fragments) { pending_bytes_ += fragments * frame_; }
  [[nodiscard]] bool empty() const { return pending_bytes_ == 0; }

  enum class Sent : std::uint8_t { all, some, failed };
  // One system call. `some`: a part was sent; an event follows when there is room.
  Sent send(int fd) { return size_ <= kFlatMax ? send_flat(fd) : send_pieces(fd); }

 private:
  Sent send_flat(int fd) {
    if (flat_.empty()) {
      flat_.resize(kFragmentsPerCall * frame_);
      for (std::size_t i = 0; i < kFragmentsPerCall; ++i) {
        std::memcpy(flat_.data() + i * frame_ + kHeaderBytes, payloads_.data(), size_);
      }
    }
    const std::size_t n = std::min<std::size_t>(flat_.size() - skip_, pending_bytes_);
    return taken(::send(fd, flat_.data() + skip_, n, MSG_NOSIGNAL | MSG_DONTWAIT), n);
  }
  Sent send_pieces(int fd) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    std::size_t skip = skip_;
    std::size_t payload = next_payload_;
    while (count + 2 <= list_.size() && bytes < kBytesPerCall && bytes < pending_bytes_) {
      if (skip < kHeaderBytes) list_[count++] = {header_.data() + skip, kHeaderBytes - skip};
      const std::size_t in_payload = skip > kHeaderBytes ? skip - kHeaderBytes : 0;
      if (in_payload < size_) {
        list_[count++] = {payloads_.data() + payload * size_ + in_payload, size_ - in_payload};
      }
      payload = payload + 1 == payloads_.size() / size_ ? 0 : payload + 1;
      bytes += frame_ - skip;
      skip = 0;
    }
    msghdr message{};
    message.msg_iov = list_.data();
    message.msg_iovlen = count;
    return taken(::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT), bytes);
  }
  Sent taken(ssize_t n, std::size_t offered) {
    if (n < 0) return errno == EAGAIN ? Sent::some : Sent::failed;
    pending_bytes_ -= static_cast<std::uint64_t>(n);
    const std::size_t sent = skip_ + static_cast<std::size_t>(n);
    skip_ = sent % frame_;
    next_payload_ = (next_payload_ + sent / frame_) % (payloads_.size() / size_);
    return static_cast<std::size_t>(n) < offered ? Sent::some : Sent::all;
  }

  std::size_t size_;
  std::size_t frame_;
  Bytes payloads_;
  std::uint64_t pending_bytes_ = 0;
  std::size_t next_payload_ = 0;
  std::size_t skip_ = 0;  // bytes of the first frame that have left
  std::array<std::byte, kHeaderBytes> header_{};
  std::array<iovec, 2 * kFragmentsPerCall> list_{};
  std::vector<std::byte> flat_;
};

void run_readout(const CeilingSettings& settings, int listener, Account& account) {
  const std::size_t count =
      std::clamp<std::size_t>(kPayloadBytesMax / settings.fragment_bytes, 1, kPayloadsMax);
  const std::span payloads(map_memory(count * settings.fragment_bytes), count * settings.fragment_bytes);
  std::fill(payloads.begin(), payloads.end(), std::byte{0x5a});
  struct Peer {
    int fd = -1;
    std::unique_ptr<Answers> answers;
    std::array<std::byte, 4096> in{};
    std::size_t in_have = 0;
    bool blocked = false;
  };
  std::vector<std::unique_ptr<Peer>> peers;
  Poll poll;
  for (unsigned i = 0; i < settings.collectors; ++i) {
    auto peer = std::make_unique<Peer>();
    peer->fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (peer->fd < 0) return;
    peer->answers = std::make_unique<Answers>(settings.fragment_bytes, payloads);
    poll.add(peer->fd, i);
    peers.push_back(std::move(peer));
  }
  Meter meter(account, settings.seconds);
  while (meter.goes_on()) {
    for (const epoll_event& event : poll.wait()) {
      Peer& peer = *peers[event.data.u32];
      if ((event.events & EPOLLOUT) != 0) peer.blocked = false;
      while ((event.events & EPOLLIN) != 0) {
        const std::size_t room = peer.in.size() - peer.in_have;
        const ssize_t n = ::recv(peer.fd, peer.in.data() + peer.in_have, room, MSG_DONTWAIT);
        ++meter.calls;
        if (n <= 0) break;
        peer.in_have += static_cast<std::size_t>(n);
        std::size_t at = 0;
        for (; peer.in_have - at >= sizeof(Request); at += sizeof(Request)) {
          Request request;
          std::memcpy(&request, peer.in.data() + at, sizeof request);
          peer.answers->ask(request.count);
        }
        std::memmove(peer.in.data(), peer.in.data() + at, peer.in_have - at);
        peer.in_have -= at;
        if (static_cast<std::size_t>(n) < room) break;
      }
      while (!peer.blocked && !peer.answers->empty()) {
        ++meter.calls;
        switch (peer.answers->send(peer.fd)) {
          case Answers::Sent::all:
            break;
          case Answers::Sent::some:
            peer.blocked = true;
            break;
          case Answers::Sent::failed:
            return;
        }
      }
    }
    ++meter.calls;
  }
}

// ---- DCM

// The fragments of one readout, in order, each into the memory of its slice.
class Arrivals {
 public:
  Arrivals(std::uint32_t fragment_bytes, unsigned slots, std::byte* memory, std::size_t stride)
      : size_(fragment_bytes),
        slots_(slots),
        memory_(memory),
        stride_(stride),
        spill_(map_memory(kSpillSmall), fragment_bytes > kSpillLarge ? kSpillLarge : kSpillSmall) {}

  [[nodiscard]] std::uint64_t done() const { return done_; }

  // False when drained or closed.
  bool receive(int fd) {
    std::array<iovec, 2> list{};
    int count = 0;
    std::size_t room = 0;
    const std::size_t direct = in_payload_ ? size_ - payload_have_ : 0;
    if (direct > 0) {
      list[static_cast<std::size_t>(count++)] = {target() + payload_have_, direct};
      room += direct;
    }
    list[static_cast<std::size_t>(count++)] = {spill_.data() + header_have_, spill_.size() - header_have_};
    room += spill_.size() - header_have_;
    msghdr message{};
    message.msg_iov = list.data();
    message.msg_iovlen = static_cast<std::size_t>(count);
    const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT);
    if (n <= 0) return false;
    std::size_t bytes = static_cast<std::size_t>(n);
    if (direct > 0) {
      const std::size_t here = std::min(bytes, direct);
      payload_have_ += here;
      bytes -= here;
      if (payload_have_ < size_) return static_cast<std::size_t>(n) == room;
      finish();
    }
    parse(header_have_ + bytes);
    return static_cast<std::size_t>(n) == room;
  }

 private:
  [[nodiscard]] std::byte* target() const { return memory_ + (done_ % slots_) * stride_; }
  void finish() {
    in_payload_ = false;
    payload_have_ = 0;
    ++done_;
  }
  void parse(std::size_t have) {
    std::size_t at = 0;
    header_have_ = 0;
    while (at < have) {
      if (!in_payload_) {
        if (have - at < kHeaderBytes) break;
        at += kHeaderBytes;
        in_payload_ = true;
      }
      const std::size_t n = std::min(have - at, size_ - payload_have_);
      std::memcpy(target() + payload_have_, spill_.data() + at, n);
      payload_have_ += n;
      at += n;
      if (payload_have_ == size_) finish();
    }
    if (in_payload_) return;
    header_have_ = have - at;
    std::memmove(spill_.data(), spill_.data() + at, header_have_);
  }

  std::size_t size_;
  unsigned slots_;
  std::byte* memory_;
  std::size_t stride_;
  Bytes spill_;
  std::size_t header_have_ = 0;
  std::size_t payload_have_ = 0;
  std::uint64_t done_ = 0;
  bool in_payload_ = false;
};

void run_collector(const CeilingSettings& settings, const std::vector<sockaddr_in>& readouts,
                   Account& account) {
  const unsigned slots = settings.slices_in_flight;
  const unsigned batch = std::max(1U, slots / 4);
  const std::size_t fragment = (settings.fragment_bytes + 63) / 64 * 64;
  const std::size_t slice_bytes = fragment * settings.readouts;
  std::byte* memory = map_memory(slice_bytes * slots);
  std::vector<int> fds;
  std::vector<Arrivals> arrivals;
  Poll poll;
  for (unsigned i = 0; i < settings.readouts; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    set_options(fd);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&readouts[i]), sizeof readouts[i]) != 0) return;
    poll.add(fd, i);
    fds.push_back(fd);
    arrivals.emplace_back(settings.fragment_bytes, slots, memory + i * fragment, slice_bytes);
  }
  std::uint64_t asked = 0;
  std::uint64_t complete = 0;
  Meter meter(account, settings.seconds);
  while (meter.goes_on()) {
    if (const std::uint64_t room = complete + slots - asked; room >= batch) {
      const Request request{asked, room / batch * batch};
      for (const int fd : fds) {
        ++meter.calls;
        if (::send(fd, &request, sizeof request, MSG_NOSIGNAL) < 0) return;
      }
      asked += request.count;
    }
    for (const epoll_event& event : poll.wait()) {
      if ((event.events & EPOLLIN) == 0) continue;
      const unsigned i = event.data.u32;
      do ++meter.calls;
      while (arrivals[i].receive(fds[i]));
    }
    ++meter.calls;
    std::uint64_t least = UINT64_MAX;
    for (const Arrivals& one : arrivals) least = std::min(least, one.done());
    meter.fragments += (least - complete) * settings.readouts;
    complete = least;
  }
}

int listen_on_loopback(sockaddr_in& at) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  set_options(fd);  // accepted sockets inherit them: a socket that began with BBR stays paced under any other
                    // algorithm
  at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(fd, kProcessesMax) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

template <class Body>
pid_t start_process(Body body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  ::_exit(0);
}

}  // namespace

unsigned slices_in_flight_for(std::uint32_t fragment_bytes) {
  if (fragment_bytes <= 1024) return 1024;
  if (fragment_bytes <= 4096) return 256;
  if (fragment_bytes <= 16 * 1024) return 64;
  if (fragment_bytes <= 64 * 1024) return 32;
  if (fragment_bytes <= 128 * 1024) return 16;
  return 2;
}

Expected<CeilingResult, std::string> measure_ceiling(const CeilingSettings& given) {
  CeilingSettings settings = given;
  if (settings.slices_in_flight == 0)
    settings.slices_in_flight = slices_in_flight_for(settings.fragment_bytes);
  if (settings.readouts + settings.collectors > kProcessesMax) {
    return Unexpected<std::string>("at most " + std::to_string(kProcessesMax) + " processes");
  }
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Unexpected<std::string>(std::string("mmap: ") + std::strerror(errno));
  auto* shared = new (memory) Shared();
  std::vector<int> listeners(settings.readouts);
  std::vector<sockaddr_in> at(settings.readouts);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < settings.readouts; ++i) {
    listeners[i] = listen_on_loopback(at[i]);
    children.push_back(start_process([&] { run_readout(settings, listeners[i], shared->accounts[i]); }));
  }
  for (unsigned i = 0; i < settings.collectors; ++i) {
    children.push_back(
        start_process([&] { run_collector(settings, at, shared->accounts[settings.readouts + i]); }));
  }
  for (const int listener : listeners) ::close(listener);
  for (const pid_t child : children) {
    if (child > 0) ::waitpid(child, nullptr, 0);
  }
  CeilingResult result;
  double calls_per_s = 0;
  double cpu_share = 0;
  for (const Account& account : shared->accounts) {
    if (account.seconds <= 0) continue;
    result.fragments_per_s += static_cast<double>(account.fragments) / account.seconds;
    calls_per_s += static_cast<double>(account.system_calls) / account.seconds;
    cpu_share += account.cpu_s / account.seconds;
  }
  ::munmap(memory, sizeof(Shared));
  if (result.fragments_per_s <= 0) return Unexpected<std::string>("no fragment arrived");
  result.goodput_bytes_per_s = result.fragments_per_s * settings.fragment_bytes;
  result.cpu_us_per_fragment = 1e6 * cpu_share / result.fragments_per_s;
  result.system_calls_per_fragment = calls_per_s / result.fragments_per_s;
  return result;
}

}  // namespace weir::bench
