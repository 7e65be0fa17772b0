#pragma once

#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/source/source.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::emit {

// Offers slices to a supervisor with trigger.mode `network`, and counts its answers. One thread.
class TriggerClient final : private sessions::PeerHandler {
 public:
  TriggerClient(const std::string& farm, const ports::Endpoint& supervisor,
                std::shared_ptr<const ports::Authenticator> authenticator);

  void tick(ports::Network& network, TimeNs now_ns) { link_.tick(network, now_ns); }
  [[nodiscard]] bool ready() const { return link_.ready(); }
  [[nodiscard]] RunNumber run() const { return run_; }  // when ready
  void offer(const std::vector<source::Trigger>& triggers);

  // The run takes no more: it has ended, or its supervisor has left.
  [[nodiscard]] bool over() const { return over_; }
  // The first slice that was offered has been answered: taken, or the run has not begun (false).
  [[nodiscard]] std::optional<bool> take_first_answer() { return std::exchange(first_, std::nullopt); }
  [[nodiscard]] std::uint64_t unanswered() const { return offered_ - answered_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& vetoed() const { return vetoed_; }
  // It will not do with this farm file, or these keys.
  [[nodiscard]] bool refused() const { return refused_; }
  // Returns why the connection is down; empty while it is up.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;

  sessions::PeerInfo self_;
  sessions::PeerLimits limits_;
  sessions::PeerCounters counters_;
  sessions::Connector link_;
  RunNumber run_;
  bool was_taken_ = false;
  bool over_ = false;
  bool refused_ = false;
  std::optional<bool> first_;
  std::uint64_t offered_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t taken_ = 0;
  std::map<std::string, std::uint64_t> vetoed_;
  std::string trouble_;
};

}  // namespace weir::emit
