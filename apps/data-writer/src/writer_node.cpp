#include "writer_node.hpp"

#include <weir/base/figures.hpp>
#include <weir/base/planted.hpp>
#include <weir/config/stop_limit.hpp>
#include <weir/node/address_in_use.hpp>
#include <weir/node/fault_notes.hpp>
#include <weir/node/refused.hpp>
#include <weir/node/report.hpp>
#include <weir/ports/endpoint_text.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::writer {
namespace {

constexpr StoreEpoch kEveryEpoch{UINT16_MAX};
constexpr DurationNs kCommandsPatience = 10 * kSecond;  // for writer.on_close, before the farm's next run

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

storage::RunStoreConfig with_first(storage::RunStoreConfig store, std::uint32_t sequence) {
  store.first_sequence = sequence;
  return store;
}

}  // namespace

WriterNode::WriterNode(const node::Setup& setup, WriterEnvironment environment)
    : settings_(node_settings(setup)),
      environment_(std::move(environment)),
      identity_(settings_.member.identity),
      store_(with_first(settings_.store, environment_.earlier.next_sequence), environment_.disk, *this),
      bursts_(settings_, environment_, static_cast<BurstEvents&>(*this)),
      dcms_({settings_.grant_bytes, settings_.burst_grant_bytes}, identity_, settings_.member.limits,
            peer_counters_, *this),
      supervisor_(identity_, settings_.member.limits, peer_counters_, settings_.member.supervisor,
                  settings_.member.reconnect_ns, settings_.member.status_interval_ns, *this,
                  settings_.member.reports) {
  now_ns_ = environment_.clock.now_ns();
  auto at = dcms_.open(environment_.network, settings_.member.listen);
  if (!at) node::throw_listen_failure(at.error());
  identity_.listen = *at;
  recall();
  store_.start(now_ns_, environment_.clock.utc_ns(), bytes_of(settings_.begin_of_run));
  spdlog::info("listening at={} out={}", ports::to_text(*at), settings_.store.directory);
}

// An earlier life's copies are this one's: they count, and they are not stored again.
void WriterNode::recall() {
  // The newest first: should there be more than are remembered, theirs is the fate that may not be known.
  const auto& copies = environment_.earlier.copies;
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
    store_.remember(copy->slice, copy->attempt, copy->epoch, copy->sequence);
  }
  for (const storage::EarlierLife::File& file : environment_.earlier.files) {
    spdlog::warn("file of an earlier process path={} bytes={} slices={} closed={} note=\"{}\"", file.path,
                 file.bytes, file.live.count, file.closed, file.note);
    files_.push_back({file.path, file.sequence, file.bytes, file.live, file.crc32c, file.closed});
    store_.remember({file.path, file.sequence, file.bytes, file.live});
  }
  earlier_dead_ = environment_.earlier.dead;
  for (const auto& [alert, earlier] : environment_.earlier_bursts) {
    bursts_.recall(alert, earlier);
    for (const storage::EarlierLife::File& file : earlier.files)
      burst_files_.push_back(
          {alert, {file.path, file.sequence, file.bytes, file.live, file.crc32c, file.closed}});
  }
  environment_.earlier_bursts.clear();
  environment_.earlier = {};
}

void WriterNode::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  environment_.deliver_disk_events(static_cast<ports::DiskHandler&>(*this));
  dcms_.tick(now_ns);
  if (takes_part_) supervisor_.tick(environment_.network, now_ns);
  store_.flush(now_ns);
  store_.tick(now_ns);
  bursts_.pass(now_ns);
  disk_.look(store_.bytes_queued() > 0, store_.counters().bytes_stored, now_ns);
  close_when_told();
  dcms_.send_acknowledgements();
  acknowledge();
  dcms_.send_refusals();
  if (!disk_.is_blocked()) dcms_.send_grants(!bursts_.is_opening());
  tell_throttle();
  give_up_closing();
}

// ---- supervisor

void WriterNode::on_begin_run(const v1::BeginRun&) {}

