#include "readout_node.hpp"

#include "source_report.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/held_up.hpp>
#include <weir/last_words/last_words.hpp>
#include <weir/node/address_in_use.hpp>
#include <weir/node/refused.hpp>
#include <weir/node/report.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/ports/utc_at.hpp>
#include <weir/reports/source_counts.hpp>
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::readout {
namespace {

// Work per pass on slices to be made, so that requests are not kept waiting by a burst of announcements.
constexpr std::size_t kSlicesPerPass = 1024;
constexpr std::size_t kFragmentsPerPass =
    1U << 17U;  // whatever the number of slices: the loop serves connections, too
// Connections of one DCM: the present one, and lost ones that this side has not noticed yet.
constexpr std::ptrdiff_t kConnectionsOfDcmMax = 4;

}  // namespace

ReadoutNode::ReadoutNode(const node::Setup& setup, ReadoutEnvironment environment)
    : settings_(node_settings(setup)),
      environment_(std::move(environment)),
      identity_(settings_.member.identity),
      steps_(settings_.steps ? std::make_unique<StepCheck>(*settings_.steps, settings_.sources.sources)
                             : nullptr),
      front_end_(settings_.front_end ? FrontEnd::make(*settings_.front_end, environment_) : nullptr),
      injector_(settings_.fault_seed),
      buffer_(front_end_ ? front_end_->sources(steps_.get())
                         : make_sources(settings_.sources, injector_, steps_.get(), recording_),
              settings_.buffer),
      losses_(settings_.loss_share_max),
      push_(settings_.push ? std::make_unique<PushSender>(*settings_.push) : nullptr),
      truth_(settings_.truth),
      timings_(environment_.clock),
      supervisor_(identity_, settings_.member.limits, peer_counters_, settings_.member.supervisor,
                  settings_.member.reconnect_ns, settings_.member.status_interval_ns, *this,
                  settings_.member.reports) {
  now_ns_ = environment_.clock.now_ns();
  if (settings_.numbers && front_end_)
    numbers_.emplace(*settings_.numbers, std::vector(buffer_.sources().begin(), buffer_.sources().end()));
  if (front_end_) front_end_->attach(buffer_, *this, losses_, numbers_ ? &*numbers_ : nullptr);
  listen();
}

void ReadoutNode::listen() {
  sessions::PeerHandler& handler = *this;
  const auto open = [&](const ports::Endpoint& place) {
    auto& listener = listeners_.emplace_back(std::make_unique<sessions::SessionListener>(
        identity_, handler, settings_.member.limits, peer_counters_, now_ns_));
    auto at = listener->open(environment_.network, place);
    if (!at) node::throw_listen_failure(at.error());
    spdlog::info("listening at={} sources={}", ports::to_text(*at), identity_.sources.size());
    return *at;
  };
  identity_.listen = open(settings_.member.listen);
  for (const ports::Endpoint& plane : settings_.member.planes) identity_.planes.push_back(open(plane));
}

void ReadoutNode::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  for (const auto& listener : listeners_) listener->tick();
  supervisor_.tick(environment_.network, now_ns);
  if (run_begun_ && !ended_) buffer_.tick(now_ns, *this);
  make_announced();
  if (front_end_) front_end_->pass(now_ns);
  if (numbers_ && run_begun_ && !ended_ && supervisor_.ready()) numbers_->tell(supervisor_, now_ns);
  note_peaks();
  tell_throttle();
  tell_steps();
  hold_back_slow_peers();
  std::fill(served_.begin(), served_.end(), 0);
  push();
  answers_.flush();
  timings_.tell([this](std::uint64_t tag) { return connections_[tag]; });
}

void ReadoutNode::note_peaks() {
  const source::BufferCounters& buffer = buffer_.counters();
  bytes_peak_ = std::max(bytes_peak_, buffer.bytes_held + buffer.bytes_reserved + buffer.bytes_early);
  slices_peak_ = std::max(slices_peak_, buffer.slices_held);
}

// Pushes due fragments, each taken from the buffer as if it were requested.
void ReadoutNode::push() {
  if (!push_ || !run_begun_ || ended_) return;
  auto& links = push_->links();
  const auto look_at = [&](std::size_t dcm) {
    const sessions::Peer* peer = dcm < dcms_.size() ? dcms_[dcm] : nullptr;
    links[dcm] = {peer != nullptr, peer == nullptr ? 0 : peer->unsent_bytes()};
  };
  for (std::size_t dcm = 0; dcm < links.size(); ++dcm) look_at(dcm);
  while (const auto piece = push_->next(now_ns_)) {
    source::RequestedFragment request;
    request.connection = static_cast<std::uint32_t>(dcms_[piece->dcm]->tag);
    request.slice = piece->slice;
    request.source = push_->source(piece->source);
    request.offset = piece->offset;
    request.length = piece->length;
    buffer_.request(request, *this);
    look_at(piece->dcm);
  }
}

