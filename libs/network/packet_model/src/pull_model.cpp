// The hosts and their processes; pull_path.cpp models the path between them.
#include <weir/packet_model/pull_model.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace weir::packet_model {
namespace {

constexpr DurationNs kTick = 5 * kMillisecond;  // a node's loop turns
constexpr DurationNs kShareEvery =
    200 * kMillisecond;  // interval at which the supervisor announces the DCMs that share a port
constexpr DurationNs kStartMin = 50 * kMillisecond;
constexpr double kIdleRoundTrip = 100e3;  // ns; the farm file's default
constexpr int kTraceLines = 100;
constexpr std::size_t kAnswersInPass = 64;
constexpr DurationNs kLocalWay = 10 * kMicrosecond;
constexpr DurationNs kForeignWay = 500 * kMicrosecond;
constexpr double kForeignUplink = 1e9;
constexpr std::uint64_t kEndless = 1ULL << 50U;

// CPU time of a pass of readouts and DCMs (MEASURED: 20 us per exchange, 0.2 ns per byte).
constexpr double kPassNs = 3000;
constexpr double kSocketNs = 2000;
constexpr double kByteNs = 0.2;
constexpr double kQuestionNs = 500;

std::unique_ptr<shaping::Shaper> make_shaper(const PullNetwork& network, std::uint32_t dcm,
                                             const ShaperSpec& spec, double port_known) {
  shaping::ShaperSettings settings;
  settings.readouts = network.dcms[dcm].readouts;
  settings.only_dcm = network.dcms.size() == 1 || network.strangers;
  const LinkSpec& port = network.ports[network.dcms[dcm].port];
  settings.port_buffer_bytes = static_cast<std::uint64_t>(port_known * port.buffer_bytes);
  settings.port_round_trip_bytes =
      static_cast<std::uint64_t>(port_known * rate_at(port, 0) / 8e9 * kIdleRoundTrip);
  if (spec.window_bytes > 0) settings.window_bytes = spec.window_bytes;
  auto made = shaping::make_shaper(spec.name, settings);
  if (!made) throw std::runtime_error("'" + spec.name + "' is not a shaper");
  for (std::uint32_t readout = 0; readout < settings.readouts; ++readout)
    (*made)->connected(readout, network.tcp.selective);
  return std::move(*made);
}

}  // namespace

std::string ShaperSpec::text() const {
  if (window_bytes == 0) return name;
  if (window_bytes % 1'000'000 == 0) return name + ":" + std::to_string(window_bytes / 1'000'000) + "M";
  return name + ":" + std::to_string(window_bytes / 1000) + "k";
}

PullModel::PullModel(const PullNetwork& network, const ShaperSpec& shaper, const PullRunSpec& settings)
    : network_(network), shaper_(shaper), settings_(settings), losses_(network.seed ^ 0x105e5) {
  for (std::size_t i = 0; i < network_.readouts.size(); ++i) {
    LinkSpec uplink;
    uplink.rates = {{0, network_.readouts[i].uplink_bits_per_s}};
    readouts_.push_back(
        {HostProcess(network_.readouts[i].cpu, network_.seed * 7919 + i), ByteLink(uplink), {}, {}, {}});
  }
  for (const LinkSpec& port : network_.ports) ports_.emplace_back(port);
  for (const LinkSpec& core : network_.core) core_.emplace_back(core);
  for (const LinkSpec& line : network_.line) line_.emplace_back(line);
  for (std::uint32_t d = 0; d < network_.dcms.size(); ++d) {
    dcms_.push_back({HostProcess(network_.dcms[d].cpu, network_.seed * 104729 + d),
                     FragmentRequester(network_, d, make_shaper(network_, d, shaper_, settings_.port_known)),
                     0,
                     false,
                     0,
                     {},
                     {}});
  }
  add_connections();
}

