#include "burst_saver.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/node/report.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace weir::dcm {
namespace {

constexpr std::uint64_t kBurstPieceBytes = 1U << 20;

void set(v1::SliceSum& out, const SliceSum& sum) {
  out.set_count(sum.count);
  out.set_hash_sum(sum.hash_sum);
}

}  // namespace

BurstSaver::BurstSaver(const BurstSaverSettings& settings, sessions::PeerCounters& counters,
                       std::unique_ptr<ports::ScratchDisk> disk)
    : settings_(settings),
      self_(settings.link.self),
      counters_(counters),
      ring_(settings.ring),
      region_(std::make_shared_for_overwrite<std::byte[]>(settings.ring.bytes)) {
  self_.burst = true;
  if (disk) disk_ = std::make_unique<BurstDisk>(std::move(disk), ring_, region_.get());
  for (std::size_t i = 0; i < settings.writers; ++i) writers_.push_back(std::make_unique<Writer>());
}

void BurstSaver::set_writer(NodeIndex index, const ports::Endpoint& at) {
  link_to(writers_.at(index.value)->link, Role::writer, index, at,
          {self_, *this, settings_.link.limits, counters_, settings_.link.reconnect_ns});
}

// The attempt is the store epoch: should two DCMs have a slice after a fault, the later attempt counts.
void BurstSaver::keep(const assembly::BuiltSlice& slice) {
  RecordContext context = settings_.record;
  context.for_burst = true;
  const dcm::Record record = make_record(slice, StoreEpoch(slice.attempt().value), context);
  const auto offset = ring_.add(slice.id(), slice.attempt(), slice.assignment.time, record.bytes);
  if (!offset) return;
  std::byte* to = region_.get() + *offset;
  std::memcpy(to, record.meta.data(), record.meta.size());
  to += record.meta.size();
  for (const ConstBytes payload : record.payloads) {
    std::memcpy(to, payload.data(), payload.size());
    to += payload.size();
  }
  WEIR_ASSERT(to == region_.get() + *offset + record.bytes);
}

void BurstSaver::take(const v1::BurstAlert& message) {
  if (message.ended()) {
    ring_.close(message.number());
    told_.erase(message.number());
    return;
  }
  if (!ring_.can_open())
    return spdlog::error("burst alert ignored number={} reason=no_room", message.number());
  ring_.open({message.number(), message.from_ns(), message.until_ns()});
  const burst::Account& account = *ring_.account(message.number());
  spdlog::info("burst alert number={} waiting={} too_old={} no_room={} disk_slow={} disk_failed={}",
               message.number(), account.waiting.count, account.too_old.count, account.no_room.count,
               account.disk_slow.count, account.disk_failed.count);
}

void BurstSaver::tick(ports::Network& network, TimeNs now_ns) {
  now_ns_ = now_ns;
  for (const auto& to : writers_) {
    if (to->link) to->link->tick(network, now_ns);
  }
  if (disk_) {
    disk_->pass(now_ns, [&](const Record& record, ConstBytes data, std::shared_ptr<const void> owner) {
      Writer* to = least_loaded(now_ns);
      if (to == nullptr) return ring_.send_again(record.alert, record.slice);
      want(*to, {record, data, std::move(owner)});
    });
  }
  stage(now_ns);
  for (const auto& to : writers_) {
    if (to->link && to->link->ready() && now_ns >= to->pause_until_ns) send_granted(*to);
    if (to->leaves && !to->told_left) tell_left(*to);
  }
}

// When the writer has answered everything.
void BurstSaver::tell_left(Writer& from) {
  if (!from.queue.empty() || !from.sent.empty()) return;
  v1::Control message;
  message.mutable_burst_leave();
  from.link->peer().send(message);
  from.told_left = true;
}

// Returns the ready writer with the fewest bytes in transit, or null.
BurstSaver::Writer* BurstSaver::least_loaded(TimeNs now_ns) {
  Writer* least = nullptr;
  for (const auto& to : writers_) {
    const bool takes = to->link && to->link->ready() && !to->leaves && to->staged_bytes < kStagedMax &&
                       now_ns >= to->pause_until_ns;
    if (takes && (least == nullptr || to->staged_bytes < least->staged_bytes)) least = to.get();
  }
  return least;
}

