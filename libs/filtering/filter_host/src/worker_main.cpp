#include <weir/clock/clock.hpp>
#include <weir/filter_host/control_channel.hpp>
#include <weir/filter_host/lane_worker.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/filter_host/worker_bookings.hpp>
#include <weir/filter_host/worker_descriptors.hpp>
#include <weir/filter_host/worker_main.hpp>
#include <weir/filter_host/worker_setup.hpp>

#include <execinfo.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace weir::filter_host {
namespace {

constexpr DurationNs kNotifyEvery = 100 * kMicrosecond;
constexpr int kExitFailure = 1;
constexpr int kLookAgainMs = 100;  // a filter may have closed the descriptor that wakes its worker

DurationNs cpu_now_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}
constexpr int kFramesMax = 48;

// The filter has forked, and this is the child: it must not publish anything.
std::atomic<bool> in_child{false};

// ---- the crash note: async-signal-safe

void note(const char* text) { (void)!::write(kCrashDescriptor, text, std::strlen(text)); }

extern "C" void weir_worker_crashed(int signal) {
  if (!in_child.load(std::memory_order_relaxed)) {
    note(signal == SIGQUIT ? "at the time limit, in\n" : "in\n");
    std::array<void*, kFramesMax> frames{};
    const int count = ::backtrace(frames.data(), kFramesMax);
    ::backtrace_symbols_fd(frames.data(), count, kCrashDescriptor);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void out_of_memory() { end_out_of_memory("an allocation failed\n"); }

void catch_crashes() {
  static std::array<std::byte, 64 * 1024> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  ::sigaltstack(&alternate, nullptr);
  std::array<void*, 1> warm_up{};
  (void)::backtrace(warm_up.data(), 1);  // loads what it needs, which a handler may not
  struct sigaction action {};
  action.sa_handler = &weir_worker_crashed;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT, SIGSYS})
    ::sigaction(signal, &action, nullptr);
  std::set_new_handler(&out_of_memory);
}

void depend_on_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A terminal's and a service manager's signals are for the DCM, which ends its workers.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::pthread_atfork(nullptr, nullptr, [] { in_child.store(true, std::memory_order_relaxed); });
}

// Replaces the pages around these bytes by a private copy of them, at the same addresses.
bool make_private(ConstBytes bytes) {
  constexpr std::uintptr_t kSlicePage = 4096;
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()) / kSlicePage * kSlicePage;
  const auto end = (reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size() + kSlicePage - 1) /
                   kSlicePage * kSlicePage;
  const std::size_t size = end - begin;
  if (size == 0) return true;
  void* copy = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  void* place = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr): a page's address
  std::memcpy(copy, place, size);
  return ::mprotect(copy, size, PROT_READ) == 0 &&
         ::mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED;
}

std::size_t size_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

// ---- the worker

class Worker {
 public:
  int run();
  void keep_bytes(const weir_filter_slice& slice);

 private:
  void take(const v1::WorkerMessage& message);
  void set_up(const v1::WorkerMessage::Setup& setup);
  [[nodiscard]] std::string map(const v1::WorkerMessage::Setup& setup);
  [[nodiscard]] std::string map_slices(std::size_t bytes);
  void begin_run(const v1::WorkerMessage::BeginRun& begin);
  void refuse(const std::string& text);
  void work();
  void notify();
  void sleep();
  void log(int level, std::string_view line);

  ControlChannel control_{kControlDescriptor};
  FilterConfig config_;
  FilterMetrics metrics_;
  LaneView lane_;
  ConstBytes slice_memory_;
  std::unique_ptr<FilterInstance> instance_;
  std::optional<LaneWorker> lane_worker_;
  bool unheard_ = false;  // results of which the DCM may not know
  TimeNs notified_ns_ = 0;
  bool measures_cpu_ = false;
  int status_ = 0;
  bool ends_ = false;
};

void Worker::log(int level, std::string_view line) {
  v1::WorkerMessage message;
  message.mutable_log()->set_level(level);
  message.mutable_log()->set_line(std::string(line));
  control_.send(message);
}

void Worker::refuse(const std::string& text) {
  v1::WorkerMessage message;
  message.mutable_refused()->set_text(text);
  control_.send(message);
  control_.flush_all();
  status_ = kExitFailure;
  ends_ = true;
}