// Registers for the buffer's notification of each fragment: immediate, or once it was made or has arrived.
void ReadoutNode::expect_to_push(UtcNs supervisor_utc) {
  const TimeNs now = environment_.clock.now_ns();
  const UtcNs utc = ports::utc_at(environment_.clock, now);
  if (supervisor_utc != 0) push_->compare_clocks(supervisor_utc, utc, now);
  for (const source::Trigger& trigger : fresh_) {
    push_->expect(trigger.slice, push_->timing().moment(trigger.time, now, utc) + trigger.duration);
    source::RequestedFragment probe;
    probe.connection = PushSender::kProbe;
    probe.slice = trigger.slice;
    for (const SourceId source : buffer_.sources()) {
      probe.source = source;
      buffer_.request(probe, *this);
    }
  }
}

void ReadoutNode::make_announced() {
  if (!run_begun_ || ended_) return;
  while (!backlog_.empty()) {
    triggers_.assign(backlog_.begin(), backlog_.end());
    const std::size_t taken = buffer_.announce(triggers_, *this);
    if (taken > 0) last_words::note_slice(triggers_[taken - 1].slice);
    if (taken > 0 && numbers_) numbers_->announced(triggers_[taken - 1].slice, triggers_[taken - 1].time);
    backlog_.erase(backlog_.begin(), backlog_.begin() + static_cast<std::ptrdiff_t>(taken));
    if (taken < triggers_.size()) break;
  }
  injector_.tick(now_ns_);
  const std::size_t sources = std::max<std::size_t>(1, buffer_.sources().size());
  (void)buffer_.make_some(std::clamp<std::size_t>(kFragmentsPerPass / sources, 1, kSlicesPerPass), *this);
  if (injector_.has_sources()) injector_.pass(now_ns_, buffer_, *this);
}

slice_rows::HoldReason ReadoutNode::fullest() const {
  switch (buffer_.fullest()) {
    case source::Throttle::slices:
      return slice_rows::HoldReason::readout_buffer_slices;
    case source::Throttle::announced:
      return slice_rows::HoldReason::readout_backlog;
    default:
      return slice_rows::HoldReason::readout_buffer_bytes;
  }
}

void ReadoutNode::tell_throttle() {
  if (!supervisor_.ready()) return;
  const bool on = buffer_.throttle() != source::Throttle::none;
  if (const auto message = throttle_.look(on, fullest(), buffer_.level())) supervisor_.send(*message);
}

void ReadoutNode::tell_steps() {
  if (!steps_ || !run_begun_ || !supervisor_.ready()) return;
  if (numbers_ && numbers_->take_news()) steps_->set_jumped(numbers_->delivering(), numbers_->jumped());
  if (const auto message = steps_->take_message(now_ns_)) supervisor_.send(*message);
}

// ---- supervisor

void ReadoutNode::on_supervisor_ready() {
  throttle_.forget();
  if (numbers_) numbers_->repeat();
  if (steps_) steps_->forget();
}

void ReadoutNode::on_begin_run(const v1::BeginRun& begin) {
  if (run_begun_) {
    if (numbers_ && !begin.on()) numbers_->stood_still(SliceId(begin.first_slice()));
    return supervisor_.send_begun(failure_);
  }
  run_begun_ = true;
  buffer_.begin_run(RunNumber(begin.run()));
  if (steps_) steps_->begin_run();
  losses_.begin_run();
  injector_.begin_run(now_ns_);
  buffer_.tick(now_ns_, *this);  // the beginning of its wait for announced slices
  // Slices from before this process took part: their data are nowhere.
  if (begin.first_slice() > 0) buffer_.advance_watermark(SliceId(begin.first_slice() - 1), *this);
  for (const std::uint64_t slice : begin.before()) buffer_.miss(SliceId(slice), *this);
  received_.reset();
  if (begin.first_slice() > 0) received_ = SliceId(begin.first_slice() - 1);
  if (numbers_) numbers_->begin_run(SliceId(begin.first_slice()));
  if (numbers_ && !begin.on()) numbers_->stood_still(SliceId(begin.first_slice()));
  recall_jumps();
  if (front_end_)
    failure_ = front_end_->begin_run(RunNumber(begin.run()), SliceId(begin.first_slice()), begin.on());
  supervisor_.send_begun(failure_);
  if (!failure_.empty()) return;
  spdlog::info("run began first_slice={} missed={}", begin.first_slice(), begin.before_size());
}

