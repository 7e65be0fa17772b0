#pragma once

#include "builder.hpp"
#include "fetch_credits.hpp"
#include "liveness_probe.hpp"
#include "node_link.hpp"
#include "run_phases.hpp"
#include <weir/node/refusal_log.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::v1 {
class Fetch;
class Report;
}  // namespace weir::v1

namespace weir::dcm {

struct SliceFetcherSettings {
  LinkSettings link;
  DurationNs patience_ns;  // longest time to wait for a keeper
  struct Keeper {
    std::uint32_t flow;  // its index in the shaper
    bool serves;         // it forwards slices to this DCM's group; others refuse connections
  };
  std::vector<Keeper> keepers;  // by index among the DCMs
};

// Fetches whole slices from the DCMs that keep them. A slice is built from the readouts if its DCM ends, has
// dropped it, or is silent while all readouts answer.
class SliceFetcher final : public sessions::PeerHandler {
 public:
  SliceFetcher(const SliceFetcherSettings& settings, std::unique_ptr<shaping::Shaper> shaper,
               sessions::PeerCounters& counters, Builder& builder, const RunPhases& course);

  // Sets the address of the DCM with this index. `present`: it is connected to the supervisor.
  void set_keeper(NodeIndex index, const ports::Endpoint& at, bool present);
  void tick(ports::Network& network, TimeNs now_ns);
  // Sends the requests for slices that have got memory, as far as the shaper has credit.
  void request_wanted();
  // Returns when request_wanted() is to be called again even if nothing arrives.
  [[nodiscard]] TimeNs wake_at_ns() const { return credits_.next_ns(); }
  // Call every few ms: probes silent DCMs.
  void look();
  // Call when the first step of a kept slice is complete.
  void complete(assembly::BuiltSlice& slice);
  // Calls `send` with the slices that have arrived since, if any.
  void tell(const std::function<void(const v1::Control&)>& send);
  void forget_told();
  void add_to(v1::Report& report) const;

 private:
  struct Keeper {
    Keeper(const SliceFetcherSettings::Keeper& from, DurationNs silence_ns)
        : flow(from.flow), serves(from.serves), probe(silence_ns) {}
    std::unique_ptr<sessions::Connector> link;
    std::uint32_t flow;
    bool serves;
    bool present = false;
    assembly::Reception reception;  // the frame that is being received
    LivenessProbe probe;
  };

  std::string check_hello(const sessions::PeerInfo& info) override;
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  wire::PayloadPlace on_header(sessions::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;
  void on_part(sessions::Peer& peer, const wire::FrameHeader& header, ConstBytes part) override;
  void on_abandoned(sessions::Peer& peer, const wire::FrameHeader& header) override;

  [[nodiscard]] Keeper* keeper_of(const assembly::BuiltSlice& slice);
  [[nodiscard]] bool is_awaited(const assembly::BuiltSlice* slice) const;
  [[nodiscard]] shaping::Credit try_take(const assembly::BuiltSlice& slice, std::uint32_t flow);
  void leave(assembly::BuiltSlice& slice);
  // Builds all slices that are to come from this DCM from the readouts.
  void leave_all(std::size_t keeper);

  LinkSettings link_;
  sessions::PeerCounters& counters_;
  Builder& builder_;
  const RunPhases& course_;
  DurationNs patience_ns_;
  TimeNs now_ns_ = 0;
  TimeNs readout_lost_ns_ = 0;  // last time that a readout did not answer
  node::RefusalLog refusals_;
  std::vector<std::unique_ptr<Keeper>> keepers_;  // by index among the DCMs
  FetchCredits credits_;
  std::unique_ptr<v1::Control> fetched_;  // message to the supervisor
  std::uint64_t slices_ = 0;
  std::uint64_t fragments_ = 0;
  std::uint64_t unused_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t from_readouts_ = 0;
  std::uint64_t broken_ = 0;
};

}  // namespace weir::dcm