std::string Worker::map(const v1::WorkerMessage::Setup& setup) {
  const LaneLayout layout(setup.slots(), setup.rows_max(), config_.limits);
  if (setup.slots() == 0 || layout.bytes != size_of(kLaneDescriptor))
    return "its lane and its settings differ in size: DCM and filter worker have different versions";
  void* lane = ::mmap(nullptr, layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kLaneDescriptor, 0);
  if (lane == MAP_FAILED) return std::string("cannot map its lane: ") + std::strerror(errno);
  ::madvise(lane, layout.bytes, MADV_DONTFORK);
  lane_ = LaneView({static_cast<std::byte*>(lane), layout.bytes}, layout);
  if (lane_.header().magic != LaneHeader::kMagic || lane_.header().version != LaneHeader::kVersion)
    return "its lane has another version: DCM and filter worker have different versions";
  const std::size_t bytes = static_cast<std::size_t>(setup.slice_memory_bytes());
  if (bytes > size_of(kSliceMemoryDescriptor)) return "slice memory is smaller than in its settings";
  return bytes == 0 ? std::string() : map_slices(bytes);
}

std::string Worker::map_slices(std::size_t bytes) {
  void* slices = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, kSliceMemoryDescriptor, 0);
  if (slices == MAP_FAILED) return std::string("cannot map slice memory: ") + std::strerror(errno);
  slice_memory_ = {static_cast<const std::byte*>(slices), bytes};
  return {};
}

// The old mapping stays, with private pages where the filter still looks.
void Worker::keep_bytes(const weir_filter_slice& slice) {
  for (std::uint32_t i = 0; i < slice.fragment_count; ++i) {
    const weir_filter_fragment* fragment = weir_filter_fragment_at(&slice, i);
    if (fragment->data == nullptr) continue;
    if (!make_private({static_cast<const std::byte*>(fragment->data), fragment->length}))
      end_out_of_memory("no memory for slices that the filter refers to after process()\n");
  }
  if (!map_slices(slice_memory_.size()).empty())
    end_out_of_memory("no address space for slices that the filter refers to after process()\n");
  if (lane_worker_) lane_worker_->move_to(slice_memory_);
}

void Worker::set_up(const v1::WorkerMessage::Setup& setup) {
  if (setup.memory_bytes() > 0) {
    const rlimit limit{setup.memory_bytes(), setup.memory_bytes()};
    if (::setrlimit(RLIMIT_DATA, &limit) != 0)
      return refuse(std::string("cannot limit its memory: ") + std::strerror(errno));
  }
  config_ = config_of(setup);
  measures_cpu_ = setup.measure_cpu();
  config_.log = [this](int level, std::string_view line) { log(level, line); };
  if (std::string why = map(setup); !why.empty()) return refuse(why);
  if (setup.files().empty())
    return refuse("its settings have no plugin: DCM and filter worker have different versions");
  auto plugin = FilterPlugin::load_copy(copy_of(setup), kPluginDescriptor);
  if (!plugin) return refuse(plugin.error().text);
  auto instance = FilterInstance::create(*plugin, config_, metrics_);
  if (!instance) return refuse(instance.error().text);
  instance_ = std::move(*instance);
  lane_worker_.emplace(lane_, slice_memory_, *instance_, metrics_, &monotonic_now_ns, [] {
    if (in_child.load(std::memory_order_relaxed)) ::_exit(0);
  });
  if (instance_->has_batches()) {
    lane_worker_->work_in_batches(
        [this](std::span<const weir_filter_slice> slices) { instance_->begin_batch(slices); });
  }
  v1::WorkerMessage message;
  v1::WorkerMessage::Ready& ready = *message.mutable_ready();
  ready.set_name((*plugin)->name());
  ready.set_version((*plugin)->version());
  ready.set_path((*plugin)->path());
  ready.set_crc32c((*plugin)->file_crc32c());
  put_bookings(metrics_.layout(), ready);
  control_.send(message);
}