void BurstSaver::stage(TimeNs now_ns) {
  while (Writer* to = least_loaded(now_ns)) {
    const auto record = ring_.next(now_ns);
    if (!record) return;
    if (record->from_disk) {
      disk_->read(*record);
    } else {
      want(*to, {*record, ConstBytes(region_.get() + record->offset, record->bytes), region_});
    }
  }
}

void BurstSaver::send_next(sessions::Peer& peer, const Sending& record) {
  v1::Control next;
  next.mutable_burst_next()->set_number(record.alert);
  peer.send(next);
}

void BurstSaver::want(Writer& to, const Sending& record) {
  to.queue.push_back(record);
  to.staged_bytes += record.bytes;
  to.wanted_total += record.bytes;
  send_next(to.link->peer(), record);  // the writer opens the alert's file before it grants the space
  v1::Control message;
  message.mutable_space()->set_wanted_total(to.wanted_total);
  to.link->peer().send(message);
}

void BurstSaver::send_granted(Writer& to) {
  while (!to.queue.empty() && to.sent_total + to.queue.front().bytes <= to.granted_total) {
    const Sending record = to.queue.front();
    to.queue.pop_front();
    to.sent_total += record.bytes;
    WEIR_ASSERT(to.sent_total <= to.wanted_total);
    to.sent.emplace(++to.records, record);
    send_record(to.link->peer(), record);
  }
}

void BurstSaver::send_record(sessions::Peer& peer, const Sending& record) const {
  WEIR_ASSERT(record.data.size() == record.bytes);
  send_next(peer, record);
  const std::uint64_t piece_bytes =
      std::min<std::uint64_t>(kBurstPieceBytes, settings_.link.limits.frame_bytes_max);
  for (std::uint64_t offset = 0; offset < record.bytes; offset += piece_bytes) {
    const ConstBytes part = record.data.subspan(offset, std::min(piece_bytes, record.bytes - offset));
    const wire::RecordPiece piece =
        record.bytes <= piece_bytes ? wire::RecordPiece{} : wire::RecordPiece{record.bytes, offset};
    const Bytes head = peer.stream().reserve(wire::kHeaderBytes);
    wire::encode_header(
        wire::data_header(record.slice, record.attempt, static_cast<std::uint32_t>(part.size()), piece),
        head.first<wire::kHeaderBytes>());
    peer.stream().append_reference(part, record.owner);
  }
}

void BurstSaver::on_ready(sessions::Peer& peer) {
  Writer& to = *writers_.at(peer.tag);
  std::deque<Sending> bound = std::exchange(to.bound, {});
  for (Sending& record : bound) {
    ++sent_again_;
    record.repeated = true;
    want(to, record);
  }
}

void BurstSaver::on_gone(sessions::Peer& peer, std::string_view why) {
  if (!peer.was_ready()) {
    if (peer.was_refused()) refusals_.note(peer, why, now_ns_);
    return;
  }
  Writer& to = *writers_.at(peer.tag);
  for (const auto& [number, record] : to.sent) {
    if (!planted(Planted::forget_burst)) to.bound.push_back(record);
  }
  for (const Sending& record : to.queue) {
    if (record.repeated) {
      to.bound.push_back(record);
    } else {
      ring_.send_again(record.alert, record.slice);
    }
  }
  to.queue.clear();
  to.sent.clear();
  to.records = to.staged_bytes = to.wanted_total = to.granted_total = to.sent_total = 0;
  to.leaves = to.told_left = false;
}