void ReadoutNode::recall_jumps() {
  if (!numbers_ || !steps_) return;
  for (const steps::Slipped& one : steps_->named()) numbers_->recall(one);
}

Expected<void, wire::WireError> ReadoutNode::on_supervisor_message(const v1::Control& message) {
  switch (message.body_case()) {
    case v1::Control::kAnnounce:
      return take_announcements(message.announce());
    case v1::Control::kClear:
      slice_codec::decode(message.clear(), cleared_);
      clear();
      turn_on_.settle(cleared_);
      return {};
    case v1::Control::kOpenSlices:
      clear_all_but(message.open_slices());
      return {};
    case v1::Control::kStepVerdict:
      if (!steps_) break;
      steps_->take_verdict(message.step_verdict());
      recall_jumps();
      return {};
    case v1::Control::kDestinations:
      return take_destinations(message.destinations());
    default:
      break;
  }
  return Unexpected<wire::WireError>(wire::WireError::not_expected);
}

void ReadoutNode::clear() {
  if (front_end_) front_end_->cleared(cleared_.slices);
  if (numbers_) skip_vetoed();
  buffer_.clear(cleared_.slices, *this);
  if (!push_) return;
  for (const SliceId slice : cleared_.slices) push_->settled(slice);
}

// Numbers are announced in ascending order: one that is cleared above all announced ones was vetoed.
void ReadoutNode::skip_vetoed() {
  std::vector<SliceId>& cleared = cleared_.slices;
  const auto vetoed = std::stable_partition(
      cleared.begin(), cleared.end(), [this](SliceId slice) { return received_ && slice <= *received_; });
  if (vetoed == cleared.end()) return;
  std::sort(vetoed, cleared.end());
  buffer_.skip({vetoed, cleared.end()}, *this);
  numbers_->announced(cleared.back(), std::nullopt);
  cleared.erase(vetoed, cleared.end());
}

// The supervisor's last clears may not have been sent, or were lost with the connection.
void ReadoutNode::clear_all_but(const v1::OpenSlices& open) {
  std::vector<SliceId> kept = slice_codec::decode(open);
  std::sort(kept.begin(), kept.end());
  std::vector<SliceId>& cleared = cleared_.slices;
  cleared.clear();
  buffer_.list_open(cleared);
  for (const source::Trigger& trigger : backlog_) cleared.push_back(trigger.slice);
  std::erase_if(cleared, [&](SliceId slice) { return std::binary_search(kept.begin(), kept.end(), slice); });
  clear();
  turn_on_.forget_all_but(kept);
}

Expected<void, wire::WireError> ReadoutNode::take_destinations(const v1::Destinations& message) {
  if (!push_) return node::refused({"Destinations", "epochs", 0});
  const auto taken = push_->take_destinations(message);
  if (!taken) return node::refused(taken.error());
  return {};
}

Expected<void, wire::WireError> ReadoutNode::take_announcements(const v1::Announce& announce) {
  const auto taken = slice_codec::decode(announce, announced_);
  if (!taken) return node::refused(taken.error());
  fresh_.clear();
  for (const slice_rows::Announcement& one : announced_) {
    if (announce.again() && is_announced(one.slice)) continue;
    fresh_.push_back({one.slice, one.info.time, one.info.duration, one.info.type});
  }
  for (const source::Trigger& trigger : fresh_) {
    turn_on_.expect(trigger.slice, truth_.record(settings_.member.identity.run, trigger));
    backlog_.push_back(trigger);
    received_ = std::max(received_.value_or(trigger.slice), trigger.slice);
  }
  if (steps_) steps_->announced(fresh_, buffer_);
  if (front_end_ && run_begun_ && !ended_) front_end_->announced(fresh_);
  make_announced();
  if (push_) expect_to_push(announce.utc_ns());
  return {};
}

bool ReadoutNode::is_announced(SliceId slice) const {
  return buffer_.is_open(slice) ||
         std::any_of(backlog_.begin(), backlog_.end(),
                     [slice](const source::Trigger& trigger) { return trigger.slice == slice; });
}

