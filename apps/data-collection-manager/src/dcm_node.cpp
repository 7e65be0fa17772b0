#include "dcm_node.hpp"

#include "settings.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/node/reach.hpp>
#include <weir/node/report.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::Phase;
using assembly::Slice;

// What accepted slices may hold of the memory while they wait for their writer; beyond, decisions are held
// back, and with them the credits: back-pressure to the supervisor.
constexpr std::uint64_t kAcceptedShare = 2;
constexpr DurationNs kEndPatience = 2 * kSecond;
constexpr int kIsolationShare = 4;  // of a lease: for the units to come to rest, and for a suspect alone

std::uint64_t microseconds(DurationNs ns) {
  return ns > 0 ? static_cast<std::uint64_t>(ns / kMicrosecond) : 0;
}

}  // namespace

DcmNode::DcmNode(const node::Setup& setup, Environment environment)
    : setup_(setup),
      environment_(std::move(environment)),
      supervisor_(setup_.identity, setup_.limits, peer_counters_, setup_.supervisor,
                  setup_.farm.network().reconnect_ms() * kMillisecond,
                  setup_.farm.supervisor().status_interval_ms() * kMillisecond, *this, setup_.reports),
      memory_("weir-" + setup.identity.name, setup.farm.dcm().buffer_bytes()),
      pool_(memory_.bytes()),
      isolation_(setup_.farm.supervisor().lease_ms() * kMillisecond / kIsolationShare),
      sampler_(sampler_settings(setup_), setup_.identity.incarnation.value) {
  const std::size_t readouts = setup_.plan.of_role(Role::readout).size();
  assembler_ =
      std::make_unique<assembly::Assembler>(assembly_settings(setup_.farm), source_table(setup_.plan), pool_);
  collector_ = std::make_unique<Collector>(collector_settings(setup_, pool_.bytes_total()), *assembler_,
                                           pool_, make_shaper(setup_));
  to_readouts_ = setup_.identity;
  to_readouts_.wants_timing = collector_->shaper().learns();
  outlet_ = std::make_unique<Outlet>(setup_.identity, setup_.limits, peer_counters_,
                                     setup_.farm.network().reconnect_ms() * kMillisecond,
                                     node::silence_ns(setup_.farm), setup_.plan.of_role(Role::writer).size(),
                                     static_cast<OutletEvents&>(*this));
  for (std::size_t i = 0; i < readouts; ++i) readouts_.emplace_back(node::silence_ns(setup_.farm));
  if (node::is_push(setup_.farm))
    pushing_ = std::make_unique<Pushing>(setup_.farm, static_cast<std::uint32_t>(readouts));
  load_filter();
  for (const v1::TriggerTypeSettings& type : setup_.farm.trigger().types()) {
    if (type.sources().empty()) continue;
    const std::vector<SourceId> sources(type.sources().begin(), type.sources().end());
    type_selections_.emplace(type.type(), collector_->select(sources));
  }
}

bool DcmNode::let_go() { return units_->stop(kEndPatience); }

DcmNode::~DcmNode() {
  units_.reset();  // waits for steps, which read slices
  for (const auto& work : work_) {
    if (work->slice != nullptr) destroy_state(*work->slice);
  }
}

void DcmNode::load_filter() {
  const v1::FilterSettings& filter = setup_.farm.filter();
  std::vector<std::string> path(filter.search_path().begin(), filter.search_path().end());
  path.insert(path.end(), environment_.plugin_path.begin(), environment_.plugin_path.end());
  auto plugin = filter_host::FilterPlugin::load(filter.plugin(), path);
  if (!plugin) throw std::runtime_error("filter.plugin: " + plugin.error().text);
  plugin_ = *plugin;
  filter_host::FilterConfig config;
  config.parameters.assign(filter.parameters().begin(), filter.parameters().end());
  config.log = [](int level, std::string_view line) {
    constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                     spdlog::level::warn, spdlog::level::err};
    spdlog::log(kLevels[std::clamp(level, 0, 3)], "filter {}", line);
  };
  filter_host::ProcessingUnitsOptions options;
  options.units = setup_.farm.dcm().processing_units();
  options.jobs_max = setup_.farm.dcm().slices_max();
  options.wake = environment_.wake;
  auto units = filter_host::ProcessingUnits::create(plugin_, config, options);
  if (!units) throw std::runtime_error("filter " + plugin_->name() + ": " + units.error().text);
  units_ = std::move(*units);
  spdlog::info("filter loaded plugin={} version={} path={} crc32c={:08x}", plugin_->name(),
               plugin_->version(), plugin_->path(), plugin_->file_crc32c());
}

