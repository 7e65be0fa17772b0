#include "python_source.hpp"

#include "python_host.hpp"
#include <weir/clock/clock.hpp>
#include <weir/orphans/orphans.hpp>
#include <weir/source_host/instance.hpp>

#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace weir::source_host {
namespace {

using host_watch::HostWatch;

constexpr DurationNs kLookEvery = kMillisecond;  // at the process
constexpr DurationNs kEndPatience = 2 * kSecond;
constexpr int kWaitStepMs = 50;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

PythonHost::PythonHost(const weir_source_parameters& parameters, const weir_source_readout& readout,
                       const weir_source_host& host, const PythonSource& source)
    : host_(host),
      readout_(readout),
      source_(source),
      watch_({source.settings.timeout_ns, source.settings.start_timeout_ns, source.settings.wait_ns,
              SourceLaneHeader::kRequests - 2}),  // room to begin and to end a run
      tallies_(readout.source_count) {
  HostSetup setup{
      readout.name, readout.index, readout.fragment_bytes_max, source.settings.memory_bytes, {}, {}};
  setup.sources.assign(readout.sources, readout.sources + readout.source_count);
  const auto* table = reinterpret_cast<const char*>(parameters.table);
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    const auto& one =
        *reinterpret_cast<const weir_source_parameter*>(table + std::size_t{i} * parameters.stride);
    setup.parameters.emplace_back(one.name, one.value);
  }
  setup_ = setup_text(setup, source.copy);
  for (std::size_t i = 0; i < kLosts; ++i) counters_[i] = host.counter(&host, kLostNames[i]);
  counters_[kRestarts] = host.counter(&host, "host_restarts");
  counters_[kHung] = host.counter(&host, "host_hung");
  if (!wake_.open(O_CLOEXEC | O_NONBLOCK)) throw std::runtime_error("no pipe for its host");
  orphans::adopt();
  start();
  wait_for(HostWatch::State::beginning, "make its sources");
}

PythonHost::~PythonHost() {
  watch_.finish();
  if (!process_ || watch_.state() == HostWatch::State::down) return;
  (void)process_->lane().ask({HostRequestKind::finish, 0, 0, 0, 0});
  process_->lane().ring();
  for (const TimeNs until = awake_now_ns() + kEndPatience; !process_->child().end();) {
    if (awake_now_ns() >= until) process_->child().kill(true);
    LaneRecord record;
    while (process_->lane().next(record) == LaneReader::Read::record)
      process_->lane().take_bytes(nullptr, record.length);
    process_->lane().release();
    process_->lane().ring();
    wait_a_moment();
  }
}

void PythonHost::start() {
  auto process = std::make_unique<SourceProcess>();
  if (std::string why = process->start(source_, setup_, wake_.write.get()); !why.empty())
    throw std::runtime_error(why);
  process_ = std::move(process);
  watch_.started(awake_now_ns());
  if (std::exchange(started_before_, true)) count(kRestarts);
}

// One that cannot be started is tried again after the pause.
void PythonHost::restart() {
  try {
    start();
  } catch (const std::exception& problem) {
    log(WEIR_SOURCE_LOG_ERROR, problem.what());
    watch_.started(awake_now_ns());
    (void)watch_.ended(awake_now_ns());
  }
}

void PythonHost::wait_a_moment() {
  std::array<pollfd, 3> wait{{{process_->child().pidfd(), POLLIN, 0},
                              {wake_.read.get(), POLLIN, 0},
                              {process_->child().output(), POLLIN, 0}}};
  (void)::poll(wait.data(), wait.size(), process_->lane().fall_asleep() ? kWaitStepMs : 0);
  take_wake_ups();
}

void PythonHost::take_wake_ups() const {
  std::array<char, 256> wake_ups;
  while (::read(wake_.read.get(), wake_ups.data(), wake_ups.size()) > 0) {
  }
}

void PythonHost::wait_for(HostWatch::State state, const char* task) {
  waiting_ = true;
  while (watch_.state() < state) {
    wait_a_moment();
    looked_ns_ = 0;
    drain();
    look_at_process(awake_now_ns());
    if (!refusal_.empty()) throw std::runtime_error(refusal_);
    if (watch_.state() == HostWatch::State::ending && watch_.hung()) {
      process_->child().kill(true);
      throw std::runtime_error(std::string("its host did not ") + task + " within " +
                               std::to_string(source_.settings.start_timeout_ns / kMillisecond) +
                               " ms (source.host.start_timeout_ms)");
    }
  }
  waiting_ = false;
  if (watch_.state() != state) throw std::runtime_error(std::string("its host could not ") + task);
}

void PythonHost::begin_run(const weir_source_run& run) {
  run_ = run;
  in_run_ = true;
  run_ended_ = false;
  run_error_.clear();
  begin();
  wait_for(HostWatch::State::running, "begin the run");
}

void PythonHost::begin() {
  (void)process_->lane().ask({HostRequestKind::begin_run, run_.run, run_.first_slice, 0, 0});
  process_->lane().ring();
}

void PythonHost::announced(const weir_source_trigger* triggers, std::uint32_t size, std::uint32_t stride) {
  const TimeNs now_ns = awake_now_ns();
  const auto* bytes = reinterpret_cast<const char*>(triggers);
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto& one = *reinterpret_cast<const weir_source_trigger*>(bytes + std::size_t{i} * stride);
    const std::uint64_t number = process_->lane().asked() + 1;
    switch (watch_.announce(SliceId(one.slice), number, now_ns)) {
      case HostWatch::Ask::ask:
        if (process_->lane().ask(
                {HostRequestKind::slice, one.type, one.slice, one.time_utc_ns, one.duration_ns}) != 0)
          break;
        if (!watch_.asks()) {  // it delivers the slice even so, if it does not wait for the announcement
          count(kNotAsked);
          break;
        }
        [[fallthrough]];
      case HostWatch::Ask::full:
        miss_all(one.slice, WEIR_SOURCE_DROPPED, kNotAsked);
        break;
      case HostWatch::Ask::down:
        miss_all(one.slice, WEIR_SOURCE_DOWN, kDown);
        break;
    }
  }
  process_->lane().ring();
}

