#include "sim_workers.hpp"

#include <weir/filter_host/lane_worker.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/filter_host/worker_bookings.hpp>

#include <algorithm>
#include <deque>
#include <new>
#include <optional>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

namespace weir::sim {
namespace {

using filter_host::LaneWorker;
using worker_pool::EndKind;
using worker_pool::WorkerEnd;

struct Died {};  // thrown out of a step

constexpr DurationNs kKillTakes = kMillisecond;
constexpr std::int64_t kStepsAtOnce = 8;
// Per thousand steps of a worker that is not fresh.
constexpr std::uint64_t kDies = 15;
constexpr std::uint64_t kMemoryRunsOut = 30;
constexpr std::uint64_t kHangs = 40;

std::size_t size_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

}  // namespace

// Memory of the kernel's, touched page by page.
class Mapping {
 public:
  Mapping(std::size_t bytes, int protection, int flags, int descriptor)
      : bytes_(bytes), at_(::mmap(nullptr, bytes, protection, flags, descriptor, 0)) {
    if (at_ == MAP_FAILED) throw std::runtime_error("mmap");
  }
  ~Mapping() { ::munmap(at_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] Bytes bytes() const { return {static_cast<std::byte*>(at_), bytes_}; }

 private:
  std::size_t bytes_;
  void* at_;
};

struct SimWorkers::Shared {
  Shared(Surroundings around_, int descriptor, simnet::Random random_)
      : around(std::move(around_)),
        random(random_),
        slices(size_of(descriptor), PROT_READ, MAP_SHARED, descriptor) {}

  [[nodiscard]] bool disturbed() const { return around.world.now_ns() < around.scenario.faults_end_ns; }

  Surroundings around;
  simnet::Random random;
  Mapping slices;
  std::set<std::uint64_t> blamed;  // slices that a worker was ended over: hung, or out of memory
  std::vector<std::weak_ptr<Life>> lives;
  std::int64_t pids = 0;
};

// One worker. Events of the timeline hold it weakly: with its DCM it is gone.
class SimWorkers::Life : public std::enable_shared_from_this<Life> {
 public:
  Life(std::shared_ptr<Shared> shared, const filter_host::LaneLayout& layout)
      : shared_(std::move(shared)),
        memory_(layout.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1),
        lane_(memory_.bytes(), layout),
        pid_(++shared_->pids) {
    new (memory_.bytes().data()) filter_host::LaneHeader;
  }

  // Starts a worker after a short delay; a few never start.
  void boot(DurationNs start_timeout_ns) {
    const bool late = shared_->disturbed() && shared_->random.chance(50);
    const DurationNs takes =
        shared_->random.between(kMicrosecond, std::max<DurationNs>(start_timeout_ns / 3, 2 * kMicrosecond));
    after(late ? 2 * start_timeout_ns : takes, [this] {
      booted_ = true;
      take_messages();
    });
  }
  // As if time had passed.
  void hurry() {
    booted_ = true;
    if (killed_) die({EndKind::signal, "signal 9"});
    take_messages();
  }

  void send(const v1::WorkerMessage& message) {
    inbox_.push_back(message);
    if (booted_) after(kMicrosecond, [this] { take_messages(); });
  }
  bool receive(v1::WorkerMessage& message) {
    if (outbox_.empty()) return false;
    message = std::move(outbox_.front());
    outbox_.pop_front();
    return true;
  }
  void wake() { schedule(); }
  void kill(bool hard) {
    if (!hard && shared_->random.chance(300)) return;  // it does not listen
    killed_ = true;
    after(kKillTakes, [this] { die({EndKind::signal, "signal"}); });
  }
  [[nodiscard]] const std::optional<WorkerEnd>& end() const { return end_; }
  [[nodiscard]] const filter_host::LaneView& lane() const { return lane_; }
  [[nodiscard]] std::int64_t pid() const { return pid_; }