void DcmNode::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  supervisor_.tick(environment_.network, now_ns);
  tick_links();
  take_back_held();
  take_results();
  watch_filter();
  if (!sampler_.is_empty()) sampler_.expire(now_ns);
  open_assigned();
  look_at_reach();
  tell_partial_frames();
  if (pushing_) ask_for_overdue();
  if (run_begun_) collector_->pass(now_ns);
  if (cut_off_) hand_back_stranded();
  filter_completed();
  submit_jobs();
  send_requests();
  outlet_->tick(environment_.network, now_ns);
  take_back_held();
  report_decisions();
}

// ---- a slice's way

Work& DcmNode::work_of(const Slice& slice) { return *reinterpret_cast<Work*>(slice.tag); }

std::shared_ptr<const Selection> DcmNode::first_selection(const Slice& slice) const {
  if (!type_selections_.empty()) {
    const auto own = type_selections_.find(slice.assignment.type.value);
    if (own != type_selections_.end()) return own->second;
  }
  return first_selection_ ? first_selection_ : collector_->everything();
}

void DcmNode::open_assigned() {
  if (!run_begun_) return;
  for (auto at = blocked_.begin(); at != blocked_.end() && !assembler_->full();) {
    const auto here = at++;
    if (assembler_->is_open(here->first)) continue;
    open(std::move(here->second));
    blocked_.erase(here);
  }
  while (!assigned_.empty() && !assembler_->full()) {
    assembly::Assignment& next = assigned_.front();
    if (bind(next)) {
      assigned_.pop_front();
      continue;
    }
    if (pushing_) drop_unbound(next.slice);
    if (assembler_->is_open(next.slice)) {
      // An earlier attempt of it is still with the filter, or on its way to a writer. The lease goes on.
      block(std::move(next));
    } else {
      open(std::move(next));
    }
    assigned_.pop_front();
  }
}

// Of two attempts that wait the later one counts. The other's credit comes back with its decision alone.
void DcmNode::block(assembly::Assignment assignment) {
  const auto [waiting, first] = blocked_.try_emplace(assignment.slice, assignment);
  if (first) return;
  v1::Control message;
  message.mutable_decide()->add_slice(assignment.slice.value);
  message.mutable_decide()->add_attempt(waiting->second.attempt.value);
  message.mutable_decide()->add_verdict(v1::VERDICT_FAILED);
  message.mutable_decide()->add_failures()->set_reason("lost");
  if (supervisor_.ready()) supervisor_.send(message);
  waiting->second = std::move(assignment);
}

void DcmNode::open(assembly::Assignment assignment) {
  if (is_pushed_here(assignment)) return open_pushed(std::move(assignment), true);
  const Work& work = open_slice(std::move(assignment));
  collector_->collect(*work.slice, first_selection(*work.slice));
}

Work& DcmNode::open_slice(assembly::Assignment assignment) {
  if (spare_work_.empty()) {
    work_.push_back(std::make_unique<Work>());
    spare_work_.push_back(work_.back().get());
  }
  const auto slice = assembler_->open(std::move(assignment), now_ns_);
  WEIR_ASSERT(slice.has_value());
  Work& work = *spare_work_.back();
  spare_work_.pop_back();
  work = Work{};
  work.slice = *slice;
  (*slice)->tag = reinterpret_cast<std::uint64_t>(&work);
  return work;
}