void ReadoutNode::on_end_run() {
  if (front_end_) front_end_->end_run();
  if (push_) push_->end_run();
  injector_.end_run();
  if (run_begun_) buffer_.end_run(*this);
  ended_ = true;
}

bool ReadoutNode::finished() const { return signalled_ || !failure_.empty() || supervisor_.finished(); }

void ReadoutNode::on_signal(std::string_view signal_name) {
  spdlog::warn("ending signal={}", signal_name);
  signalled_ = true;
}

v1::Report ReadoutNode::make_report(bool final) {
  v1::Report report = node::begin_report(settings_.member.identity, settings_.member.ran, now_ns_, final);
  report.mutable_ran()->MergeFrom(recording_);
  reports::ReportCounters counters(report);
  const source::BufferCounters& buffer = buffer_.counters();
  counters["fragments.produced"] = buffer.produced;
  counters["fragments.cleared"] = buffer.cleared;
  counters["fragments.held"] = buffer.held;
  counters["fragments.served"] = buffer.served;
  counters["fragments.bytes_produced"] = buffer.bytes_produced;
  for (std::size_t i = 0; i < buffer.dropped.size(); ++i) {
    const auto reason = static_cast<source::DropReason>(i);
    if (buffer.dropped[i] > 0) counters.of("fragments.dropped.", source::name(reason)) = buffer.dropped[i];
  }
  for (std::size_t i = 1; i < buffer.missing.size(); ++i) {
    if (buffer.missing[i] == 0) continue;
    counters.of("readout.missing.", name(static_cast<MissingReason>(i))) = buffer.missing[i];
  }
  counters["readout.announced"] = buffer.announced;
  counters["readout.made"] = buffer.made;
  counters["readout.never_made"] = buffer.never_made;
  counters["readout.parked"] = buffer.parked_total;
  counters["readout.clears_unknown"] = buffer.clears_unknown;
  counters["readout.held_back"] = held_back_;
  if (front_end_) {
    counters["readout.not_arrived"] = buffer.not_arrived;
    counters["readout.passed_absent"] = buffer.passed_absent;
    front_end_->add_to(report);
    if (numbers_) numbers_->add_to(report);
    for (const std::string& text : silent_sources_.update(buffer_, now_ns_)) spdlog::warn(text);
    if (!ended_) reports::note_silent_sources(report, silent_sources_.text());
  }
  for (std::size_t i = 0; i < emulation::kInjectedFaults; ++i) {
    const auto fault = static_cast<emulation::InjectedFault>(i);
    if (injector_.counts()[i] > 0) counters.of("injected.", emulation::name(fault)) = injector_.counts()[i];
  }
  if (injector_.not_delayed() > 0) counters.of("injected.", "not_delayed") = injector_.not_delayed();
  if (push_) push_->add_to(report);
  turn_on_.add_to(report);
  if (steps_) steps_->add_to(report);
  add_losses(report);
  add_sources(report, buffer_, now_ns_, environment_.clock.utc_ns());
  reports::Gauges gauges(report);
  gauges["slices_in_flight"] = static_cast<double>(buffer.slices_held);
  gauges["buffer_bytes_used"] =
      static_cast<double>(buffer.bytes_held + buffer.bytes_reserved + buffer.bytes_early);
  node::add_network(report, environment_.stream_totals(), peer_counters_);
  node::add_process(report);
  loop_time_.add_to(report);
  gauges["buffer_bytes_peak"] = static_cast<double>(bytes_peak_);
  gauges["slices_held_peak"] = static_cast<double>(slices_peak_);
  gauges["buffer_level"] = buffer_.level();
  report.set_state(buffer_.throttle() == source::Throttle::none
                       ? "running"
                       : held_up_state(Hold::throttled, slice_rows::name(fullest()), identity_.name));
  return report;
}

// Names the sources that lose too much: in the log when they begin to, in each report from then on.
void ReadoutNode::add_losses(v1::Report& report) {
  using Stage = reports::LossWatch::Stage;
  buffer_.for_each_drops([&](SourceId source, const source::SourceDrops& drops) {
    losses_.set_reached(source, Stage::fragments, drops.reached);
    for (std::size_t i = 0; i < drops.dropped.size(); ++i) {
      const auto reason = static_cast<source::DropReason>(i);
      if (reason == source::DropReason::run_ended || reason == source::DropReason::not_triggered) continue;
      losses_.set_lost(source, Stage::fragments, source::name(reason), drops.dropped[i]);
    }
  });
  if (front_end_) front_end_->add_losses(buffer_.counters().made, buffer_.counters().produced);
  for (const std::string& text : losses_.take_news()) spdlog::warn("data lost fault=\"{}\"", text);
  std::vector<std::string> faults;
  if (front_end_) faults = front_end_->faults();
  for (std::string& text : losses_.faults()) faults.push_back(std::move(text));
  node::add_faults(report, faults);
}