Expected<void, wire::WireError> WriterNode::on_supervisor_message(const v1::Control& message) {
  if (message.has_burst_alert()) {
    if (message.burst_alert().ended()) bursts_.end(message.burst_alert().number(), now_ns_);
    if (!bursts_.has_open()) dcms_.end_alerts();
    return {};
  }
  if (!message.has_settled()) return Unexpected<wire::WireError>(wire::WireError::not_expected);
  return take_settled(message.settled());
}

Expected<void, wire::WireError> WriterNode::take_settled(const v1::Settled& settled) {
  const auto taken = slice_codec::decode(settled, settled_);
  if (!taken) return node::refused(taken.error());
  std::vector<SliceId> over;
  over.reserve(settled_.slices.size());
  for (const slice_rows::Cleared& one : settled_.slices) {
    over.push_back(one.slice);
    const bool stored = one.outcome == slice_rows::Outcome::stored;
    if (stored && one.writer == settings_.member.identity.index) continue;
    // No copy of it counts here: all copies are dead.
    if (store_.has_copy(one.slice))
      (void)store_.mark_dead(one.slice, one.attempt, stored ? one.epoch : kEveryEpoch);
  }
  for (const slice_rows::CopyNotice& copy : settled_.copies) {
    if (copy.live) {
      over.push_back(copy.slice);
      continue;
    }
    (void)store_.mark_dead(copy.slice, copy.attempt, copy.epoch);
    if (copy.settled) store_.forget_dead(copy.slice);
  }
  store_.settle(over);
  return {};
}

// Acknowledgements on an earlier connection may be lost: repeats them for every slice that is not known to be
// settled. The supervisor answers with the fate of each copy.
void WriterNode::on_supervisor_ready() {
  throttle_.forget();
  acknowledged_.clear();
  for (const storage::StoredSlice& copy : store_.unsettled_on_disk()) {
    acknowledged_.push_back({copy.slice, copy.attempt, copy.epoch});
  }
}

// Copies on disk, for the supervisor.
void WriterNode::acknowledge() {
  if (acknowledged_.empty() || !supervisor_.ready()) return;
  std::vector<std::byte> frames;
  wire::append_slice_entries(wire::FrameType::stored, acknowledged_, frames);
  supervisor_.peer().stream().append(frames);
  acknowledged_.clear();
}

void WriterNode::tell_throttle() {
  if (!supervisor_.ready()) return;
  // Without granted bytes: a DCM may never send those.
  const double level =
      static_cast<double>(store_.bytes_queued()) / static_cast<double>(dcms_.grant_bound_bytes());
  const auto message = throttle_.look(disk_.is_blocked(), disk_.reason(), std::min(level, 1.0));
  if (message) supervisor_.send(*message);
}

// A writer that reconnects during shutdown must first learn which of its copies are dead: its last report and
// its last file must list only live ones as live.
void WriterNode::on_end_run() {
  end_.tell(now_ns_);
  dcms_.begin_leaving(now_ns_);
  close_when_told();
}

void WriterNode::close_when_told() {
  if (end_.phase() != EndPhase::told) return;
  if (!bursts_.ended()) {
    if (!dcms_.has_left(now_ns_)) return;
    bursts_.end_all(now_ns_);
  }
  const bool all_noted = store_.mark_unsynced_dead();
  if (!end_.may_close(store_.has_unsettled_copies(), now_ns_)) return;
  if (!all_noted) spdlog::error("dead-copy list full, some copies left unmarked");
  const std::string record = "run: " + std::to_string(settings_.store.run.value) +
                             "\nwriter: " + settings_.member.identity.name +
                             "\nslices: " + std::to_string(store_.stored().count) +
                             "\nslices_hash: " + std::to_string(store_.stored().hash_sum) +
                             "\ndead_copies: " + std::to_string(store_.dead_copies().size()) + "\n";
  end_.close(now_ns_, settings_.close_patience_ns);
  store_.close(now_ns_, bytes_of(record));
}