void Worker::begin_run(const v1::WorkerMessage::BeginRun& begin) {
  RunInfo run;
  run.run = RunNumber(begin.run());
  run.start_time = begin.utc_ns();
  run.sources.assign(begin.sources().begin(), begin.sources().end());
  if (auto begun = instance_->begin_run(run); !begun) return refuse(begun.error().text);
  v1::WorkerMessage message;
  v1::WorkerMessage::Begun& begun = *message.mutable_begun();
  if (const auto wish = instance_->first_sources()) {
    begun.set_wishes(true);
    measures_cpu_ = true;
    begun.mutable_sources()->Assign(wish->begin(), wish->end());
  }
  if (measures_cpu_) lane_worker_->measure_cpu([] { return cpu_now_ns(CLOCK_THREAD_CPUTIME_ID); });
  control_.send(message);
}

void Worker::take(const v1::WorkerMessage& message) {
  switch (message.body_case()) {
    case v1::WorkerMessage::kSetup:
      if (instance_ == nullptr) set_up(message.setup());
      return;
    case v1::WorkerMessage::kBeginRun:
      if (instance_ != nullptr) begin_run(message.begin_run());
      return;
    case v1::WorkerMessage::kEndRun: {
      if (instance_ == nullptr) return;
      lane_worker_->drop_states();
      v1::WorkerMessage answer;
      answer.mutable_ended()->set_error(instance_->end_run());
      control_.send(answer);
      return;
    }
    default:
      return;
  }
}

void Worker::notify() {
  if (!std::exchange(unheard_, false)) return;
  notified_ns_ = monotonic_now_ns();
  LaneHeader& header = lane_.header();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (header.dcm_asleep.load(std::memory_order_relaxed) == 0) return;
  header.dcm_asleep.store(0, std::memory_order_relaxed);
  // A filter may have filled the pipe, and made it one that blocks. The DCM wakes then, too.
  pollfd room{kResultsDescriptor, POLLOUT, 0};
  if (::poll(&room, 1, 0) > 0 && (room.revents & POLLOUT) != 0) (void)!::write(kResultsDescriptor, "", 1);
}

// Until there are slices, room, or a message.
void Worker::sleep() {
  std::array<pollfd, 2> wait{{{kControlDescriptor, POLLIN, 0}, {kWorkDescriptor, POLLIN, 0}}};
  if (instance_ != nullptr) {
    LaneHeader& header = lane_.header();
    header.cpu_ns.store(cpu_now_ns(CLOCK_PROCESS_CPUTIME_ID), std::memory_order_relaxed);
    header.worker_asleep.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    (void)::poll(wait.data(), wait.size(), lane_worker_->can_go_on() ? 0 : kLookAgainMs);
    header.worker_asleep.store(0, std::memory_order_relaxed);
    std::array<char, 64> wake_ups;
    if ((wait[1].revents & POLLIN) != 0) (void)!::read(kWorkDescriptor, wake_ups.data(), wake_ups.size());
  } else {
    (void)::poll(wait.data(), 1, -1);
  }
}

void Worker::work() {
  while (instance_ != nullptr) {
    switch (lane_worker_->step()) {
      case LaneWorker::Step::done:
        unheard_ = true;
        if (monotonic_now_ns() - notified_ns_ > kNotifyEvery) notify();
        continue;
      case LaneWorker::Step::waiting:
      case LaneWorker::Step::idle:
        return notify();
    }
  }
}

int Worker::run() {
  v1::WorkerMessage message;
  while (!ends_) {
    work();
    while (!ends_ && control_.receive(message)) take(message);
    if (ends_ || control_.ended()) break;
    sleep();
  }
  return status_;
}

}  // namespace

namespace {
Worker* the_worker = nullptr;
}

bool is_worker() { return size_of(kLaneDescriptor) > 0; }

void prepare_worker() {
  depend_on_parent();
  catch_crashes();
}

int run_worker() {
  Worker worker;
  the_worker = &worker;
  const int status = worker.run();
  the_worker = nullptr;
  return status;
}

void keep_slice_bytes(const weir_filter_slice& slice) {
  if (the_worker != nullptr) the_worker->keep_bytes(slice);
}

void end_out_of_memory(const char* text) {
  if (!in_child.load(std::memory_order_relaxed)) note(text);
  ::_exit(kExitOutOfMemory);
}

int run_worker_main() {
  if (!is_worker()) {
    std::fputs("weir-filter-worker is started by weir-dcm (filter.isolation: worker), not by hand\n", stderr);
    return 2;
  }
  prepare_worker();
  return run_worker();
}

}  // namespace weir::filter_host