Expected<void, wire::WireError> BurstSaver::on_control(sessions::Peer& peer, const v1::Control& message) {
  Writer& from = *writers_.at(peer.tag);
  if (message.has_grant()) {
    from.granted_total = std::max(from.granted_total, message.grant().granted_total());
    return {};
  }
  if (message.has_refused()) {
    for (const v1::Refused::One& one : message.refused().records())
      take_refused(from, one.record(), one.again());
    return {};
  }
  if (message.has_burst_leave()) {
    take_leaving(from);
    return {};
  }
  if (!message.has_burst_stored()) return Unexpected<wire::WireError>(wire::WireError::not_expected);
  const std::uint32_t alert = message.burst_stored().number();
  const std::set<std::uint64_t> stored(message.burst_stored().slice().begin(),
                                       message.burst_stored().slice().end());
  for (auto sent = from.sent.begin(); sent != from.sent.end();) {
    const Record& record = sent->second;
    if (record.alert != alert || !stored.contains(record.slice.value)) {
      ++sent;
      continue;
    }
    WEIR_ASSERT(record.bytes <= from.staged_bytes);
    from.staged_bytes -= record.bytes;
    bytes_saved_ += record.bytes;
    ring_.saved(alert, record.slice);
    sent = from.sent.erase(sent);
  }
  return {};
}

// Records that it has never had go to another writer.
void BurstSaver::take_leaving(Writer& from) {
  from.leaves = true;
  std::erase_if(from.queue, [&](const Sending& record) {
    if (record.repeated) return false;
    WEIR_ASSERT(record.bytes <= from.staged_bytes);
    from.staged_bytes -= record.bytes;
    ring_.send_again(record.alert, record.slice);
    return true;
  });
}

void BurstSaver::take_refused(Writer& from, std::uint64_t number, bool again) {
  const auto sent = from.sent.find(number);
  if (sent == from.sent.end()) return;
  const Sending record = sent->second;
  from.sent.erase(sent);
  WEIR_ASSERT(record.bytes <= from.staged_bytes);
  from.staged_bytes -= record.bytes;
  if (!again) return ring_.refused(record.alert, record.slice);
  from.pause_until_ns = now_ns_ + settings_.link.reconnect_ns;
  if (record.repeated) return want(from, record);
  ring_.send_again(record.alert, record.slice);
}

v1::Control BurstSaver::account_message(const burst::Alert& alert, const burst::Account& account) const {
  v1::Control message;
  v1::BurstAccount& out = *message.mutable_burst_account();
  out.mutable_alert()->set_number(alert.number);
  out.mutable_alert()->set_from_ns(alert.from);
  out.mutable_alert()->set_until_ns(alert.until);
  set(*out.mutable_saved(), account.saved);
  set(*out.mutable_too_old(), account.too_old);
  set(*out.mutable_no_room(), account.no_room);
  set(*out.mutable_disk_slow(), account.disk_slow);
  set(*out.mutable_disk_failed(), account.disk_failed);
  set(*out.mutable_refused(), account.refused);
  set(*out.mutable_waiting(), account.waiting);
  return message;
}

void BurstSaver::tell(const std::function<void(const v1::Control&)>& send) {
  ring_.for_each_open([&](const burst::Alert& alert, const burst::Account& account) {
    // Every count only grows, so one number shows whether any has changed.
    const std::uint64_t now = account.all().count * 2 - account.waiting.count + 1;
    std::uint64_t& told = told_[alert.number];
    if (told == now) return;
    told = now;
    send(account_message(alert, account));
  });
}

void BurstSaver::add_to(v1::Report& report) const {
  if (disk_) disk_->add_to(report);
  reports::ReportCounters counters(report);
  counters["burst.kept"] = ring_.kept();
  counters["burst.overwritten"] = ring_.overwritten();
  counters["burst.unplaced"] = ring_.unplaced();
  counters["burst.bytes_saved"] = bytes_saved_;
  counters["burst.sent_again"] = sent_again_;
  SliceSum saved;
  SliceSum waiting;
  const auto add = [&](const burst::Account& account) {
    saved += account.saved;
    waiting += account.waiting;
  };
  ring_.for_each_open([&](const burst::Alert&, const burst::Account& account) { add(account); });
  for (const auto& [number, account] : ring_.closed()) add(account);
  reports::add_sum(report, "burst_saved", saved);
  reports::Gauges gauges(report);
  gauges["burst_bytes_used"] = static_cast<double>(ring_.bytes_used());
  gauges["burst_bytes_frozen"] = static_cast<double>(ring_.bytes_frozen());
  gauges["burst_slice_bytes_max"] = static_cast<double>(ring_.largest());
  gauges["burst_slices_waiting"] = static_cast<double>(waiting.count);
}

}  // namespace weir::dcm
