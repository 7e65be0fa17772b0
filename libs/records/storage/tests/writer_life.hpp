#pragma once

#include "simulated_files.hpp"
#include "store_fixture.hpp"
#include <weir/storage/earlier_life.hpp>
#include <weir/storage/file_disk.hpp>

#include <cstdint>
#include <map>
#include <semaphore>
#include <utility>

namespace weir::storage::test {

// The records given to writers, and the writers' reports on them.
struct Book {
  std::map<std::pair<std::uint64_t, std::uint16_t>, RecordPlan> given;  // by slice and store epoch
  std::map<std::uint64_t, StoreEpoch> acknowledged;                     // the highest epoch
  std::map<std::uint64_t, StoreEpoch> dead;                             // as told to the writer

  void note(const Recorder& seen) {
    for (const StoredSlice& stored : seen.stored) {
      StoreEpoch& epoch = acknowledged[stored.slice.value];
      epoch = std::max(epoch, stored.epoch);
    }
  }
};

// A writer from its start to its end, or to the simulated process' end. After each step the disk has done all
// requested operations, so that the system calls are always the same.
class WriterLife {
 public:
  WriterLife(SimulatedFiles& files, RunStoreConfig config, const EarlierLife& earlier, Book& book)
      : files_(files), book_(book), disk_([this] { woken_.release(); }, files) {
    config.first_sequence = earlier.next_sequence;
    store_.emplace(std::move(config), counted_, seen_);
    for (const EarlierLife::Copy& copy : earlier.copies) {
      store_->remember(copy.slice, copy.attempt, copy.epoch, copy.sequence);
    }
    store_->start(now_, 1'700'000'000 * kSecond, text("begin"));
    drain();
    // Waits for room if necessary.
    for (int i = 0; i < 10 && !over() && seen_.ready == 0; ++i) pass(kSecond);
  }

  StoreResult put(const RecordPlan& plan) {
    book_.given[{plan.slice, plan.epoch}] = plan;
    const auto record = std::make_shared<const Buffer>(make_record(plan));
    return store_->store(*record, record, 0, now_);
  }
  void mark_dead(std::uint64_t slice, std::uint16_t epoch) {
    book_.dead[slice] = StoreEpoch(epoch);
    (void)store_->mark_dead(SliceId(slice), Attempt(0), StoreEpoch(epoch));
  }
  void pass(DurationNs after) {
    now_ += after;
    store_->tick(now_);
    store_->flush(now_);
    drain();
  }
  // Returns false if the disk prevents it.
  bool close() {
    store_->close(now_, text("end"));
    drain();
    for (int i = 0; i < 10 && !over() && !store_->finished(); ++i) pass(kSecond);
    return store_->finished();
  }
  [[nodiscard]] bool over() const { return files_.stopped() || !seen_.failed.empty(); }
  [[nodiscard]] const Recorder& seen() const { return seen_; }
  [[nodiscard]] RunStore& store() { return *store_; }

 private:
  struct Counted final : ports::Disk, ports::DiskHandler {
    explicit Counted(WriterLife& life) : life_(life) {}
    void create(ports::FileId file, const std::string& path, std::uint64_t token) override {
      ++life_.asked_;
      life_.disk_.create(file, path, token);
    }
    void append(ports::FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
                std::uint64_t token) override {
      ++life_.asked_;
      life_.disk_.append(file, std::move(pieces), std::move(owner), token);
    }
    void sync(ports::FileId file, std::uint64_t token) override {
      ++life_.asked_;
      life_.disk_.sync(file, token);
    }
    void truncate(ports::FileId file, std::uint64_t size, std::uint64_t token) override {
      ++life_.asked_;
      life_.disk_.truncate(file, size, token);
    }
    void publish(ports::FileId file, const std::string& final_path, std::uint64_t token) override {
      ++life_.asked_;
      life_.disk_.publish(file, final_path, token);
    }
    void restore(ports::FileId file, std::uint64_t token) override {
      ++life_.asked_;
      life_.disk_.restore(file, token);
    }
    void look(ports::FileId file, const std::string& path, std::vector<ports::FileRange> ranges,
              std::uint64_t token) override {
      ++life_.asked_;
      life_.disk_.look(file, path, std::move(ranges), token);
    }
    void read(ports::FileId file, const std::string& path, std::uint64_t token) override {
      ++life_.asked_;
      life_.disk_.read(file, path, token);
    }
    void on_disk_event(const ports::DiskEvent& event) override {
      ++life_.answered_;
      life_.store_->on_disk_event(event);
    }
    WriterLife& life_;
  };

  void drain() {
    while (answered_ < asked_) {
      woken_.acquire();
      disk_.deliver(counted_);
    }
    book_.note(seen_);
  }

  SimulatedFiles& files_;
  Book& book_;
  TimeNs now_ = 5 * kSecond;
  Recorder seen_;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
  Counted counted_{*this};
  std::optional<RunStore> store_;
  std::counting_semaphore<> woken_{0};
  FileDisk disk_;  // declared last: its thread uses the semaphore
};

}  // namespace weir::storage::test