 private:
  void after(DurationNs delay_ns, std::function<void()> what) {
    shared_->around.world.timeline().after(delay_ns, [weak = weak_from_this(), what = std::move(what)] {
      if (const auto self = weak.lock(); self && !self->end_) what();
    });
  }
  void die(WorkerEnd end) {
    if (end_) return;
    end_ = std::move(end);
    shared_->around.wake();
  }
  void answer(const v1::WorkerMessage& message) {
    outbox_.push_back(message);
    shared_->around.wake();
  }
  void refuse(const std::string& text) {
    v1::WorkerMessage message;
    message.mutable_refused()->set_text(text);
    answer(message);
    die({EndKind::exit, "exit status 1"});
  }

  void take_messages() {
    while (!inbox_.empty() && !end_) {
      const v1::WorkerMessage message = std::move(inbox_.front());
      inbox_.pop_front();
      if (message.has_setup()) set_up(message.setup());
      if (message.has_begin_run() && instance_) begin_run(message.begin_run());
      if (message.has_end_run() && instance_) {
        worker_->drop_states();
        instance_->end_run();
        v1::WorkerMessage ended;
        (void)ended.mutable_ended();
        answer(ended);
      }
    }
  }
  void set_up(const v1::WorkerMessage::Setup& setup) {
    filter_host::FilterConfig config;
    for (const auto& parameter : setup.parameters())
      config.parameters.emplace_back(parameter.name(), parameter.value());
    for (const auto& group : setup.forward_groups())
      config.forward_groups.emplace_back(group.name(), group.number());
    for (const auto& group : setup.groups())
      config.groups.push_back({group.name(), {group.sources().begin(), group.sources().end()}});
    auto plugin = filter_host::FilterPlugin::load(setup.plugin(), shared_->around.plugin_path);
    if (!plugin) return refuse(plugin.error().text);
    auto instance = filter_host::FilterInstance::create(*plugin, config, metrics_);
    if (!instance) return refuse(instance.error().text);
    instance_ = std::move(*instance);
    worker_.emplace(
        lane_, shared_->slices.bytes(), *instance_, metrics_,
        [this] { return shared_->around.world.now_ns(); },
        [this] {
          if (shared_->around.take_death()) throw Died{};
        });
    v1::WorkerMessage message;
    message.mutable_ready()->set_name((*plugin)->name());
    message.mutable_ready()->set_version((*plugin)->version());
    message.mutable_ready()->set_path((*plugin)->path());
    message.mutable_ready()->set_crc32c((*plugin)->file_crc32c());
    filter_host::put_bookings(metrics_.layout(), *message.mutable_ready());
    answer(message);
  }
  void begin_run(const v1::WorkerMessage::BeginRun& begin) {
    filter_host::RunInfo run;
    run.run = RunNumber(begin.run());
    run.start_time = begin.utc_ns();
    run.sources.assign(begin.sources().begin(), begin.sources().end());
    if (auto begun = instance_->begin_run(run); !begun) return refuse(begun.error().text);
    v1::WorkerMessage message;
    v1::WorkerMessage::Begun& begun = *message.mutable_begun();
    if (const auto wish = instance_->first_sources()) {
      begun.set_wishes(true);
      begun.mutable_sources()->Assign(wish->begin(), wish->end());
    }
    answer(message);
    lane_.header().worker_asleep.store(1);
  }