void DcmNode::filter_completed() {
  completed_.clear();
  assembler_->take_completed(completed_);
  if (pushing_) {
    completed_.insert(completed_.end(), pushing_->bound.begin(), pushing_->bound.end());
    pushing_->bound.clear();
  }
  for (Slice* slice : completed_) {
    Work& work = work_of(*slice);
    if (work.unbound) continue;  // stays in the window: its assignment may never come
    if (work.pushed) pushing_->window.left(slice->id());
    if (slice->step == 0) {
      // Of a pushed slice perhaps nothing has come.
      const TimeNs begun = slice->first_request_ns != 0 ? slice->first_request_ns : slice->last_fragment_ns;
      latency_.record(microseconds(slice->last_fragment_ns - begun));
      build_latency_.record(
          microseconds(slice->last_fragment_ns - (work.pushed ? work.due_ns : slice->assigned_ns)));
    }
    if (!sampler_.is_empty() && slice->step == 0) sample_raw(work);
    if (slice->assignment.unfiltered) {
      accept_unfiltered(work, storage::DecisionKind::poison);
      continue;
    }
    if (slice->flawed > 0 && setup_.farm.dcm().incomplete() == v1::DcmSettings::INCOMPLETE_DEBUG) {
      accept_unfiltered(work, storage::DecisionKind::incomplete);
      continue;
    }
    weir_filter_slice& view = work.view;
    view = filter_host::empty_slice();
    view.run = setup_.run.value;
    view.slice = slice->id().value;
    view.attempt = slice->attempt().value;
    view.step = slice->step;
    view.trigger_time_utc_ns = slice->assignment.time;
    view.duration_ns = slice->assignment.duration;
    view.trigger_type = slice->assignment.type.value;
    view.trigger_payload_size = static_cast<std::uint32_t>(slice->assignment.payload.size());
    view.trigger_payload = slice->assignment.payload.empty() ? nullptr : slice->assignment.payload.data();
    view.flags = slice->flawed > 0 ? WEIR_SLICE_INCOMPLETE : 0;
    view.fragment_count = static_cast<std::uint32_t>(slice->table.size());
    view.fragments = slice->table.data();
    view.state = &slice->state;
    const filter_host::Job job{&view, reinterpret_cast<std::uint64_t>(&work)};
    work.waits_alone = slice->assignment.suspect;
    if (work.waits_alone) {
      isolation_.add(job);
    } else {
      jobs_.push_back(job);
    }
  }
}

void DcmNode::submit_jobs() {
  isolate();
  if (isolation_.is_open()) hand_over(jobs_.size());
}

void DcmNode::hand_over(std::size_t jobs_max) {
  if (jobs_.empty()) return;
  const std::size_t taken = units_->submit(std::span(jobs_).first(jobs_max));
  jobs_.erase(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(taken));
  counts_.steps += taken;
}

void DcmNode::take_results() {
  results_.clear();
  units_->drain(results_);
  for (filter_host::FilterResult* result : results_) {
    Work& work = *reinterpret_cast<Work*>(result->token);
    isolation_.returned(result->token);
    if (!work.abandoned) {
      act_on(work, *result);
      continue;
    }
    filter_host::FilterResult* const held[] = {result};
    units_->recycle(held);
    release(work);
  }
}

void DcmNode::act_on(Work& work, filter_host::FilterResult& result) {
  using filter_host::Verdict;
  const bool flawed = work.slice->flawed > 0;
  filter_host::FilterResult* const held[] = {&result};
  switch (result.verdict) {
    case Verdict::reject:
      units_->recycle(held);
      return decide(work, flawed ? v1::VERDICT_REJECT_INCOMPLETE : v1::VERDICT_REJECT);
    case Verdict::accept:
      work.result = &result;
      return decide(work, flawed ? v1::VERDICT_ACCEPT_INCOMPLETE : v1::VERDICT_ACCEPT);
    case Verdict::need_more:
      return need_more(work, result);
    case Verdict::error:
      break;
  }
  if (++counts_.filter_errors == 1)
    spdlog::error("filter error slice={} reason=\"{}\"", work.slice->id().value, result.error);
  units_->recycle(held);
  if (setup_.farm.filter().on_error() == v1::FilterSettings::ON_ERROR_REJECT) {
    return decide(work, flawed ? v1::VERDICT_REJECT_INCOMPLETE : v1::VERDICT_REJECT);
  }
  accept_unfiltered(work, storage::DecisionKind::no_filter);
}