// A run also ends if the disk stays full: acknowledged records are in the .part file.
void WriterNode::give_up_closing() {
  if (!end_.is_in_vain(store_.blocked(), now_ns_)) return;
  end_.give_up();
  unclosed_ = "a run file could not be closed and stays a .part: " + disk_.detail();
  spdlog::error("{}", unclosed_);
}

std::string WriterNode::failure() const {
  return failure_.empty() && supervisor_.finished() && !store_.finished() ? unclosed_ : failure_;
}

bool WriterNode::finished() const { return signalled_ || !failure_.empty() || supervisor_.finished(); }

void WriterNode::on_signal(std::string_view signal_name) {
  spdlog::warn("ending signal={}", signal_name);
  signalled_ = true;
}

v1::Report WriterNode::make_report(bool final) {
  v1::Report report = node::begin_report(settings_.member.identity, settings_.member.ran, now_ns_, final);
  reports::ReportCounters counters(report);
  const storage::StoreCounters store = store_.counters();
  const storage::GrantCounters& grants = dcms_.grant_counters();
  counters["writer.records"] = store.records;
  counters["writer.bytes_in"] = store.bytes_in;
  counters["writer.bytes_stored"] = store.bytes_stored;
  counters["writer.appends"] = store.appends;
  counters["writer.syncs"] = store.syncs;
  counters["writer.retries"] = store.retries;
  counters["writer.blocked"] = store.blocked;
  counters["writer.files_closed"] = store.files_closed;
  counters["writer.dead_copies"] = earlier_dead_ + store.dead_copies;
  counters["writer.files_compared"] = store.files_compared;
  if (store.files_left > 0) counters["writer.files_left"] = store.files_left;
  if (store.files_restored > 0) counters["writer.files_restored"] = store.files_restored;
  if (store.slices_lost > 0) counters["writer.slices_lost"] = store.slices_lost;
  if (!disk_.disturbances().empty())
    (*report.mutable_notes())[std::string(node::kDisturbedNote)] = disk_.disturbances();
  for (std::size_t i = 0; i < store.results.size(); ++i) {
    const auto result = static_cast<storage::StoreResult>(i);
    if (store.results[i] > 0) counters.of("writer.result.", storage::name(result)) = store.results[i];
  }
  if (environment_.close_counts) {
    const CloseCounts commands = environment_.close_counts();
    counters["writer.on_close_started"] = commands.started;
    counters["writer.on_close_failed"] = commands.failed;
    counters["writer.on_close_ended_by_limit"] = commands.ended_by_limit;
    counters["writer.on_close_dropped"] = commands.dropped;
    add_close_notes(commands, final, report);
  }
  if (dcms_.no_memory() > 0) counters.of("writer.result.", "no_memory") = dcms_.no_memory();
  counters["writer.grants"] = grants.grants;
  counters["writer.grant_violations"] = grants.violations;
  reports::Gauges gauges(report);
  gauges["buffer_bytes_used"] = static_cast<double>(store_.bytes_queued());
  gauges["slices_in_flight"] = static_cast<double>(store_.unsettled());
  reports::add_sum(report, "live", store_.stored());
  if (settings_.has_burst_saver) reports::add_sum(report, "burst_live", bursts_.stored());
  const auto add_file = [&report](std::uint32_t alert, const storage::ClosedFile& file) {
    v1::Report::File& out = *report.add_files();
    out.set_path(file.path);
    out.set_bytes(file.bytes);
    out.set_slices(file.live.count);
    out.set_crc32c(file.crc32c);
    out.set_burst(alert);
  };
  for (const storage::ClosedFile& file : files_) add_file(0, file);
  for (const auto& [alert, file] : burst_files_) add_file(alert, file);
  node::add_network(report, environment_.stream_totals(), peer_counters_);
  node::add_process(report);
  loop_time_.add_to(report);
  report.set_state(state());
  return report;
}