void PullModel::add_connections() {
  for (std::uint32_t d = 0; d < network_.dcms.size(); ++d) {
    const DcmSpec& dcm = network_.dcms[d];
    dcms_[d].first_connection = static_cast<std::uint32_t>(connections_.size());
    for (std::uint32_t r = 0; r < dcm.readouts; ++r) {
      const std::uint32_t readout = dcm.first_readout + r;
      const auto index = static_cast<std::uint32_t>(connections_.size());
      const bool local = same_host(network_, dcm, readout);
      connections_.push_back(
          {.dcm = d,
           .readout = readout,
           .local = local,
           .over_line = network_.readouts[readout].over_line,
           .way_ns = local ? kLocalWay : network_.readouts[readout].round_trip_ns / 2,
           .port = dcm.port,
           .back_link = network_.hosts_together ? dcm.port : UINT32_MAX,
           .sender = TcpSender(index, local ? 2 * kLocalWay : network_.readouts[readout].round_trip_ns,
                               network_.tcp, *this)});
    }
  }
  for (std::uint32_t i = 0; i < network_.foreign.size(); ++i) {
    if (network_.foreign[i].udp_bits_per_s <= 0) add_greedy(i);
  }
}

void PullModel::add_greedy(std::uint32_t index) {
  const OtherTraffic& foreign = network_.foreign[index];
  LinkSpec uplink;
  uplink.rates = {{0, std::max(kForeignUplink, rate_at(network_.ports[foreign.port], 0))}};
  readouts_.push_back({HostProcess({}, index), ByteLink(uplink), {}, {}, {}});
  const auto connection = static_cast<std::uint32_t>(connections_.size());
  connections_.push_back({.readout = static_cast<std::uint32_t>(readouts_.size() - 1),
                          .greedy = true,
                          .way_ns = kForeignWay,
                          .port = foreign.port,
                          .sender = TcpSender(connection, 2 * kForeignWay, {}, *this)});
  queue_.push(foreign.from_ns, {.kind = PullEventKind::foreign_starts, .index = connection, .first = 1});
  if (foreign.until_ns > 0)
    queue_.push(foreign.until_ns, {.kind = PullEventKind::foreign_starts, .index = connection});
}

void PullModel::begin() {
  warm_ns_ = network_.length_ns / 8;
  DurationNs longest = 0;
  for (const Connection& connection : connections_) longest = std::max(longest, 2 * connection.way_ns);
  start_ns_ = std::min(std::max(kStartMin, 10 * longest), network_.length_ns / 2);
  for (std::uint32_t d = 0; d < dcms_.size(); ++d) {
    queue_.push(static_cast<TimeNs>(d) * 37 * kMicrosecond, {.kind = PullEventKind::dcm_tick, .index = d});
    if (network_.dcms[d].slices_per_s > 0) queue_.push(1, {.kind = PullEventKind::trigger, .index = d});
  }
  for (std::uint32_t i = 0; i < network_.foreign.size(); ++i) {
    const OtherTraffic& foreign = network_.foreign[i];
    if (foreign.udp_bits_per_s > 0)
      queue_.push(foreign.from_ns, {.kind = PullEventKind::foreign_packet, .index = i});
  }
  if (dcms_.size() > 1 && !network_.strangers) queue_.push(0, {.kind = PullEventKind::share});
  if (settings_.trace) queue_.push(network_.length_ns / kTraceLines, {.kind = PullEventKind::trace});
}

RunResult PullModel::run() {
  begin();
  while (!queue_.empty()) {
    const TimeNs at = queue_.next_ns();
    note_marks(std::min(at, network_.length_ns));
    if (at > network_.length_ns) break;
    now_ns_ = at;
    ++events_;
    handle(queue_.pop());
  }
  now_ns_ = network_.length_ns;
  return result();
}

void PullModel::note_marks(TimeNs at_ns) {
  if (now_ns_ < warm_ns_ && at_ns >= warm_ns_) warm_payload_ = payload();
  if (now_ns_ < start_ns_ && at_ns >= start_ns_) start_payload_ = payload();
  if (now_ns_ < kSecond && at_ns >= kSecond) early_drops_ = drops();
}

