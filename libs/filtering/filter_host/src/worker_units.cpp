#include <weir/base/assert.hpp>
#include <weir/base/plugin_file.hpp>
#include <weir/base/text.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/filter_host/worker_setup.hpp>
#include <weir/filter_host/worker_units.hpp>
#include <weir/plugin_loader/guarded.hpp>
#include <weir/plugin_loader/plugin_copy.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace weir::filter_host {
namespace {

using plugin_loader::kPluginNameMax;
using plugin_loader::kPluginTextMax;

constexpr DurationNs kStartPatience = 30 * kSecond;  // at first: a plugin may read large tables
constexpr DurationNs kEndPatience = 5 * kSecond;     // at least: more than an orderly end takes, and a kill
constexpr DurationNs kLook = 50 * kMillisecond;

std::string hex(std::uint32_t checksum) {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", checksum);
  return text.data();
}

}  // namespace

WorkerUnits::WorkerUnits(FilterConfig config, const WorkerUnitsOptions& options, WorkerHost& host)
    : config_(std::move(config)),
      options_(options),
      host_(host),
      layout_(options.pool.lane_slots, options.rows_max, config_.limits),
      pool_(options.pool),
      seats_(pool_.seats()) {}

std::unique_ptr<WorkerUnits> WorkerUnits::launch(const std::string& plugin,
                                                 const std::vector<std::string>& search_path,
                                                 const FilterConfig& config,
                                                 const WorkerUnitsOptions& options, WorkerHost& host) {
  std::unique_ptr<WorkerUnits> units(new WorkerUnits(config, options, host));
  v1::WorkerMessage::Setup& setup = *units->setup_.mutable_setup();
  setup = setup_of(plugin, search_path, config);
  setup.set_slots(options.pool.lane_slots);
  setup.set_rows_max(options.rows_max);
  setup.set_slice_memory_bytes(options.slice_memory.size());
  setup.set_measure_cpu(options.measure_cpu);
  units->limit_memory();
  units->expect(Start::create);
  units->failure_ = units->copy_plugin(plugin, search_path);
  if (!units->failure_.empty()) return units;
  units->pool_.pass(host.now_ns(), units->actions_);
  units->act();
  return units;
}

WorkerUnits::~WorkerUnits() { (void)stop(0); }

// All workers of this object's life have the same files, whatever happens to those on disk. An error is a
// sentence.
std::string WorkerUnits::copy_plugin(const std::string& plugin, const std::vector<std::string>& search_path) {
  auto path = FilterPlugin::find(plugin, search_path);
  if (!path) return path.error().text;
  auto copy = plugin_loader::copy_plugin(*path);
  if (!copy) return "filter '" + *path + "': " + copy.error();
  v1::WorkerMessage::Setup& setup = *setup_.mutable_setup();
  setup.set_crc32c(copy->crc32c);
  if (is_python_plugin(*path)) {
    for (plugin_loader::PluginFile& file : copy->files) {
      v1::WorkerMessage::PluginFile& sent = *setup.add_files();
      sent.set_path(std::move(file.path));
      sent.set_content(std::move(file.content));
    }
    return {};
  }
  setup.add_files()->set_path(*path);
  return host_.share_library(copy->files.front().content);
}

void WorkerUnits::limit_memory() {
  if (options_.memory_bytes == 0) return;
  const std::string why = host_.limit_memory(options_.memory_bytes);
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  memory_limit_ = std::to_string(options_.memory_bytes / kMebi) + " MiB by ";
  if (why.empty()) {
    memory_limit_ += "control group";
    return;
  }
  memory_limit_ += "RLIMIT_DATA (" + why + ")";
  setup_.mutable_setup()->set_memory_bytes(options_.memory_bytes);
}

void WorkerUnits::expect(Start start) {
  start_ = start;
  start_until_ns_ = host_.now_ns() + kStartPatience;
}

Expected<bool, FilterError> WorkerUnits::poll_start() {
  if (start_ == Start::none) return true;
  const auto done = look_at_starts();
  if (done && *done) start_ = Start::none;
  return done;
}

