// A front-end that is read out on demand: a separate thread fetches each announced slice and delivers its
// fragments. The first source has no data for odd slices.
#include <weir/source.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

class OnDemand : public weir::AsyncSource {
 public:
  explicit OnDemand(weir::SourceSetup& setup) : AsyncSource(setup), fetched_(counter("fetched")) {}
  ~OnDemand() override { stop(); }

  void begin_run(const weir_source_run& /*run*/) override {
    stopped_ = false;
    thread_ = std::thread([this] { fetch(); });
  }
  void end_run() override { stop(); }
  void announced(const weir_source_trigger& trigger) override {
    const std::lock_guard lock(mutex_);
    asked_.push_back(trigger.slice);
    something_.notify_one();
  }
  void poll(std::int64_t /*now_ns*/) override {
    std::deque<std::uint64_t> ready;
    {
      const std::lock_guard lock(mutex_);
      ready.swap(ready_);
    }
    for (const std::uint64_t slice : ready) {
      fetched_.add();
      for (const std::uint32_t source : source_ids()) {
        if (source == source_ids().front() && slice % 2 == 1) {
          missing(source, slice, WEIR_SOURCE_NOT_PRODUCED);
        } else {
          deliver(source, slice, weir::SourceBytes(std::vector<std::byte>(100, std::byte{7})));
        }
      }
    }
  }

 private:
  void fetch() {
    std::unique_lock lock(mutex_);
    while (true) {
      something_.wait(lock, [&] { return stopped_ || !asked_.empty(); });
      if (stopped_) return;
      ready_.insert(ready_.end(), asked_.begin(), asked_.end());
      asked_.clear();
      wake();
    }
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      something_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

  weir::SourceCounter fetched_;
  std::mutex mutex_;
  std::condition_variable something_;
  std::deque<std::uint64_t> asked_;
  std::deque<std::uint64_t> ready_;
  bool stopped_ = false;
  std::thread thread_;
};
WEIR_SOURCE_PLUGIN(OnDemand, "on-demand", "1.0", "100 bytes of 7, fetched by a thread")
