#pragma once

#include "text_responder.hpp"
#include <weir/base/time.hpp>
#include <weir/ports/datagrams.hpp>
#include <weir/ports/network.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace weir::supervisor {

// The connections and datagrams of trigger clients that send lines of text. Answers wait for send(): the
// journal contains their slices before they leave. One thread.
class TextTriggers final : public ports::Acceptor {
 public:
  static constexpr std::size_t kConnectionsMax = 64;   // beyond: the one silent longest is closed
  static constexpr std::size_t kUnsentMax = 1U << 20;  // bytes of answers: beyond, no request is read

  explicit TextTriggers(TextResponder& responder);
  ~TextTriggers() override;

  // Listens at one port of TCP and UDP; without `datagrams` of TCP alone. Returns the address. The error is a
  // sentence.
  [[nodiscard]] Expected<ports::Endpoint, std::string> open(ports::Network& network,
                                                            const ports::OpenDatagrams& datagrams,
                                                            const ports::Endpoint& at);
  // Call once per pass: answers waiting datagrams, and frees lost connections. `hold`: no request is read.
  void tick(bool hold);
  // True if datagrams are left for the next pass.
  [[nodiscard]] bool is_behind() const { return readable_ && !held_; }
  // Sends the answers made so far.
  void send();

 private:
  class Connection;
  struct Answers {
    ports::DatagramPeer to;
    std::string text;
  };

  ports::StreamHandler* on_accept(std::unique_ptr<ports::Stream> stream) override;
  void make_room();
  void take_datagrams();
  void answer(std::string_view lines, const ports::DatagramPeer& from);

  TextResponder& responder_;
  std::unique_ptr<ports::Listener> listener_;
  std::unique_ptr<ports::Datagrams> datagrams_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Answers> answers_;  // to datagrams
  std::size_t answer_bytes_ = 0;
  std::uint64_t heard_ = 0;  // number of the last batch of requests, over all connections
  bool readable_ = false;
  bool held_ = false;
};

}  // namespace weir::supervisor
