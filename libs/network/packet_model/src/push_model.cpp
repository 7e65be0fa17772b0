#include <weir/base/assert.hpp>
#include <weir/packet_model/push_model.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::packet_model {
namespace {

constexpr std::uint32_t kDatagramHeaderBytes = 28;  // of IP and UDP
constexpr double kBitsPerByte = 8;

DurationNs time_on(double bits_per_s, std::uint32_t bytes) {
  return std::llround(kBitsPerByte * 1e9 * bytes / bits_per_s);
}

}  // namespace

PushModel::PushModel(const PushNetwork& network, const PushTraffic& traffic)
    : network_(network),
      traffic_(traffic),
      slices_(static_cast<std::uint32_t>(traffic.length_ns / traffic.slice_ns)),
      end_ns_(traffic.length_ns + traffic.relaxation_ns),
      workload_(network.readouts, traffic.fragment_bytes, traffic.slice_ns, traffic.bursts, traffic.seed),
      errors_(traffic.seed ^ 0xb17e) {
  WEIR_ASSERT(network_.readouts > 0 && network_.dcms > 0 && network_.readouts_per_switch > 0);
  // Acknowledgements are a hundredth of the bytes and pass links that carry nothing else: they do not wait.
  back_ns_ = network_.dcm_way_ns + network_.uplink_way_ns + network_.readout_way_ns +
             time_on(network_.dcm_bits_per_s, kOldHeaderBytes) +
             time_on(network_.uplink_bits_per_s, kOldHeaderBytes) +
             time_on(network_.readout_bits_per_s, kOldHeaderBytes);
  if (traffic_.transport == PushTransport::tcp) {
    Random phases(traffic_.seed ^ 0xc10c);
    flows_.reserve(std::size_t{network_.readouts} * network_.dcms);
    for (std::uint32_t flow = 0; flow < network_.readouts * network_.dcms; ++flow) {
      const auto phase =
          static_cast<DurationNs>(phases.uniform() * static_cast<double>(traffic_.tcp.tick_ns));
      flows_.push_back({.sender = OldTcp(traffic_.tcp, phase), .receiver = {}});
    }
  }
  for (std::uint32_t readout = 0; readout < network_.readouts; ++readout) {
    Readout& made = readouts_.emplace_back(
        Readout{PacketLink(network_.readout_bits_per_s, network_.queue_packets), std::nullopt, {}, 0});
    if (traffic_.sending == PushSending::at_slot) continue;
    shaping::BarrelSettings settings;
    settings.barrel = traffic_.group > 0;
    settings.sources = 1;
    settings.dcms = network_.dcms;
    settings.slot_ns = traffic_.slice_ns;
    settings.delay_slots = delay_slots(readout);
    settings.cut_off_bytes = traffic_.bursts.cut_off_slices > 0 ? traffic_.fragment_bytes : 0;
    settings.cut_off_slices = traffic_.bursts.cut_off_slices;
    made.barrel.emplace(settings);
    made.links.assign(network_.dcms, {.up = true});
  }
  uplinks_.assign((network_.readouts + network_.readouts_per_switch - 1) / network_.readouts_per_switch,
                  PacketLink(network_.uplink_bits_per_s, network_.queue_packets));
  ports_.assign(network_.dcms, PacketLink(network_.dcm_bits_per_s, network_.queue_packets));
  fragments_.resize(std::size_t{slices_} * network_.readouts);
  result_.delays.assign(fragments_.size(), kNotDelivered);
}

// With the cut-off a fragment waits until it is known whether it is among the last ones of its burst.
std::uint32_t PushModel::delay_slots(std::uint32_t readout) const {
  return (traffic_.group > 0 ? shaping::barrel_delay(readout, traffic_.group) : 0) +
         traffic_.bursts.cut_off_slices;
}

std::uint32_t PushModel::wire_bytes(const Event& packet) const {
  return packet.length + (traffic_.transport == PushTransport::tcp ? kOldHeaderBytes : kDatagramHeaderBytes);
}