Expected<bool, FilterError> WorkerUnits::look_at_starts() {
  const auto failed = [](std::string text) {
    return Unexpected<FilterError>({FilterErrorCode::worker_failed, std::move(text)});
  };
  const std::string task = start_ == Start::create ? "create its filter" : "begin the run";
  bool all = true;
  for (worker_pool::Seat index = 0; index < pool_.seats(); ++index) {
    Seat& seat = seats_[index];
    if (seat.process == nullptr) continue;
    const auto end = seat.process->end();
    take_messages(index);  // after the look at its end: its last words are here then
    if (!seat.refusal.empty()) return Unexpected<FilterError>({FilterErrorCode::create_failed, seat.refusal});
    const bool done = start_ == Start::create ? seat.created : seat.begun;
    if (end && !done) {
      return failed("a filter worker ended before it could " + task + ": " +
                    end->text.substr(0, end->text.find('\n')));
    }
    all = all && done;
  }
  if (!failure_.empty()) return failed(failure_);
  if (!all && host_.now_ns() >= start_until_ns_) {
    return failed("a filter worker did not " + task + " within " + std::to_string(kStartPatience / kSecond) +
                  " s");
  }
  return all;
}

Expected<void, FilterError> WorkerUnits::wait_for_start() {
  while (true) {
    const auto done = poll_start();
    if (!done) return Unexpected<FilterError>(done.error());
    if (*done) return {};
    host_.wait(kLook);
  }
}

Expected<void, FilterError> WorkerUnits::begin_run(const RunInfo& run) {
  WEIR_ASSERT(in_flight() == 0 && start_ == Start::none);
  v1::WorkerMessage::BeginRun& begin = *begin_run_.mutable_begin_run();
  begin.set_run(run.run.value);
  begin.set_utc_ns(run.start_time);
  begin.mutable_sources()->Assign(run.sources.begin(), run.sources.end());
  in_run_ = true;
  replaced_.clear();
  expect(Start::begin_run);
  for (Seat& seat : seats_) {
    if (seat.process != nullptr && seat.created) send_begin_run(seat);
  }
  return {};
}

void WorkerUnits::send_begin_run(Seat& seat) { seat.process->send(begin_run_); }

void WorkerUnits::end_run() {
  WEIR_ASSERT(in_flight() == 0);
  if (!in_run_) return;
  in_run_ = false;
  start_ = Start::none;
  end_error_.clear();
  v1::WorkerMessage message;
  (void)message.mutable_end_run();
  for (Seat& seat : seats_) {
    if (seat.process == nullptr) continue;
    if (seat.begun && !seat.process->end()) {
      seat.process->send(message);
    } else {
      seat.begun = false;
    }
  }
  end_until_ns_ = host_.now_ns() + options_.pool.start_timeout_ns;
}

bool WorkerUnits::poll_end() {
  const bool late = host_.now_ns() >= end_until_ns_;
  const auto failed = [this](std::string text) {
    if (end_error_.empty()) end_error_ = std::move(text);
  };
  bool all = true;
  for (worker_pool::Seat index = 0; index < pool_.seats(); ++index) {
    Seat& seat = seats_[index];
    if (seat.process == nullptr) continue;
    const auto end = seat.process->end();
    take_messages(index);  // after the look at its end: its last words are here then
    if (!seat.begun) continue;
    if (end) {
      failed("a filter worker ended in end_run(): " + end->text.substr(0, end->text.find('\n')));
    } else if (late) {
      failed("a filter worker did not end the run within " +
             std::to_string(options_.pool.start_timeout_ns / kSecond) + " s");
    }
    all = all && end.has_value();
  }
  return all || late;
}

void WorkerUnits::wait_for_end() {
  while (!poll_end()) host_.wait(kLook);
}

// ---- processes

void WorkerUnits::start(worker_pool::Seat index) {
  auto process = host_.start(layout_);
  if (!process) {
    if (start_ == Start::create) failure_ = process.error();
    pool_.ended(index, {worker_pool::EndKind::start, process.error()}, host_.now_ns(), actions_);
    note_unreplaced(index, {});
    return;
  }
  seats_[index] = Seat{};
  seats_[index].process = std::move(*process);
  seats_[index].process->send(setup_);
}

void WorkerUnits::take_messages(worker_pool::Seat index) {
  v1::WorkerMessage message;
  while (seats_[index].process->receive(message)) take_message(index, message);
}

void WorkerUnits::take_message(worker_pool::Seat index, const v1::WorkerMessage& message) {
  Seat& seat = seats_[index];
  switch (message.body_case()) {
    case v1::WorkerMessage::kReady:
      take_ready(index, message.ready());
      return;
    case v1::WorkerMessage::kRefused:
      seat.refusal = clean_text(message.refused().text(), kPluginTextMax);
      return;
    case v1::WorkerMessage::kBegun:
      if (seat.begun || !in_run_) return;
      seat.begun = true;
      pool_.started(index);
      if (message.begun().wishes() && !first_sources_) {
        first_sources_.emplace(message.begun().sources().begin(), message.begun().sources().end());
        std::sort(first_sources_->begin(), first_sources_->end());
        first_sources_->erase(std::unique(first_sources_->begin(), first_sources_->end()),
                              first_sources_->end());
      }
      return;
    case v1::WorkerMessage::kEnded:
      seat.begun = false;
      if (end_error_.empty()) end_error_ = clean_text(message.ended().error(), kPluginTextMax);
      return;
    case v1::WorkerMessage::kLog:
      if (config_.log) config_.log(message.log().level(), clean_text(message.log().line(), kPluginTextMax));
      return;
    default:
      return;
  }
}