// Commands still running at the end of the last run are a fault: their results cannot be reported.
void WriterNode::add_close_notes(CloseCounts commands, bool final, v1::Report& report) const {
  if (!final && end_.phase() == EndPhase::closed && commands.unfinished > 0)
    (*report.mutable_notes())[std::string(node::kWaitsNote)] = state();
  if (!final || has_more_runs()) commands.unfinished = 0;  // the next run counts them
  if (std::string text = describe(commands); !text.empty())
    (*report.mutable_notes())[std::string(node::kFaultNote)] = std::move(text);
}

std::string WriterNode::state() const {
  if (end_.phase() == EndPhase::closed && commands_run())
    return "waits for writer.on_close of " + counted(environment_.close_counts().unfinished, "file");
  return disk_.text(identity_.name);
}

// ---- store

void WriterNode::on_ready() { takes_part_ = true; }

void WriterNode::on_stored(std::span<const storage::StoredSlice> slices) {
  for (const storage::StoredSlice& stored : slices) {
    const wire::CopyId entry{stored.slice, stored.attempt, stored.epoch};
    const bool dropped = planted(Planted::drop_acknowledgement) && stored.slice.value % 16 == 5;
    if (!dropped) acknowledged_.push_back(entry);
  }
  dcms_.stored(slices);
}

storage::StoreResult WriterNode::on_record(const ReceivedRecord& record) {
  return record.alert ? bursts_.store(*record.alert, record.bytes, record.owner, record.origin, now_ns_)
                      : store_.store(record.bytes, record.owner, record.origin, now_ns_);
}

void WriterNode::on_disk_event(const ports::DiskEvent& event) {
  if (event.file.value >> BurstStores::kFileIdShift == 0) return store_.on_disk_event(event);
  bursts_.on_disk_event(event);
}

void WriterNode::on_burst_file(std::uint32_t alert, const storage::ClosedFile& file) {
  burst_files_.emplace_back(alert, file);
  if (!file.sound) return;
  spdlog::info("file closed path={} bytes={} slices={} crc32c={:08x}", file.path, file.bytes, file.live.count,
               file.crc32c);
  if (settings_.runs_on_close) environment_.on_close(file.path, file.crc32c);
}

// Triggers continue: the alert's slices wait in the rings.
void WriterNode::on_burst_blocked(std::uint32_t alert, const std::string& detail) {
  spdlog::error("burst alert blocked number={} reason=\"{}\"", alert, detail);
  disk_.note_disturbance("burst " + std::to_string(alert) + ": " + detail);
}

void WriterNode::on_file_closed(const storage::ClosedFile& file) {
  if (!file.sound) {
    files_.push_back(file);
    return;
  }
  spdlog::info("file closed path={} bytes={} slices={} crc32c={:08x}", file.path, file.bytes, file.live.count,
               file.crc32c);
  files_.push_back(file);
  if (settings_.runs_on_close) environment_.on_close(file.path, file.crc32c);
}

void WriterNode::on_lost(const storage::LostCopies& lost) {
  const std::string what = text_of(lost);
  spdlog::error("{}", what);
  disk_.note_disturbance(what);
}

void WriterNode::on_blocked(ports::DiskError error, const std::string& detail) {
  takes_part_ = true;
  disk_.set_blocked(error, detail);
  spdlog::error("blocked reason=\"{}\"", detail);
}

void WriterNode::on_resumed() {
  disk_.set_accepting();
  spdlog::info("resumed");
}

void WriterNode::on_failed(ports::DiskError, const std::string& detail) { failure_ = "run.out: " + detail; }

void WriterNode::on_finished() {
  if (end_.phase() != EndPhase::closing) return;
  end_.closed(now_ns_, has_more_runs() ? kCommandsPatience : settings_.on_close_ns);
}

std::unique_ptr<node::Node> make_node(const node::Setup& setup, WriterEnvironment environment) {
  return std::make_unique<WriterNode>(setup, std::move(environment));
}

}  // namespace weir::writer