PushResult PushModel::run() {
  queue_.push(traffic_.slice_ns, {EventKind::slice, 0, 0, 0});
  while (!queue_.empty() && queue_.next_ns() <= end_ns_) {
    now_ns_ = queue_.next_ns();
    ++result_.events;
    handle(queue_.pop());
  }
  return result();
}

void PushModel::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::slice:
      return end_slice(event.index);
    case EventKind::readout_wakes:
      if (readouts_[event.index].wake_event_ns != now_ns_) return;
      readouts_[event.index].wake_event_ns = 0;
      return push(event.index);
    case EventKind::at_switch:
      return at_switch(event);
    case EventKind::at_port:
      return at_port(event);
    case EventKind::acknowledgement:
      return acknowledged(event);
    case EventKind::timer:
      return fire_timer(event.index);
  }
}

// `slice` is over, and with it begins the slot of earlier ones.
void PushModel::end_slice(std::uint32_t slice) {
  const std::uint32_t most = delay_slots(network_.readouts - 1);
  for (std::uint32_t readout = 0; readout < network_.readouts; ++readout) {
    if (slice < slices_) produce(readout, slice);
    const std::uint32_t delay = delay_slots(readout);
    if (traffic_.sending == PushSending::at_slot && slice >= delay && slice - delay < slices_)
      send_fragment(readout, slice - delay);
  }
  if (slice < slices_ && traffic_.bursts.share > 0) ++result_.in_burst[workload_.in_burst()];
  if (slice + 1 < slices_ + most)
    queue_.push(now_ns_ + traffic_.slice_ns, {EventKind::slice, 0, slice + 1, 0});
}

void PushModel::produce(std::uint32_t readout, std::uint32_t slice) {
  const PushWorkload::Fragment made = workload_.next(readout, slice);
  Fragment& fragment = fragments_[fragment_of(readout, slice)];
  fragment.bytes = fragment.left = made.bytes;
  fragment.due_ns = now_ns_ + delay_slots(readout) * traffic_.slice_ns;
  ++result_.produced;
  if (made.cut_off) {
    fragments_[fragment_of(readout, *made.cut_off)].cut_off = true;
    ++result_.cut_off;
  }
  if (traffic_.sending == PushSending::at_slot) return;
  const std::uint32_t sizes[] = {made.bytes};
  readouts_[readout].barrel->add(SliceId{slice}, slice % network_.dcms, now_ns_, sizes);
  push(readout);
}

void PushModel::send_fragment(std::uint32_t readout, std::uint32_t slice) {
  const std::uint32_t fragment = fragment_of(readout, slice);
  if (fragments_[fragment].cut_off) return;
  if (traffic_.transport == PushTransport::udp) return send_datagrams(readout, slice);
  const std::uint32_t flow = flow_of(readout, slice);
  write(flow, fragment, fragments_[fragment].bytes);
  pump(flow);
}

// A fragment is one message in packets, and is lost with any of them.
void PushModel::send_datagrams(std::uint32_t readout, std::uint32_t slice) {
  Fragment& fragment = fragments_[fragment_of(readout, slice)];
  const std::uint32_t packets = (fragment.bytes + kOldSegmentBytes - 1) / kOldSegmentBytes;
  fragment.left = packets;
  for (std::uint32_t i = 0; i < packets; ++i) {
    const std::uint32_t length = std::min(kOldSegmentBytes, fragment.bytes - i * kOldSegmentBytes);
    transmit({EventKind::at_switch, static_cast<std::uint16_t>(length), flow_of(readout, slice), slice});
  }
}