void WorkerUnits::take_ready(worker_pool::Seat index, const v1::WorkerMessage::Ready& ready) {
  Seat& seat = seats_[index];
  seat.refusal = other_plugin(ready);
  if (seat.refusal.empty()) seat.refusal = take_bookings(seat, ready);
  if (!seat.refusal.empty()) return seat.process->kill(true);
  plugin_ = {clean_text(ready.name(), kPluginNameMax), clean_text(ready.version(), kPluginNameMax),
             ready.path(), ready.crc32c()};
  seat.created = true;
  if (in_run_) send_begin_run(seat);
}

// Without a worker the slices would only wait: the DCM fails, so that others take them.
std::string WorkerUnits::other_plugin(const v1::WorkerMessage::Ready& ready) {
  if (plugin_.path.empty() || ready.crc32c() == plugin_.file_crc32c) return {};
  const std::string why = "filter plugin at " + plugin_.path + " has checksum " + hex(ready.crc32c()) +
                          ", and the run began with " + hex(plugin_.file_crc32c) +
                          ": restore the file that the run began with, or end the run";
  if (!in_run_) return why;
  bool any_ready = false;
  for (worker_pool::Seat index = 0; index < pool_.seats(); ++index)
    any_ready = any_ready || pool_.is_ready(index);
  if (!any_ready) failure_ = why;
  return why;
}

std::string WorkerUnits::take_bookings(Seat& seat, const v1::WorkerMessage::Ready& ready) {
  const auto axis = [](const v1::WorkerMessage::Axis& from) {
    return histograms::BinnedAxis{from.bins(), from.low(), from.high()};
  };
  bool same = true;
  for (const v1::WorkerMessage::Booking& from : ready.histograms()) {
    if (from.kind() < WEIR_HISTOGRAM_1D || from.kind() > WEIR_HISTOGRAM_PROFILE)
      return "a worker booked a histogram of an unknown kind: DCM and filter worker are of different "
             "versions";
    const histograms::Booking booking{from.name(), static_cast<histograms::Kind>(from.kind()), axis(from.x()),
                                      axis(from.y())};
    const auto own = seat.booked.book(booking);
    if (!own) return own.error();
    const auto shared = booked_.book(booking);
    if (!shared) return shared.error();
    seat.places.push_back(booked_.all()[*shared].first);
    same = same && booked_.all()[*shared].first == seat.booked.all()[*own].first;
  }
  if (same) seat.places.clear();
  return {};
}

void WorkerUnits::translate(const Seat& seat, std::vector<histograms::Addition>& fills) {
  if (seat.places.empty()) return;
  for (histograms::Addition& one : fills) {
    const std::uint32_t owner = seat.booked.owner_of(one.cell);
    one.cell += seat.places[owner] - seat.booked.all()[owner].first;
  }
}

void WorkerUnits::take_ends() {
  for (worker_pool::Seat index = 0; index < pool_.seats(); ++index) {
    Seat& seat = seats_[index];
    if (seat.process == nullptr) continue;
    auto end = seat.process->end();
    take_messages(index);  // likewise
    if (!end) continue;
    take_lane(index);
    const std::string refusal = seat.refusal;
    if (!refusal.empty()) end->text = refusal;
    if (!pool_.is_corrupt(index)) keep_counters(seat.process->lane());
    departed_cpu_ns_ += seat.process->lane().header().cpu_ns.load(std::memory_order_relaxed);
    seat = Seat{};
    pool_.ended(index, std::move(*end), host_.now_ns(), actions_);
    note_unreplaced(index, refusal);
  }
}

// A worker that refuses the run is a fault at once; one that does not start may only be slow.
void WorkerUnits::note_unreplaced(worker_pool::Seat seat, const std::string& refusal) {
  if (!in_run_ || start_ != Start::none) return;
  if (!refusal.empty()) {
    replaced_ = refusal;
  } else if (pool_.is_unreplaced(seat)) {
    replaced_ = pool_.last_end();
  }
}

// ---- seen from outside

