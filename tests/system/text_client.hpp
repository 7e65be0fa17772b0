#pragma once

#include "process.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

namespace weir::system_test {

// A port of this machine that is free for TCP and UDP now.
[[nodiscard]] std::uint16_t free_text_port();

// A client of trigger.listen_text. Throws std::runtime_error if a system call fails.
class TextClient {
 public:
  enum class Kind { tcp, udp };
  TextClient(Kind kind, std::uint16_t port);
  ~TextClient();
  TextClient(const TextClient&) = delete;
  TextClient& operator=(const TextClient&) = delete;

  // Returns false if the peer is gone.
  bool send(const std::string& text) const;
  // Returns the next line without its line feed; empty if none arrives in time.
  [[nodiscard]] std::string line(Seconds patience);
  // Returns true if the peer closes the connection in time.
  [[nodiscard]] bool closed(Seconds patience);

 private:
  bool receive(Seconds patience);

  int socket_ = -1;
  bool ended_ = false;
  std::string got_;
};

// Offers numbered triggers over UDP, many at a time, through a network that loses a tenth of the requests and
// of the answers, sends a tenth twice, and delivers some late. Repeats requests without an answer.
class LossyClient {
 public:
  struct Account {
    std::uint64_t taken = 0;
    std::uint64_t busy = 0;
    std::uint64_t slices = 0;          // different ones
    std::uint64_t repeats = 0;         // requests beyond the first of their number
    std::uint64_t contradictions = 0;  // answers that differ from the first one to their number, and errors
  };

  LossyClient(std::uint16_t port, std::uint64_t triggers);
  // Runs until so many triggers have their answer; returns false after `patience`.
  [[nodiscard]] bool run_until(std::uint64_t answered, Seconds patience);
  [[nodiscard]] const Account& account() const { return account_; }

 private:
  [[nodiscard]] bool chance(unsigned permille) { return random_() % 1000 < permille; }
  void send(std::uint64_t number);
  void repeat_unanswered();
  void take(const std::string& line);

  TextClient client_;
  std::uint64_t triggers_;
  std::mt19937_64 random_{7};
  std::vector<std::string> answers_;  // by number, without its mark; empty: none yet
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t lowest_ = 1;  // the lowest number without an answer
  std::vector<std::string> late_;
  std::unordered_set<std::string> slices_;
  Account account_;
};

}  // namespace weir::system_test