void PushModel::write(std::uint32_t flow, std::uint32_t fragment, std::uint32_t bytes) {
  Flow& to = flows_[flow];
  to.sender.write(bytes);
  std::uint32_t number = 0;
  if (free_parts_.empty()) {
    number = static_cast<std::uint32_t>(parts_.size());
    parts_.emplace_back();
  } else {
    number = free_parts_.back();
    free_parts_.pop_back();
  }
  parts_[number] = {to.sender.written(), bytes, fragment, kNone};
  (to.last_part == kNone ? to.first_part : parts_[to.last_part].next) = number;
  to.last_part = number;
}

// Sends the pieces that the barrel allows now.
void PushModel::push(std::uint32_t readout) {
  Readout& from = readouts_[readout];
  while (const auto piece = from.barrel->next(now_ns_, from.links)) {
    const auto slice = static_cast<std::uint32_t>(piece->slice.value);
    if (piece->length == 0) continue;
    if (traffic_.transport == PushTransport::udp) {
      if (piece->offset == 0) send_datagrams(readout, slice);
      continue;
    }
    const std::uint32_t flow = flow_of(readout, slice);
    write(flow, fragment_of(readout, slice), piece->length);
    pump(flow);
  }
  const TimeNs wake_ns = from.barrel->wake_at_ns();
  if (wake_ns == shaping::kNever) return;
  const TimeNs at_ns = std::max(wake_ns, now_ns_);
  if (from.wake_event_ns != 0 && from.wake_event_ns <= at_ns) return;
  from.wake_event_ns = at_ns;
  queue_.push(at_ns, {EventKind::readout_wakes, 0, readout, 0});
}

void PushModel::pump(std::uint32_t flow) {
  Flow& from = flows_[flow];
  while (const auto out = from.sender.next(now_ns_))
    transmit({EventKind::at_switch, out->length, flow, out->segment});
  const TimeNs timer_ns = from.sender.timer_at_ns();
  if (timer_ns > 0 && (from.timer_event_ns == 0 || from.timer_event_ns > timer_ns)) {
    from.timer_event_ns = timer_ns;
    queue_.push(timer_ns, {EventKind::timer, 0, flow, 0});
  }
  Readout& readout = readouts_[readout_of(flow)];
  if (readout.barrel) readout.links[flow % network_.dcms].unsent_bytes = from.sender.unsent();
}

void PushModel::transmit(const Event& packet) {
  ++result_.packets.sent;
  const auto left_ns = readouts_[readout_of(packet.index)].link.enter(wire_bytes(packet), now_ns_);
  if (!left_ns) {
    ++result_.packets.drops_readout;
    return damage(packet);
  }
  ++result_.packets.on_the_way;
  queue_.push(*left_ns + network_.readout_way_ns, packet);
}

void PushModel::at_switch(const Event& packet) {
  const std::uint32_t uplink = readout_of(packet.index) / network_.readouts_per_switch;
  const std::uint32_t bytes = wire_bytes(packet);
  const auto left_ns = uplinks_[uplink].enter(bytes, now_ns_);
  if (!left_ns) {
    --result_.packets.on_the_way;
    ++result_.packets.drops_uplink;
    return damage(packet);
  }
  if (network_.bit_error_rate > 0 &&
      errors_.chance(-std::expm1(kBitsPerByte * bytes * std::log1p(-network_.bit_error_rate)))) {
    --result_.packets.on_the_way;
    ++result_.packets.bit_errors;
    return damage(packet);
  }
  Event next = packet;
  next.kind = EventKind::at_port;
  queue_.push(*left_ns + network_.uplink_way_ns, next);
}

// A port passes its packets in order, so that the receiving side can see them now already.
void PushModel::at_port(const Event& packet) {
  const auto left_ns = ports_[packet.index % network_.dcms].enter(wire_bytes(packet), now_ns_);
  --result_.packets.on_the_way;
  if (!left_ns) {
    ++result_.packets.drops_port;
    return damage(packet);
  }
  ++result_.packets.delivered;
  const TimeNs at_ns = *left_ns + network_.dcm_way_ns;
  if (traffic_.transport == PushTransport::udp) return receive_datagram(packet, at_ns);
  receive(packet, at_ns);
}