void PullModel::handle(const PullEvent& event) {
  switch (event.kind) {
    case PullEventKind::segment:
      return hop(event);
    case PullEventKind::acknowledgement:
    case PullEventKind::requests:
      return hop_back(event);
    case PullEventKind::sender_timer: {
      Connection& connection = connections_[event.index];
      if (connection.timer_event_ns != now_ns_) return;
      connection.timer_event_ns = 0;
      const TimeNs at = connection.sender.timer_at_ns();
      if (at > 0 && at <= now_ns_) connection.sender.timer(now_ns_);
      return arm(event.index);
    }
    case PullEventKind::delayed_ack: {
      Connection& connection = connections_[event.index];
      connection.delayed_ack = false;
      if (connection.receiver.owes_ack()) acknowledge(event.index, connection.receiver.take_ack());
      return;
    }
    case PullEventKind::readout_pass:
      return readout_pass(event.index);
    case PullEventKind::handed_over:
      return handed_over(event.index);
    case PullEventKind::dcm_pass:
      return dcm_pass(event.index);
    case PullEventKind::dcm_sends:
      return dcm_sends(event.index);
    case PullEventKind::dcm_tick:
      wake(dcms_[event.index], event.index);
      return queue_.push(now_ns_ + kTick, event);
    case PullEventKind::trigger:
      dcms_[event.index].collector.trigger();
      wake(dcms_[event.index], event.index);
      return queue_.push(now_ns_ + static_cast<DurationNs>(1e9 / network_.dcms[event.index].slices_per_s),
                         event);
    case PullEventKind::foreign_packet:
      return foreign_packet(event);
    case PullEventKind::foreign_starts:
      return begin_foreign(event);
    case PullEventKind::share:
      return share();
    case PullEventKind::trace:
      return trace();
  }
}

void PullModel::begin_foreign(const PullEvent& event) {
  TcpSender& sender = connections_[event.index].sender;
  if (event.first > 0) {
    sender.write(kEndless, now_ns_);
  } else {
    sender.stop();
  }
  arm(event.index);
}

void PullModel::requested(const PullEvent& event) {
  Connection& connection = connections_[event.index];
  Readout& readout = readouts_[connection.readout];
  for (std::uint32_t i = 0; i < event.first; ++i) {
    readout.asked.emplace_back(event.index, connection.on_way.front());
    readout.arrived_ns.push_back(now_ns_);
    connection.on_way.pop_front();
  }
  wake(readout, connection.readout);
}

void PullModel::wake(Readout& readout, std::uint32_t index) {
  if (std::exchange(readout.awake, true)) return;
  queue_.push(readout.process.wakes(now_ns_), {.kind = PullEventKind::readout_pass, .index = index});
}

void PullModel::readout_pass(std::uint32_t index) {
  Readout& readout = readouts_[index];
  double cost = kPassNs;
  std::size_t count = 0;
  for (; count < kAnswersInPass && count < readout.asked.size(); ++count) {
    const Question& question = readout.asked[count].second;
    const std::uint32_t left = question.total > question.offset ? question.total - question.offset : 0;
    cost += readout.process.cpu().request_us * 1000 + kByteNs * std::min(left, question.length);
  }
  const TimeNs handed = now_ns_ + static_cast<DurationNs>(cost);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [number, question] = readout.asked.front();
    Connection& connection = connections_[number];
    const std::uint32_t left = question.total > question.offset ? question.total - question.offset : 0;
    const std::uint32_t payload = std::min(left, question.length);
    connection.written += payload + kHeaderBytes;
    connection.answers.push_back(
        {question, payload, connection.written, handed - readout.arrived_ns.front(), 0});
    auto& writes = readout.to_write;
    const auto found =
        std::find_if(writes.begin(), writes.end(), [n = number](const auto& one) { return one.first == n; });
    if (found == writes.end()) {
      writes.emplace_back(number, payload + kHeaderBytes);
    } else {
      found->second += payload + kHeaderBytes;
    }
    readout.asked.pop_front();
    readout.arrived_ns.pop_front();
  }
  queue_.push(handed, {.kind = PullEventKind::handed_over, .index = index});
}

void PullModel::handed_over(std::uint32_t index) {
  Readout& readout = readouts_[index];
  for (const auto& [connection, bytes] : readout.to_write) {
    connections_[connection].sender.write(bytes, now_ns_);
    arm(connection);
  }
  readout.to_write.clear();
  readout.awake = !readout.asked.empty();
  if (readout.awake)
    queue_.push(readout.process.goes_on(now_ns_), {.kind = PullEventKind::readout_pass, .index = index});
}

void PullModel::wake(Dcm& dcm, std::uint32_t index) {
  if (std::exchange(dcm.awake, true)) return;
  queue_.push(dcm.process.wakes(now_ns_), {.kind = PullEventKind::dcm_pass, .index = index});
}

