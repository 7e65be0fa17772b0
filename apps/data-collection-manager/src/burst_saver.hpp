#pragma once

#include "burst_disk.hpp"
#include "node_link.hpp"
#include "record.hpp"
#include <weir/assembly/built_slice.hpp>
#include <weir/burst/ring.hpp>
#include <weir/node/refusal_log.hpp>
#include <weir/ports/network.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace weir::v1 {
class BurstAlert;
class Control;
class Report;
}  // namespace weir::v1

namespace weir::dcm {

struct BurstSaverSettings {
  LinkSettings link;
  std::size_t writers;  // places in the farm
  burst::RingSettings ring;
  RecordContext record;
};

// Keeps the records of settled slices in a separate ring of memory and disk, and sends the slices of an alert
// to the writers over separate connections, when no other data waits: burst::Ring decides, this class copies
// and sends. A sent record stays with its writer until the writer has answered, because that writer
// recognises a repeated record.
class BurstSaver final : public sessions::PeerHandler {
 public:
  static constexpr std::uint64_t kStagedMax = 8U << 20;  // per writer; a larger record is sent alone

  // Requires: a ring of memory. `disk`: of burst.disk_bytes; null: only memory. Throws std::bad_alloc
  // when there is no such memory.
  BurstSaver(const BurstSaverSettings& settings, sessions::PeerCounters& counters,
             std::unique_ptr<ports::ScratchDisk> disk);

  void set_writer(NodeIndex index, const ports::Endpoint& at);
  // Copies a slice that this DCM has settled. Requires: its fragments are still in memory.
  void keep(const assembly::BuiltSlice& slice);
  // Handles the supervisor's message about an alert.
  void take(const v1::BurstAlert& alert);
  void tick(ports::Network& network, TimeNs now_ns);
  // A new supervisor connection: every open alert's account is sent again.
  void forget_told() { told_.clear(); }
  // Calls send(const v1::Control&) for each account that has changed.
  void tell(const std::function<void(const v1::Control&)>& send);
  void add_to(v1::Report& report) const;
  [[nodiscard]] const burst::Ring& ring() const { return ring_; }

 private:
  using Record = burst::Ring::Record;
  struct Sending : Record {
    ConstBytes data;
    std::shared_ptr<const void> owner;
    bool repeated = false;  // an earlier connection may have delivered it: it goes to this writer or none
  };
  struct Writer {
    std::unique_ptr<sessions::Connector> link;
    std::deque<Sending> queue;              // asked for, or to be asked for, on this connection
    std::map<std::uint64_t, Sending> sent;  // by their place among the connection's records
    std::deque<Sending> bound;              // sent over an earlier connection, unanswered
    std::uint64_t records = 0;
    std::uint64_t staged_bytes = 0;  // of `queue` and `sent`
    std::uint64_t wanted_total = 0;
    std::uint64_t granted_total = 0;
    std::uint64_t sent_total = 0;
    TimeNs pause_until_ns = 0;  // it had no room
    bool leaves = false;        // it ends, and answers only what it has on this connection
    bool told_left = false;
  };

  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;

  [[nodiscard]] Writer* least_loaded(TimeNs now_ns);
  void stage(TimeNs now_ns);
  static void send_next(sessions::Peer& peer, const Sending& record);
  static void want(Writer& to, const Sending& record);
  void send_granted(Writer& to);
  static void tell_left(Writer& from);
  void send_record(sessions::Peer& peer, const Sending& record) const;
  void take_leaving(Writer& from);
  void take_refused(Writer& from, std::uint64_t number, bool again);
  [[nodiscard]] v1::Control account_message(const burst::Alert& alert, const burst::Account& account) const;

  BurstSaverSettings settings_;
  sessions::PeerInfo self_;
  sessions::PeerCounters& counters_;
  node::RefusalLog refusals_;
  TimeNs now_ns_ = 0;
  burst::Ring ring_;
  std::shared_ptr<std::byte[]> region_;
  std::unique_ptr<BurstDisk> disk_;  // null: none. After the region, which it reads
  std::vector<std::unique_ptr<Writer>> writers_;
  std::map<std::uint32_t, std::uint64_t> told_;  // alert -> its last reported account, as one number
  std::uint64_t bytes_saved_ = 0;
  std::uint64_t sent_again_ = 0;
};

}  // namespace weir::dcm
