#include "player.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::emit {
namespace {

std::uint64_t packets_of(const source::SourceFragment& fragment, std::size_t payload_max) {
  return std::max<std::uint64_t>(1, (fragment.bytes.size() + payload_max - 1) / payload_max);
}

}  // namespace

Player::Player(const PlayerSettings& settings, std::vector<Played> sources)
    : settings_(settings),
      sources_(std::move(sources)),
      sequences_(sources_.size()),
      fragments_(sources_.size()),
      stamps_(sources_.size()) {
  WEIR_ASSERT(payload_max() > 0 && !sources_.empty());
}

std::size_t Player::payload_max() const {
  const std::size_t header = settings_.stamps ? packets::kStampedHeaderBytes : packets::kHeaderBytes;
  return settings_.packet_bytes - std::min(settings_.packet_bytes, header);
}

void Player::start(TimeNs now, UtcNs utc) {
  start_ = now;
  start_utc_ = utc;
}

source::Trigger Player::trigger_of(SliceId slice) const {
  source::Trigger trigger;
  trigger.slice = slice;
  const double number = static_cast<double>(slice.value - settings_.first.value);
  trigger.time =
      start_utc_ + (settings_.rate_hz > 0 ? static_cast<UtcNs>(number * 1e9 / settings_.rate_hz) : 0);
  trigger.duration = settings_.slice_ns;
  return trigger;
}

TimeNs Player::next_due() const {
  if (settings_.rate_hz <= 0) return start_;
  const bool between = cursor_ == packets_;
  const double slice = static_cast<double>(between ? played_ : played_ - 1);
  const double part = between ? 0 : static_cast<double>(cursor_) / static_cast<double>(packets_);
  return start_ + static_cast<TimeNs>((slice + part) * 1e9 / settings_.rate_hz);
}

SliceId Player::number() const {
  const std::uint64_t slice = played_ - 1;
  return SliceId(settings_.first.value + (settings_.progress ? 2 * slice : slice));
}

packets::Packet Player::mark() const {
  packets::Packet packet;
  packet.type = packets::PacketType::mark;
  packet.slice = number();
  if (!settings_.progress) return packet;
  packet.slice = packet.slice.next();
  packet.stamp.has_time = true;
  packet.stamp.time = trigger_of(SliceId(settings_.first.value + played_)).time;
  return packet;
}

void Player::begin_slice() {
  const source::Trigger trigger = trigger_of(SliceId(settings_.first.value + played_));
  packets_ = cursor_ = 0;
  column_ = offset_ = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    fragments_[i] = sources_[i].source->produce(trigger);
    if (settings_.stamps) stamps_[i] = sources_[i].source->stamp(trigger);
    packets_ += packets_of(fragments_[i], payload_max()) + (settings_.progress ? 1 : 0);
  }
  ++played_;
  ++counters_.slices;
}

bool Player::next(TimeNs now, OutgoingPacket& out) {
  if (done() || next_due() > now) return false;
  if (cursor_ == packets_) begin_slice();
  WEIR_ASSERT(column_ < fragments_.size() && offset_ <= fragments_[column_].bytes.size());
  const source::SourceFragment& fragment = fragments_[column_];
  packets::Packet packet;
  packet.slice = number();
  bool last = true;
  if (marks_) {
    packet = mark();
  } else if (fragment.status == FragmentStatus::missing) {
    packet.type = packets::PacketType::mark;
    ++counters_.absent;
  } else {
    packet.total = static_cast<std::uint32_t>(fragment.bytes.size());
    packet.offset = offset_;
    packet.payload =
        fragment.bytes.subspan(offset_, std::min(payload_max(), fragment.bytes.size() - offset_));
    packet.truncated = fragment.status == FragmentStatus::truncated;
    last = offset_ + packet.payload.size() == fragment.bytes.size();
    packet.closes = last;
    packet.stamp = stamps_[column_];
    if (last) ++counters_.fragments;
  }
  encode(packet, column_, out);
  out.owner = fragment.owner;
  ++cursor_;
  out.ended =
      cursor_ == packets_ ? std::optional(SliceId(settings_.first.value + played_ - 1)) : std::nullopt;
  offset_ = last ? 0 : static_cast<std::uint32_t>(offset_ + packet.payload.size());
  marks_ = last && settings_.progress && !marks_;
  if (last && !marks_) ++column_;
  WEIR_ASSERT((cursor_ == packets_) == (column_ == fragments_.size()));
  return true;
}

void Player::encode(packets::Packet packet, std::uint32_t column, OutgoingPacket& out) {
  packet.run = settings_.run;
  packet.session = settings_.session;
  packet.source = sources_[column].source->id();
  packet.sequence = sequences_[column]++;
  out.header_bytes = packets::header_bytes(packet);
  packets::encode_header(packet, Bytes(out.header_room).first(out.header_bytes));
  out.payload = packet.payload;
  out.target = sources_[column].target;
  ++counters_.packets;
  counters_.bytes += packet.payload.size();
  out.withheld = settings_.drop_every > 0 && counters_.packets % settings_.drop_every == 0;
  if (out.withheld) ++counters_.withheld;
}

std::vector<OutgoingPacket> Player::last_marks() {
  std::vector<OutgoingPacket> marks(sources_.size());
  for (std::uint32_t column = 0; column < sources_.size(); ++column) {
    encode(mark(), column, marks[column]);
  }
  return marks;
}

}  // namespace weir::emit