std::optional<OldestJob> WorkerUnits::oldest() const {
  std::vector<OldestJob> jobs;
  running(jobs);
  const auto first = std::min_element(jobs.begin(), jobs.end(),
                                      [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return first == jobs.end() ? std::nullopt : std::optional(*first);
}

void WorkerUnits::running(std::vector<OldestJob>& out) const {
  std::vector<worker_pool::WorkerPool::Running> inside;
  pool_.running(inside);
  for (const auto& one : inside) out.push_back({one.token, one.since_ns});
}

void WorkerUnits::add_counters(const LaneView& lane, std::map<std::string, std::uint64_t>& sums) const {
  LaneHeader& header = lane.header();
  const std::size_t count =
      std::min<std::size_t>(header.counters.load(std::memory_order_acquire), LaneHeader::kCounters);
  for (std::size_t i = 0; i < count; ++i) {
    std::array<char, LaneCounter::kNameBytes> text = header.counter[i].name;
    text.back() = 0;
    const std::string name = clean_text(text.data(), kPluginNameMax);
    if (name.empty() || (sums.size() >= FilterMetrics::kCountersMax && !sums.contains(name))) continue;
    sums[name] += header.counter[i].value.load(std::memory_order_relaxed);
  }
}

DurationNs WorkerUnits::cpu_ns() const {
  DurationNs sum = departed_cpu_ns_;
  for (const Seat& seat : seats_) {
    if (seat.process != nullptr) sum += seat.process->lane().header().cpu_ns.load(std::memory_order_relaxed);
  }
  return sum;
}

void WorkerUnits::keep_counters(const LaneView& lane) { add_counters(lane, departed_); }

FilterMetricsSnapshot WorkerUnits::metrics() const {
  FilterMetricsSnapshot all;
  all.counters = departed_;
  for (worker_pool::Seat index = 0; index < pool_.seats(); ++index) {
    if (seats_[index].process != nullptr && !pool_.is_corrupt(index))
      add_counters(seats_[index].process->lane(), all.counters);
  }
  return all;
}

void WorkerUnits::take_kills(std::vector<SliceKills>& out) {
  out.insert(out.end(), kills_.begin(), kills_.end());
  kills_.clear();
}

WorkerFigures WorkerUnits::figures() const {
  WorkerFigures figures;
  figures.restarts = pool_.restarts();
  figures.poisoned = pool_.poisoned();
  figures.retried = pool_.retried();
  figures.unkillable = unkillable_;
  for (std::size_t i = 0; i < worker_pool::kEndKinds; ++i) {
    const auto kind = static_cast<worker_pool::EndKind>(i);
    figures.ends.emplace_back(worker_pool::name(kind), pool_.ends(kind));
  }
  figures.memory_limit = memory_limit_;
  figures.replaced = replaced_;
  figures.note = "pids";
  for (worker_pool::Seat index = 0; index < pool_.seats(); ++index) {
    if (seats_[index].process == nullptr) continue;
    figures.workers += pool_.is_ready(index) ? 1 : 0;
    figures.pids.push_back(seats_[index].process->pid());
    figures.note += ' ' + std::to_string(figures.pids.back());
  }
  figures.note += ", restarts " + std::to_string(figures.restarts);
  if (!memory_limit_.empty()) figures.note += ", memory " + memory_limit_.substr(0, memory_limit_.find(" ("));
  figures.last_end = pool_.last_end();
  if (!figures.last_end.empty()) figures.note += ", last end " + figures.last_end;
  return figures;
}

// One that has slices is killed: a filter that hangs takes no orders.
void WorkerUnits::end_worker(worker_pool::Seat index, bool hard) {
  Seat& seat = seats_[index];
  if (seat.process == nullptr) return;
  const bool is_idle = seat.created && (seat.begun || !in_run_) && !pool_.is_corrupt(index) &&
                       seat.process->lane().header().done.load(std::memory_order_acquire) == seat.submitted;
  if (is_idle) {
    seat.process->end_in_order();
  } else {
    seat.process->kill(hard);
  }
}

bool WorkerUnits::stop(DurationNs patience_ns) {
  stopping_ = true;
  const TimeNs until =
      host_.now_ns() + std::clamp<DurationNs>(patience_ns, kEndPatience, 365 * 24 * 3600 * kSecond);
  for (worker_pool::Seat index = 0; index < pool_.seats(); ++index) end_worker(index, true);
  while (true) {
    bool all = true;
    for (worker_pool::Seat index = 0; index < pool_.seats(); ++index) {
      Seat& seat = seats_[index];
      if (seat.process == nullptr) continue;
      take_messages(index);
      if (seat.process->end()) {
        keep_counters(seat.process->lane());
        seat.process.reset();
      } else {
        all = false;
      }
    }
    if (all || host_.now_ns() >= until) return all;
    host_.wait(kLook);
  }
}

}  // namespace weir::filter_host
