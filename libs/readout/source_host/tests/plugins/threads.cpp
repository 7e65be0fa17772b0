// A source with a thread for each of its sources: it makes the fragments, logs, counts and wakes the readout.
// The readout's thread delivers them.
#include <weir/source.hpp>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

class Threads : public weir::AsyncSource {
 public:
  explicit Threads(weir::SourceSetup& setup)
      : AsyncSource(setup),
        made_(counter("made")),
        turns_(counter("turns")),
        announced_(counter("announced")) {
    for (const std::uint32_t source : source_ids()) {
      workers_.push_back(std::make_unique<Worker>());
      workers_.back()->thread =
          std::thread([this, source, worker = workers_.back().get()] { work(source, *worker); });
    }
  }
  ~Threads() override {
    for (const auto& worker : workers_) {
      {
        const std::lock_guard lock(worker->mutex);
        worker->ends = true;
      }
      worker->work.notify_one();
      worker->thread.join();
    }
  }

  void begin_run(const weir_source_run& run) override {
    log(WEIR_SOURCE_LOG_INFO, "run " + std::to_string(run.run));
    counter(("run_" + std::to_string(run.run)).c_str()).add();  // a new name while threads count
  }
  void announced(const weir_source_trigger& trigger) override {
    announced_.add();
    for (const auto& worker : workers_) {
      {
        const std::lock_guard lock(worker->mutex);
        worker->slices.push_back(trigger.slice);
      }
      worker->work.notify_one();
    }
  }
  void poll(std::int64_t /*now_ns*/) override {
    std::vector<Made> made;
    {
      const std::lock_guard lock(mutex_);
      made.swap(ready_);
    }
    for (Made& one : made) deliver(one.source, one.slice, weir::SourceBytes(std::move(one.bytes)));
  }

 private:
  struct Worker {
    std::mutex mutex;
    std::condition_variable work;
    std::deque<std::uint64_t> slices;
    bool ends = false;
    std::thread thread;
  };
  struct Made {
    std::uint32_t source;
    std::uint64_t slice;
    std::vector<std::byte> bytes;
  };

  void work(std::uint32_t source, Worker& worker) {
    while (true) {
      turns_.add();
      wake();
      std::uint64_t slice = 0;
      {
        std::unique_lock lock(worker.mutex);
        worker.work.wait(lock, [&] { return worker.ends || !worker.slices.empty(); });
        if (worker.ends) return;
        slice = worker.slices.front();
        worker.slices.pop_front();
      }
      log(WEIR_SOURCE_LOG_INFO, "slice " + std::to_string(slice));
      made_.add();
      const std::lock_guard lock(mutex_);
      ready_.push_back({source, slice, std::vector<std::byte>(source)});
    }
  }

  weir::SourceCounter made_;
  weir::SourceCounter turns_;
  weir::SourceCounter announced_;
  std::mutex mutex_;
  std::vector<Made> ready_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

WEIR_SOURCE_PLUGIN(Threads, "threads", "1.0", "makes fragments in threads of its own")
