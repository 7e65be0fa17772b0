// A front-end behind a socket: boards send datagrams of a source's number (4 bytes), a slice's (8), and data,
// all little-endian. The readout watches fd(), so a poll follows each arrival at once.
#include <weir/source.hpp>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

static_assert(std::endian::native == std::endian::little);

class Board : public weir::AsyncSource {
 public:
  explicit Board(weir::SourceSetup& setup)
      : AsyncSource(setup),
        socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
        malformed_(counter("malformed")) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_ANY);
    at.sin_port = htons(static_cast<std::uint16_t>(setup.parameter("port", 7400U) + readout().index));
    if (socket_ >= 0 && ::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return;
    const std::string why = std::strerror(errno);
    ::close(socket_);
    throw std::runtime_error("port " + std::to_string(ntohs(at.sin_port)) + ": " +
                             why);  // the run does not begin
  }
  ~Board() override { ::close(socket_); }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  [[nodiscard]] int fd() const override { return socket_; }

  // A bounded piece of work: while datagrams are left, the readout calls again.
  void poll(std::int64_t /*now_ns*/) override {
    constexpr int kDatagramsMax = 64;
    for (int i = 0; i < kDatagramsMax; ++i) {
      const ssize_t size = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (size < 0) return;  // none is left
      constexpr std::size_t kHead = sizeof(std::uint32_t) + sizeof(std::uint64_t);
      if (static_cast<std::size_t>(size) < kHead) {
        malformed_.add();
        continue;
      }
      std::uint32_t source = 0;
      std::uint64_t slice = 0;
      std::memcpy(&source, buffer_.data(), sizeof source);
      std::memcpy(&slice, buffer_.data() + sizeof source, sizeof slice);
      deliver(source, slice,
              weir::SourceBytes(std::vector<std::byte>(buffer_.begin() + kHead, buffer_.begin() + size)));
    }
  }

 private:
  int socket_;
  weir::SourceCounter malformed_;
  std::array<std::byte, 65536> buffer_{};
};
WEIR_SOURCE_PLUGIN(Board, "board", "1.0", "datagrams of boards, at `port` + the readout's index")