void PythonHost::poll() {
  take_wake_ups();
  if (!drain() || !process_->lane().fall_asleep()) host_.wake(&host_);
  const TimeNs now_ns = awake_now_ns();
  look_at_process(now_ns);
  report_losses(now_ns);
}

void PythonHost::look_at_process(TimeNs now_ns) {
  LaneReader& lane = process_->lane();
  watch_.observe({lane.taken(), lane.done(), lane.written()});
  if (watch_.state() != HostWatch::State::down && now_ns - looked_ns_ >= kLookEvery) {
    looked_ns_ = now_ns;
    if (const auto& end = process_->child().end()) {
      while (!drain()) {
      }
      note_end(*end, now_ns);
    }
  }
  obey(watch_.pass(now_ns));
}

void PythonHost::obey(HostWatch::Order order) {
  switch (order) {
    case HostWatch::Order::none:
      return;
    case HostWatch::Order::kill_softly:
      count(kHung);
      return process_->child().kill(false);
    case HostWatch::Order::kill:
      return process_->child().kill(true);
    case HostWatch::Order::start:
      if (!in_run_ || run_ended_) return;
      refusal_.clear();
      return restart();
  }
}

void PythonHost::note_end(const child_process::ChildEnd& end, TimeNs now_ns) {
  std::size_t missing = 0;
  for (const SliceId slice : watch_.ended(now_ns)) missing += miss_all(slice.value, WEIR_SOURCE_DOWN, kEnded);
  const std::string why = !refusal_.empty() ? refusal_
                          : watch_.hung()   ? "no progress for " +
                                                std::to_string(source_.settings.timeout_ns / kMillisecond) +
                                                " ms (source.host.timeout_ms): killed"
                                          : end.text();
  std::istringstream note(end.note);
  for (std::string line; std::getline(note, line);) log(WEIR_SOURCE_LOG_WARNING, line);
  if (waiting_ && refusal_.empty()) refusal_ = "its host ended: " + first_line(why);
  if (waiting_ || !in_run_) return;
  for (Tally& tally : tallies_) tally.restarted = true;
  const std::string text = "source host of " + std::string(readout_.name) + " ended: " + first_line(why) +
                           ", " + std::to_string(missing) + " fragments missing (source_down)";
  host_.fault(&host_, text.c_str());
}

void PythonHost::end_run() {
  if (watch_.state() == HostWatch::State::running) {
    (void)process_->lane().ask({HostRequestKind::end_run, 0, 0, 0, 0});
    process_->lane().ring();
    const TimeNs until = awake_now_ns() + kEndPatience;
    while (!run_ended_ && watch_.state() == HostWatch::State::running && awake_now_ns() < until) {
      wait_a_moment();
      drain();
      looked_ns_ = 0;
      look_at_process(awake_now_ns());
    }
    if (!run_ended_ && watch_.state() == HostWatch::State::running)
      log(WEIR_SOURCE_LOG_ERROR,
          "its host did not end the run within " + std::to_string(kEndPatience / kMillisecond) + " ms");
    if (!run_error_.empty()) log(WEIR_SOURCE_LOG_ERROR, run_error_);
  }
  reported_ns_ = 0;
  report_losses(awake_now_ns());
  in_run_ = false;
  run_ended_ = true;
}

namespace {

// ---- the functions of the ABI

void write_error(char* error, std::uint32_t size, const char* text) {
  std::strncpy(error, text, size - 1);
  error[size - 1] = 0;
}

void* create(const weir_source_parameters* parameters, const weir_source_readout* readout,
             const weir_source_host* host, char* error, std::uint32_t size) {
  try {
    const auto* instance = static_cast<const SourceInstance*>(host->context);
    return new PythonHost(*parameters, *readout, *host, *instance->plugin().python());
  } catch (const std::exception& problem) {
    write_error(error, size, problem.what());
    return nullptr;
  }
}

std::int32_t begin_run(void* host, const weir_source_run* run, char* error, std::uint32_t size) {
  try {
    static_cast<PythonHost*>(host)->begin_run(*run);
    return 0;
  } catch (const std::exception& problem) {
    write_error(error, size, problem.what());
    return 1;
  }
}

}  // namespace

const weir_source_plugin& python_source_functions() {
  static const weir_source_plugin functions = [] {
    weir_source_plugin plugin{};
    plugin.struct_size = sizeof plugin;
    plugin.abi_version = WEIR_SOURCE_ABI_VERSION;
    plugin.name = plugin.version = plugin.description = "";
    plugin.create = &create;
    plugin.begin_run = &begin_run;
    plugin.end_run = [](void* host) { static_cast<PythonHost*>(host)->end_run(); };
    plugin.destroy = [](void* host) { delete static_cast<PythonHost*>(host); };
    plugin.poll = [](void* host, std::int64_t) { static_cast<PythonHost*>(host)->poll(); };
    plugin.fd = [](void* host) -> std::int32_t { return static_cast<PythonHost*>(host)->fd(); };
    plugin.announced = [](void* host, const weir_source_trigger* triggers, std::uint32_t count,
                          std::uint32_t stride) {
      static_cast<PythonHost*>(host)->announced(triggers, count, stride);
    };
    return plugin;
  }();
  return functions;
}

}  // namespace weir::source_host
