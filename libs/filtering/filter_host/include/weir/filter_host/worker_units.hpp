#pragma once

#include <weir/filter_host/filter_units.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/worker_process.hpp>
#include <weir/worker_pool/worker_pool.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::filter_host {

struct WorkerUnitsOptions {
  worker_pool::PoolSettings pool;
  std::size_t jobs_max = 4096;     // submitted and not drained
  std::uint32_t rows_max = 0;      // fragments of a slice
  std::uint64_t memory_bytes = 0;  // of one worker; 0: no limit
  bool measure_cpu = false;        // of each job; also where the filter wishes for its first sources
  ConstBytes slice_memory;         // sealed; what the slices' fragments lie in
};

// The plugin that a worker has loaded.
struct WorkerPlugin {
  std::string name;
  std::string version;
  std::string path;
  std::uint32_t file_crc32c = 0;
};

// Filters in worker processes: carries out what worker_pool::WorkerPool decides. A job's slice must stay as
// it is until its result is drained, also when its worker has died. One thread.
class WorkerUnits final : public FilterUnits {
 public:
  // Starts all workers and returns at once: poll_start() returns true when each has created its filter.
  // `host` outlives this.
  [[nodiscard]] static std::unique_ptr<WorkerUnits> launch(const std::string& plugin,
                                                           const std::vector<std::string>& search_path,
                                                           const FilterConfig& config,
                                                           const WorkerUnitsOptions& options,
                                                           WorkerHost& host);
  // Ends the workers.
  ~WorkerUnits() override;
  WorkerUnits(const WorkerUnits&) = delete;
  WorkerUnits& operator=(const WorkerUnits&) = delete;

  [[nodiscard]] Expected<bool, FilterError> poll_start() override;
  // Waits until poll_start() returns true.
  [[nodiscard]] Expected<void, FilterError> wait_for_start();
  // Returns at once, see poll_start().
  [[nodiscard]] Expected<void, FilterError> begin_run(const RunInfo& run) override;
  // Returns at once. The workers have the pool's start_timeout_ns, see poll_end().
  void end_run() override;
  // A worker that ends now, or does not answer, loses only its last messages.
  [[nodiscard]] bool poll_end() override;
  // Waits until poll_end() returns true.
  void wait_for_end();
  [[nodiscard]] std::string end_error() const override { return end_error_; }
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources() override { return first_sources_; }
  [[nodiscard]] DurationNs cpu_ns() const override;

  [[nodiscard]] std::size_t submit(std::span<const Job> jobs) override;
  void flush() override;
  void drain(std::vector<FilterResult*>& out) override;
  void recycle(std::span<FilterResult* const> results) override;
  [[nodiscard]] std::size_t in_flight() const override { return in_flight_; }
  [[nodiscard]] std::optional<OldestJob> oldest() const override;
  void running(std::vector<OldestJob>& out) const override;
  [[nodiscard]] FilterMetricsSnapshot metrics() const override;
  [[nodiscard]] histograms::Layout histograms() const override { return booked_; }
  [[nodiscard]] bool stop(DurationNs patience_ns) override;
  [[nodiscard]] bool is_isolated() const override { return true; }
  void take_kills(std::vector<SliceKills>& out) override;
  [[nodiscard]] WorkerFigures figures() const override;
  [[nodiscard]] std::string failure() const override { return failure_; }

  [[nodiscard]] const WorkerPlugin& plugin() const { return plugin_; }
  // Returns the first broken rule; empty: none.
  [[nodiscard]] std::string broken_invariant() const { return pool_.broken_invariant(); }

 private:
  struct Seat {
    std::unique_ptr<WorkerProcess> process;
    std::uint64_t submitted = 0;
    std::uint64_t taken = 0;
    std::string refusal;        // why it does not start
    bool created = false;       // Ready has come
    bool begun = false;         // of the run
    bool lane_touched = false;  // slices were lent in this pass
    histograms::Layout booked;  // its own bookings
    // By histogram of `booked`: its first cell in this object's layout; empty where all places agree.
    std::vector<std::uint32_t> places;
  };

  WorkerUnits(FilterConfig config, const WorkerUnitsOptions& options, WorkerHost& host);

  // Tasks of all workers before the first slice.
  enum class Start : std::uint8_t { none, create, begin_run };
  [[nodiscard]] std::string copy_plugin(const std::string& plugin,
                                        const std::vector<std::string>& search_path);
  void limit_memory();
  void expect(Start start);
  [[nodiscard]] Expected<bool, FilterError> look_at_starts();
  // Returns why a worker with this file cannot replace one of the run's; empty: it can.
  [[nodiscard]] std::string other_plugin(const v1::WorkerMessage::Ready& ready);
  [[nodiscard]] bool takes_slices() const { return in_run_ && !stopping_ && start_ == Start::none; }
  void start(worker_pool::Seat seat);
  void send_begin_run(Seat& seat);
  void take_messages(worker_pool::Seat index);
  void take_message(worker_pool::Seat index, const v1::WorkerMessage& message);
  void take_ready(worker_pool::Seat index, const v1::WorkerMessage::Ready& ready);
  // Returns why the worker's bookings cannot be those of this farm; empty: they can.
  [[nodiscard]] std::string take_bookings(Seat& seat, const v1::WorkerMessage::Ready& ready);
  static void translate(const Seat& seat, std::vector<histograms::Addition>& fills);
  void take_lane(worker_pool::Seat index);
  void take_ends();
  void end_worker(worker_pool::Seat index, bool hard);
  void note_unreplaced(worker_pool::Seat seat, const std::string& refusal);
  void keep_counters(const LaneView& lane);
  void add_counters(const LaneView& lane, std::map<std::string, std::uint64_t>& sums) const;
  void act();
  static void wake_if_asleep(Seat& seat);
  void lend(const worker_pool::PoolActions::Lend& lend);
  [[nodiscard]] bool may_forward(const FilterResult& result) const;
  FilterResult& new_result(std::uint64_t token);
  void hand_over(FilterResult& result);
  void remember(std::uint64_t token);

  FilterConfig config_;
  WorkerUnitsOptions options_;
  WorkerHost& host_;
  LaneLayout layout_;
  worker_pool::WorkerPool pool_;
  worker_pool::PoolActions actions_;
  v1::WorkerMessage setup_;
  std::string memory_limit_;
  v1::WorkerMessage begin_run_;
  bool in_run_ = false;
  bool stopping_ = false;
  Start start_ = Start::none;
  TimeNs start_until_ns_ = 0;
  TimeNs end_until_ns_ = 0;
  WorkerPlugin plugin_;
  std::optional<std::vector<std::uint32_t>> first_sources_;
  std::vector<Seat> seats_;
  histograms::Layout booked_;
  std::vector<Job> jobs_;  // by token
  std::vector<FilterResult*> finished_;
  std::vector<SliceKills> kills_;
  std::vector<std::unique_ptr<FilterResult>> storage_;
  std::vector<FilterResult*> free_;
  // Remembered between the steps of a slice: what its weir_filter_state refers to.
  struct StateHandle {
    WorkerUnits* units = nullptr;
    std::uint64_t token = 0;
  };
  static void forget_state(void* data);
  std::vector<std::unique_ptr<StateHandle>> handles_;  // by token
  std::size_t in_flight_ = 0;
  std::uint64_t unkillable_ = 0;
  std::string failure_;
  std::string replaced_;  // WorkerFigures::replaced
  std::string end_error_;
  DurationNs departed_cpu_ns_ = 0;                 // of workers that have ended
  std::map<std::string, std::uint64_t> departed_;  // counters of workers that have ended
};

}  // namespace weir::filter_host