void PushModel::receive(const Event& packet, TimeNs at_ns) {
  Flow& flow = flows_[packet.index];
  if (packet.number == kSyn) {
    queue_.push(at_ns + back_ns_, {EventKind::acknowledgement, 0, packet.index, kSyn});
    return;
  }
  const std::uint32_t before = flow.receiver.next();
  const std::uint32_t next = flow.receiver.segment(packet.number);
  if (next > before) complete_parts(flow, at_ns);
  queue_.push(at_ns + back_ns_, {EventKind::acknowledgement, 0, packet.index, next});
}

void PushModel::complete_parts(Flow& flow, TimeNs at_ns) {
  const std::uint32_t received = flow.sender.end_of(flow.receiver.next() - 1);
  while (flow.first_part != kNone && parts_[flow.first_part].end <= received) {
    const std::uint32_t number = flow.first_part;
    const Part& part = parts_[number];
    Fragment& fragment = fragments_[part.fragment];
    WEIR_ASSERT(part.length <= fragment.left);
    fragment.left -= part.length;
    if (fragment.left == 0) deliver(part.fragment, at_ns);
    flow.first_part = part.next;
    if (flow.first_part == kNone) flow.last_part = kNone;
    free_parts_.push_back(number);
  }
}

void PushModel::receive_datagram(const Event& packet, TimeNs at_ns) {
  const std::uint32_t number = fragment_of(readout_of(packet.index), packet.number);
  Fragment& fragment = fragments_[number];
  WEIR_ASSERT(fragment.left > 0);
  if (--fragment.left == 0 && !fragment.damaged) deliver(number, at_ns);
}

void PushModel::deliver(std::uint32_t fragment, TimeNs at_ns) {
  if (at_ns > end_ns_) return;
  result_.delays[fragment] = at_ns - fragments_[fragment].due_ns;
  ++result_.delivered;
  Readout& from = readouts_[fragment % network_.readouts];
  if (from.barrel) from.barrel->forget(SliceId{fragment / network_.readouts});
}

void PushModel::damage(const Event& packet) {
  if (traffic_.transport == PushTransport::tcp) return;
  Fragment& fragment = fragments_[fragment_of(readout_of(packet.index), packet.number)];
  WEIR_ASSERT(fragment.left > 0);
  --fragment.left;
  if (!std::exchange(fragment.damaged, true)) ++result_.damaged;
}

void PushModel::acknowledged(const Event& event) {
  Flow& flow = flows_[event.index];
  if (event.number == kSyn) {
    flow.sender.opened(now_ns_);
  } else {
    flow.sender.acknowledged(event.number, now_ns_);
  }
  const std::uint32_t unsent = flow.sender.unsent();
  pump(event.index);
  const std::uint32_t readout = readout_of(event.index);
  if (readouts_[readout].barrel && flow.sender.unsent() < unsent) push(readout);
}

void PushModel::fire_timer(std::uint32_t number) {
  Flow& flow = flows_[number];
  if (flow.timer_event_ns != now_ns_) return;
  flow.timer_event_ns = 0;
  const TimeNs due_ns = flow.sender.timer_at_ns();
  if (due_ns > 0 && due_ns <= now_ns_) flow.sender.timer(now_ns_);
  pump(number);
}

PushResult PushModel::result() {
  for (const Flow& flow : flows_) {
    result_.segments += flow.sender.sent();
    result_.retransmitted += flow.sender.retransmitted();
    result_.timeouts += flow.sender.timeouts();
  }
  const PushPackets& packets = result_.packets;
  WEIR_ASSERT(packets.sent == packets.delivered + packets.drops_readout + packets.drops_uplink +
                                  packets.drops_port + packets.bit_errors + packets.on_the_way);
  WEIR_ASSERT(result_.delivered + result_.damaged + result_.cut_off <= result_.produced);
  return std::move(result_);
}

}  // namespace weir::packet_model