void PullModel::dcm_pass(std::uint32_t index) {
  Dcm& dcm = dcms_[index];
  std::uint64_t bytes = 0;
  for (const std::uint32_t number : dcm.readable) bytes += read(dcm, connections_[number]);
  double cost =
      kPassNs + kSocketNs * static_cast<double>(dcm.readable.size()) + kByteNs * static_cast<double>(bytes);
  dcm.readable.clear();
  if (dcm.collector.shaper().learns()) tell_losses(dcm);
  asked_.clear();
  dcm.collector.pass(now_ns_, asked_);
  for (const Question& question : asked_) {
    const std::uint32_t number = dcm.first_connection + question.readout;
    Connection& connection = connections_[number];
    connection.on_way.push_back(question);
    if (connection.to_send++ == 0) dcm.sends.push_back(number);
    cost += kQuestionNs;
  }
  cost += kSocketNs * static_cast<double>(dcm.sends.size());
  queue_.push(now_ns_ + static_cast<DurationNs>(cost), {.kind = PullEventKind::dcm_sends, .index = index});
}

std::uint64_t PullModel::read(Dcm& dcm, Connection& connection) {
  connection.readable = false;
  const std::uint64_t before = connection.read;
  const std::uint64_t here = connection.receiver.in_order();
  while (connection.read < here) {
    const Answer answer = connection.answers.front();
    const std::uint64_t upto = std::min(here, answer.end);
    dcm.collector.arrived(answer.question, upto - connection.read, now_ns_);
    connection.read = upto;
    if (upto < answer.end) break;
    const DurationNs host = settings_.host_times ? answer.host_ns + now_ns_ - answer.here_ns : 0;
    dcm.collector.answered(answer.question, answer.payload, host, now_ns_);
    connection.answers.pop_front();
    --connection.stamped;
  }
  return here - before;
}

void PullModel::tell_losses(Dcm& dcm) {
  if (now_ns_ - dcm.looked_ns < shaping::kLookEvery) return;
  dcm.looked_ns = now_ns_;
  shaping::Shaper& shaper = dcm.collector.shaper();
  const std::uint32_t readouts = network_.dcms[connections_[dcm.first_connection].dcm].readouts;
  for (std::uint32_t r = 0; r < readouts; ++r) {
    Connection& connection = connections_[dcm.first_connection + r];
    const std::uint64_t again = connection.sender.retransmissions();
    const std::uint64_t fresh = again - std::exchange(connection.told_retransmissions, again);
    if (fresh > 0) shaper.retransmitted(r, fresh, now_ns_);
  }
}

void PullModel::dcm_sends(std::uint32_t index) {
  Dcm& dcm = dcms_[index];
  for (const std::uint32_t number : dcm.sends) {
    Connection& connection = connections_[number];
    if (connection.receiver.owes_ack()) acknowledge(number, connection.receiver.take_ack());
    send_back({.kind = PullEventKind::requests, .index = number, .first = connection.to_send});
    connection.to_send = 0;
  }
  dcm.sends.clear();
  dcm.awake = !dcm.readable.empty();
  if (dcm.awake) {
    queue_.push(dcm.process.goes_on(now_ns_), {.kind = PullEventKind::dcm_pass, .index = index});
    return;
  }
  const TimeNs again = dcm.collector.shaper().next_ns();
  if (again == shaping::kNever || !dcm.collector.wants()) return;
  dcm.awake = true;
  queue_.push(std::max(again, now_ns_ + kMicrosecond), {.kind = PullEventKind::dcm_pass, .index = index});
}

bool PullModel::shares_core() const {
  if (!settings_.core_known || network_.core.empty()) return false;
  double ports = 0;
  for (const LinkSpec& port : network_.ports) ports += rate_at(port, now_ns_);
  return rate_at(network_.core[0], now_ns_) < ports;
}

void PullModel::share() {
  const bool core = shares_core();
  for (Dcm& dcm : dcms_) {
    const std::uint32_t port = network_.dcms[connections_[dcm.first_connection].dcm].port;
    shaping::PortShare share{0, 0};
    for (Dcm& other : dcms_) {
      if (!core && network_.dcms[connections_[other.first_connection].dcm].port != port) continue;
      ++share.members;
      const DurationNs base = other.collector.shaper().base_ns();
      if (base > 0 && (share.base_ns == 0 || base < share.base_ns)) share.base_ns = base;
    }
    if (share.members > 1) dcm.collector.shaper().set_share(share);
  }
  queue_.push(now_ns_ + kShareEvery, {.kind = PullEventKind::share});
}

}  // namespace weir::packet_model