// ---- DCMs

std::string ReadoutNode::check_hello(const sessions::PeerInfo& info) {
  if (info.role != Role::dcm) {
    return "'" + info.name + "' is a " + std::string(name(info.role)) + ", which a readout does not accept";
  }
  const auto& dcms = settings_.dcms;
  if (info.index.value >= dcms.size() || dcms[info.index.value] != info.name) {
    return "'" + info.name + "' is not in the plan of farm '" + settings_.member.identity.farm +
           "': start all processes with the same farm file";
  }
  const auto here = std::count_if(connections_.begin(), connections_.end(), [&](const sessions::Peer* peer) {
    return peer != nullptr && peer->info().index == info.index && peer->info().heartbeats == info.heartbeats;
  });
  const auto ways = static_cast<std::ptrdiff_t>(info.heartbeats ? listeners_.size() : 1);
  if (here < kConnectionsOfDcmMax * ways) return {};
  return "'" + info.name + "' has " + std::to_string(here) + " connections already";
}

void ReadoutNode::on_ready(sessions::Peer& peer) {
  const auto free = std::find(connections_.begin(), connections_.end(), nullptr);
  peer.tag = static_cast<std::uint64_t>(free - connections_.begin());
  if (free == connections_.end()) connections_.push_back(nullptr);
  WEIR_ASSERT(connections_[peer.tag] == nullptr && !waiting_.contains(peer.tag));
  connections_[peer.tag] = &peer;
  served_.resize(connections_.size());
  if (peer.info().role == Role::dcm && !peer.info().heartbeats) {
    end_former_connections(peer);
    const std::size_t index = peer.info().index.value;
    if (dcms_.size() <= index) dcms_.resize(index + 1);
    dcms_[index] = &peer;
  }
  if (peer.info().wants_timing) peer.stream().note_arrivals();
  spdlog::info("connected name={} peer={}{}", peer.info().name, peer.stream().peer(),
               peer.info().heartbeats ? " for=heartbeats" : "");
}

// A DCM that has moved to another plane reads nothing more in the former one, which may be dead: TCP would
// keep that connection, and this process the unsent fragments, for a quarter of an hour.
void ReadoutNode::end_former_connections(const sessions::Peer& peer) {
  if (listeners_.size() == 1) return;
  const std::vector<sessions::Peer*> open = connections_;
  for (sessions::Peer* former : open) {
    if (former == nullptr || former == &peer || former->info().heartbeats) continue;
    if (former->info().index == peer.info().index) former->drop("the DCM has a new connection");
  }
}

void ReadoutNode::on_gone(sessions::Peer& peer, std::string_view why) {
  if (peer.tag >= connections_.size() || connections_[peer.tag] != &peer) {
    refusals_.note(peer, why, now_ns_);
    return;
  }
  spdlog::info("disconnected name={} reason=\"{}\"", peer.info().name, why);
  connections_[peer.tag] = nullptr;
  answers_.flush();  // drops frames for this connection, because another may soon get its tag
  waiting_.erase(peer.tag);
  timings_.forget(peer.tag);
  std::replace(dcms_.begin(), dcms_.end(), &peer, static_cast<sessions::Peer*>(nullptr));
  buffer_.forget(static_cast<std::uint32_t>(peer.tag));
}

wire::PayloadPlace ReadoutNode::on_header(sessions::Peer&, const wire::FrameHeader& header) {
  if (header.type != wire::FrameType::request && header.type != wire::FrameType::cancel) return {};
  return {wire::PayloadPlace::Kind::whole, nullptr};
}

void ReadoutNode::answer(const source::RequestedFragment& request, const source::SourceFragment& fragment) {
  if (!push_) return answers_.add(request, fragment);
  if (request.connection == PushSender::kProbe)
    return push_->is_there(request.slice, request.source, fragment);
  answers_.send(request, push_->shown(request.slice, request.source, fragment));
}

std::unique_ptr<node::Node> make_node(const node::Setup& setup, ReadoutEnvironment environment) {
  return std::make_unique<ReadoutNode>(setup, std::move(environment));
}

}  // namespace weir::readout