  void schedule() {
    if (std::exchange(scheduled_, true)) return;
    const DurationNs most = shared_->around.scenario.strict_blame
                                ? shared_->around.scenario.worker_start_ns / 4
                                : 2 * kMillisecond;
    after(shared_->random.skewed(10 * kMicrosecond, std::max<DurationNs>(most, kMillisecond)), [this] {
      scheduled_ = false;
      work();
    });
  }
  void work() {
    for (std::int64_t left = shared_->random.between(1, kStepsAtOnce); left > 0; --left) {
      if (hangs_) return;
      if (!worker_->can_go_on()) {
        lane_.header().worker_asleep.store(1);
        return tell();
      }
      try {
        if (!step()) return;
      } catch (const Died&) {
        return die({EndKind::signal, "signal 11"});
      }
    }
    tell();
    schedule();
  }
  void tell() {
    if (lane_.header().dcm_asleep.exchange(0) != 0) shared_->around.wake();
  }
  // False: it came to no end.
  bool step() {
    const bool fresh = lane_.header().done.load() == 0;
    const std::uint64_t fate = fresh || !shared_->disturbed() ? 1000 : shared_->random.below(1000);
    if (fate < kDies) {
      die({EndKind::signal, "signal 11"});
      return false;
    }
    if (worker_->begin()) {
      const filter_host::LaneDescription& description = lane_.description(lane_.header().done.load());
      // There a slice is blamed once only.
      if (shared_->around.scenario.strict_blame) {
        (void)worker_->finish();
        return true;
      }
      // Each slice ends its worker once: one that is blamed twice, or alone, is poison, which is for the
      // filters that end their process.
      if (fate < kMemoryRunsOut && shared_->blamed.insert(description.slice).second) {
        die({EndKind::memory, "out of memory"});
        return false;
      }
      if (fate < kHangs && description.attempt == 0 && shared_->blamed.insert(description.slice).second) {
        hangs_ = true;
        return false;
      }
    }
    (void)worker_->finish();
    return true;
  }

  std::shared_ptr<Shared> shared_;
  Mapping memory_;
  filter_host::LaneView lane_;
  std::int64_t pid_;
  filter_host::FilterMetrics metrics_;
  std::unique_ptr<filter_host::FilterInstance> instance_;
  std::optional<LaneWorker> worker_;
  std::deque<v1::WorkerMessage> inbox_;
  std::deque<v1::WorkerMessage> outbox_;
  std::optional<WorkerEnd> end_;
  bool booted_ = false;
  bool scheduled_ = false;
  bool killed_ = false;
  bool hangs_ = false;
};

namespace {

class SimWorker final : public filter_host::WorkerProcess {
 public:
  explicit SimWorker(std::shared_ptr<SimWorkers::Life> life) : life_(std::move(life)) {}
  const filter_host::LaneView& lane() const override { return life_->lane(); }
  void send(const v1::WorkerMessage& message) override { life_->send(message); }
  bool receive(v1::WorkerMessage& message) override { return life_->receive(message); }
  void wake() override { life_->wake(); }
  void end_in_order() override { life_->kill(true); }
  void kill(bool hard) override { life_->kill(hard); }
  std::optional<WorkerEnd> end() override { return life_->end(); }
  std::int64_t pid() const override { return life_->pid(); }

 private:
  std::shared_ptr<SimWorkers::Life> life_;
};

}  // namespace

SimWorkers::SimWorkers(Surroundings around, int slice_memory, simnet::Random random)
    : shared_(std::make_shared<Shared>(std::move(around), slice_memory, random)) {}

SimWorkers::~SimWorkers() = default;

Expected<std::unique_ptr<filter_host::WorkerProcess>, std::string> SimWorkers::start(
    const filter_host::LaneLayout& layout) {
  auto life = std::make_shared<Life>(shared_, layout);
  std::erase_if(shared_->lives, [](const auto& one) { return one.expired(); });
  shared_->lives.push_back(life);
  life->boot(shared_->around.scenario.worker_start_ns);
  return std::unique_ptr<filter_host::WorkerProcess>(std::make_unique<SimWorker>(std::move(life)));
}

void SimWorkers::wait(DurationNs /*patience_ns*/) {
  const auto lives = shared_->lives;
  for (const auto& one : lives) {
    if (const auto life = one.lock()) life->hurry();
  }
}

TimeNs SimWorkers::now_ns() const { return shared_->around.world.now_ns(); }

}  // namespace weir::sim
