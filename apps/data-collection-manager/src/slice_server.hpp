#pragma once

#include "builder.hpp"
#include <weir/node/refusal_log.hpp>
#include <weir/ports/network.hpp>
#include <weir/sessions/listener.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/slice_rows/rows.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace weir::v1 {
class Fetch;
class Report;
}  // namespace weir::v1

namespace weir::dcm {

struct SliceServerSettings {
  ports::Endpoint listen;
  sessions::PeerLimits limits;
  struct Fetcher {
    std::string name;
    bool fetches;  // slices of this DCM
  };
  std::vector<Fetcher> dcms;  // by index
};

// Sends kept slices to the DCMs of the groups that they were forwarded to. A slice stays charged to this DCM:
// frames refer to its memory.
class SliceServer final : public sessions::PeerHandler {
 public:
  // `self`: this DCM's description in hellos; outlives the server.
  SliceServer(SliceServerSettings settings, const sessions::PeerInfo& self, sessions::PeerCounters& counters,
              Builder& builder, const TimeNs& now_ns);

  // Listens; throws if that fails.
  [[nodiscard]] ports::Endpoint open(ports::Network& network);
  // Call once per pass: answers requests, as many as each connection takes.
  void tick();
  void add_to(v1::Report& report) const;

 private:
  std::string check_hello(const sessions::PeerInfo& info) override;
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;

  void serve(sessions::Peer& peer, std::deque<slice_rows::FetchRow>& waiting);
  [[nodiscard]] bool is_unconfirmed(const slice_rows::FetchRow& row) const;
  void send_slice(ports::Stream& stream, assembly::BuiltSlice& slice, Attempt as);

  SliceServerSettings settings_;
  const sessions::PeerInfo& self_;
  Builder& builder_;
  const TimeNs& now_ns_;
  node::RefusalLog refusals_;
  sessions::SessionListener listener_;
  std::uint64_t connections_ = 0;
  // By tag: requests in order. Ordered, so that a simulated farm behaves the same each time.
  std::map<std::uint64_t, std::deque<slice_rows::FetchRow>> waiting_;
  std::uint64_t slices_ = 0;
  std::uint64_t gone_ = 0;
  std::uint64_t fragments_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace weir::dcm