void DcmNode::watch_filter() {
  const auto oldest = units_->oldest();
  if (oldest || !long_in_filter_.empty()) tell_long_in_filter();
  if (!oldest || oldest->token == stalled_token_) return;
  if (environment_.clock.now_ns() - oldest->start_ns < setup_.farm.filter().step_deadline_ms() * kMillisecond)
    return;
  stalled_token_ = oldest->token;
  ++counts_.filter_stalled;
  spdlog::warn("filter stalls slice={}", reinterpret_cast<const Work*>(oldest->token)->slice->id().value);
}

void DcmNode::need_more(Work& work, filter_host::FilterResult& result) {
  assembler_->next_step(*work.slice);
  if (result.need_all) {
    collector_->collect(*work.slice, collector_->everything());
  } else {
    const std::vector<SourceId> sources(result.need_sources.begin(), result.need_sources.end());
    collector_->collect(*work.slice, collector_->select(sources));
  }
  filter_host::FilterResult* const held[] = {&result};
  units_->recycle(held);
}

void DcmNode::accept_unfiltered(Work& work, storage::DecisionKind why) {
  work.unfiltered = true;
  work.decision = why;
  decide(work, work.slice->flawed > 0 ? v1::VERDICT_ACCEPT_INCOMPLETE : v1::VERDICT_ACCEPT);
}

void DcmNode::decide(Work& work, v1::Verdict verdict, const char* failure) {
  Slice& slice = *work.slice;
  destroy_state(slice);
  const bool accepts = verdict == v1::VERDICT_ACCEPT || verdict == v1::VERDICT_ACCEPT_INCOMPLETE;
  if (accepts && !fits_a_record(work)) {
    verdict = v1::VERDICT_FAILED;
    failure = "too_large";
  }
  work.verdict = verdict;
  work.failure = failure;
  slice.phase = Phase::decided;
  decision_latency_.record(microseconds(now_ns_ - slice.assigned_ns));
  decided_.push_back(&work);
}

void DcmNode::report_decisions() {
  accepts_held_back_ = accepts_held_back_ && !decided_.empty();
  if (decided_.empty() || !supervisor_.ready()) return;
  const std::uint64_t accepted_max = pool_.bytes_total() / kAcceptedShare;
  v1::Control message;
  v1::Decide& decide = *message.mutable_decide();
  std::deque<Work*> held_back;
  for (Work* work : decided_) {
    const bool accepts =
        work->verdict == v1::VERDICT_ACCEPT || work->verdict == v1::VERDICT_ACCEPT_INCOMPLETE;
    if (accepts) {
      if (accepted_bytes_ > accepted_max) {
        // Its lease would run out, and it is over with the filter.
        if (!std::exchange(work->told_held, true)) {
          decide.add_slice(work->slice->id().value);
          decide.add_attempt(work->slice->attempt().value);
          decide.add_verdict(v1::VERDICT_HELD);
        }
        held_back.push_back(work);
        continue;
      }
      accepted_bytes_ += work->slice->memory.bytes();
      work->counted = true;
      ++counts_.accepted;
    }
    if (work->verdict == v1::VERDICT_FAILED) {
      v1::Decide::Failure& failure = *decide.add_failures();
      failure.set_index(static_cast<std::uint32_t>(decide.slice_size()));
      failure.set_reason(work->failure);
    }
    decide.add_slice(work->slice->id().value);
    decide.add_attempt(work->slice->attempt().value);
    decide.add_verdict(work->verdict);
    work->decided = true;
  }
  accepts_held_back_ = !held_back.empty();
  decided_ = std::move(held_back);
  if (decide.slice_size() > 0) supervisor_.send(message);
}

