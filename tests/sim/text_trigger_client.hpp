#pragma once

#include "scenario.hpp"
#include <weir/ports/network.hpp>
#include <weir/simnet/random.hpp>
#include <weir/simnet/world.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace weir::sim {

// Offers numbered triggers as lines of text (docs/triggers.md), from a host without faults: repeats some, and
// after a lost connection the unanswered ones. Each number has one answer, and each slice one number.
class TextTriggerClient final : private ports::StreamHandler {
 public:
  // Calls `fail` with a sentence if an answer is wrong.
  TextTriggerClient(simnet::World& world, const Scenario& scenario, const ports::Endpoint& supervisor,
                    std::function<void(const std::string&)> fail);
  ~TextTriggerClient() override;

 private:
  void pass(TimeNs now_ns);
  void offer(std::uint64_t number);
  void take(std::string_view line);
  [[nodiscard]] ports::ReceiveSpace receive_space() override { return {Bytes(space_), Bytes()}; }
  [[nodiscard]] bool on_received(std::size_t bytes) override;
  void on_closed(ports::CloseReason reason) override;

  simnet::Host& host_;
  const Scenario& scenario_;
  std::function<void(const std::string&)> fail_;
  simnet::Random random_;
  ports::Endpoint supervisor_;
  DurationNs every_ns_;
  TimeNs next_ns_ = 0;
  std::unique_ptr<ports::Stream> stream_;  // null: to be connected
  std::array<std::byte, 512> space_{};
  std::string received_;  // of the next line
  std::uint64_t made_ = 0;
  std::deque<std::uint64_t> unanswered_;  // over this connection, in the order of their offers
  std::deque<std::uint64_t> again_;       // to be offered over the next connection
  std::map<std::uint64_t, std::string> answers_;
  std::set<std::string> slices_;
};

}  // namespace weir::sim