void DcmNode::confirm(Work& work, v1::Confirmation code, StoreEpoch epoch, NodeIndex writer) {
  const SliceId id = work.slice->id();
  switch (code) {
    case v1::CONFIRMATION_STORE:
      return ship(work, epoch, writer);
    case v1::CONFIRMATION_SETTLED:
      if (work.verdict == v1::VERDICT_REJECT || work.verdict == v1::VERDICT_REJECT_INCOMPLETE) {
        counts_.rejected.add(id);
      } else {
        counts_.discarded.add(id);
      }
      return give_up(work);
    default:
      ++counts_.refused;
      return give_up(work);
  }
}

void DcmNode::give_up(Work& work) {
  if (!work.held) return release(work);
  work.given_up = true;
  outlet_->drop(work.slice->id());
}

void DcmNode::take_back_held() {
  while (Work* work = held_.take_back()) release(*work);
}

void DcmNode::abandon_all(bool stored_too) {
  assigned_.clear();
  blocked_.clear();
  decided_.clear();
  isolation_.clear();
  long_in_filter_.clear();
  std::vector<Work*> open;
  assembler_->for_each_open([&](Slice& slice) { open.push_back(&work_of(slice)); });
  for (Work* work : open) {
    if (!stored_too && work->slice->phase == Phase::storing) continue;
    if (work->slice->phase == Phase::filtering && !work->unbound && !work->waits_alone) {
      work->abandoned = true;  // released when its processing unit has done with it
    } else {
      give_up(*work);
    }
  }
}

void DcmNode::ship(Work& work, StoreEpoch epoch, NodeIndex writer) {
  Record record = make_record(work, epoch, {setup_.run, setup_.self.index, setup_.farm.run().checksums()});
  Shipment shipment;
  shipment.slice = work.slice->id();
  shipment.attempt = work.slice->attempt();
  shipment.epoch = epoch;
  shipment.writer = writer;
  shipment.meta = std::move(record.meta);
  shipment.payloads = std::move(record.payloads);
  shipment.bytes = record.bytes;
  // The memory may be given back only when no connection refers to it any more, whatever happens to the
  // slice. A slice that is confirmed again, for another writer, goes on with the hold that it has.
  if (!work.held && !sampler_.is_empty()) sample_accepted(work, epoch);
  shipment.owner = held_.hold(work);
  work.slice->phase = Phase::storing;
  if (planted(Planted::release_early)) work.slice->memory.release(pool_);
  outlet_->ship(std::move(shipment));
}

void DcmNode::on_stored(SliceId slice, Attempt, StoreEpoch) { counts_.stored.add(slice); }

void DcmNode::destroy_state(Slice& slice) {
  if (slice.state.data != nullptr && slice.state.destroy != nullptr) slice.state.destroy(slice.state.data);
  slice.state = {};
}

void DcmNode::release(Work& work) {
  WEIR_ASSERT(work.slice != nullptr && !work.held);
  destroy_state(*work.slice);
  if (work.pushed) {
    pushing_->window.left(work.slice->id());
    std::erase(pushing_->bound, work.slice);
    pushing_->unbound -= work.unbound ? 1 : 0;
  }
  if (work.counted) accepted_bytes_ -= work.slice->memory.bytes();
  if (work.result != nullptr) {
    if (work.decided) counts_.output_events += work.result->events.size();
    filter_host::FilterResult* const held[] = {work.result};
    units_->recycle(held);
  }
  collector_->forget(*work.slice);
  assembler_->release(*work.slice);
  work = Work{};
  spare_work_.push_back(&work);
}

std::string DcmNode::broken_invariant() {
  if (!assembler_->is_empty()) return {};
  if (pool_.bytes_used() > 0) return "memory is in use and no slice is open";
  if (accepted_bytes_ > 0) return "bytes wait for a writer and no slice is open";
  return {};
}

std::unique_ptr<node::Node> make_node(const node::Setup& setup, Environment environment) {
  return std::make_unique<DcmNode>(setup, std::move(environment));
}

}  // namespace weir::dcm
