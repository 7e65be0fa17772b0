#include "look_at.hpp"
#include "mapped_file.hpp"
#include "open_file.hpp"
#include <weir/base/assert.hpp>
#include <weir/storage/file_disk.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace weir::storage {

using ports::DiskError;

class FileDisk::Worker {
 public:
  enum class Kind : std::uint8_t { create, append, sync, truncate, publish, restore, look, read };
  struct Operation {
    Kind kind;
    ports::FileId file;
    std::uint64_t token;
    std::string path;
    std::vector<ConstBytes> pieces;
    std::shared_ptr<const void> owner;
    std::uint64_t size = 0;
    std::vector<ports::FileRange> ranges = {};
    ports::FileView view = {};
    std::shared_ptr<const MappedFile> mapped = {};
  };
  struct Done {
    ports::DiskEvent event;
    std::shared_ptr<const void> owner;
  };

  Worker(std::function<void()> wake, SystemCalls& calls)
      : calls_(calls), wake_(std::move(wake)), thread_([this] { run(); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    condition_.notify_one();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void ask(Operation operation) {
    {
      const std::lock_guard lock(mutex_);
      WEIR_ASSERT(!ending_);
      queue_.push_back(std::move(operation));
    }
    condition_.notify_one();
  }

  std::vector<Done> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(done_, {});
  }

 private:
  void run() {
    std::vector<Operation> operations;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        condition_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
        operations.swap(queue_);
      }
      for (Operation& operation : operations) finish(operation, carry_out(operation));
      operations.clear();
    }
  }

  void finish(Operation& operation, DiskOutcome outcome) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = done_.empty();
      done_.push_back({{operation.file, operation.token, outcome.error, std::move(outcome.detail),
                        std::move(operation.view),
                        operation.mapped ? operation.mapped->bytes() : ConstBytes(), operation.mapped},
                       std::move(operation.owner)});
    }
    if (first) wake_();
  }

  DiskOutcome carry_out(Operation& operation) {
    if (operation.kind == Kind::create) {
      std::unique_ptr<OpenFile> file;
      DiskOutcome outcome = OpenFile::create(calls_, operation.path, file);
      if (file) files_[operation.file] = std::move(file);
      return outcome;
    }
    if (operation.kind == Kind::look)
      return look_at(calls_, operation.path, operation.ranges, operation.view);
    if (operation.kind == Kind::read) return map(operation);
    const auto found = files_.find(operation.file);
    if (found == files_.end()) return {DiskError::not_found, "an operation on a file that was not created"};
    OpenFile& file = *found->second;
    switch (operation.kind) {
      case Kind::append:
        return file.append(operation.pieces);
      case Kind::sync:
        return file.sync();
      case Kind::truncate:
        return file.truncate(operation.size);
      case Kind::restore:
        return file.restore(operation.view.size);
      default:
        break;
    }
    DiskOutcome outcome = file.publish(operation.path);
    if (outcome.error == DiskError::none) files_.erase(found);
    return outcome;
  }

  static DiskOutcome map(Operation& operation) {
    auto mapped = MappedFile::open(operation.path);
    if (!mapped) {
      const bool gone = ::access(operation.path.c_str(), F_OK) != 0;
      return {gone ? DiskError::not_found : DiskError::io, mapped.error().detail};
    }
    operation.mapped = std::make_shared<const MappedFile>(std::move(*mapped));
    return {};
  }

  SystemCalls& calls_;
  std::function<void()> wake_;
  std::unordered_map<ports::FileId, std::unique_ptr<OpenFile>> files_;  // used by the thread only

  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<Operation> queue_;
  std::vector<Done> done_;
  bool ending_ = false;

  std::thread thread_;  // declared last: the thread uses all members above
};

FileDisk::FileDisk(std::function<void()> wake, SystemCalls& calls)
    : worker_(std::make_unique<Worker>(std::move(wake), calls)) {}
FileDisk::~FileDisk() = default;

void FileDisk::create(ports::FileId file, const std::string& path, std::uint64_t token) {
  worker_->ask({Worker::Kind::create, file, token, path, {}, {}});
}
void FileDisk::append(ports::FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
                      std::uint64_t token) {
  worker_->ask({Worker::Kind::append, file, token, {}, std::move(pieces), std::move(owner)});
}
void FileDisk::sync(ports::FileId file, std::uint64_t token) {
  worker_->ask({Worker::Kind::sync, file, token, {}, {}, {}});
}
void FileDisk::truncate(ports::FileId file, std::uint64_t size, std::uint64_t token) {
  worker_->ask({Worker::Kind::truncate, file, token, {}, {}, {}, size});
}
void FileDisk::publish(ports::FileId file, const std::string& final_path, std::uint64_t token) {
  worker_->ask({Worker::Kind::publish, file, token, final_path, {}, {}});
}
void FileDisk::restore(ports::FileId file, std::uint64_t token) {
  worker_->ask({Worker::Kind::restore, file, token, {}, {}, {}});
}
void FileDisk::look(ports::FileId file, const std::string& path, std::vector<ports::FileRange> ranges,
                    std::uint64_t token) {
  worker_->ask({Worker::Kind::look, file, token, path, {}, {}, 0, std::move(ranges)});
}
void FileDisk::read(ports::FileId file, const std::string& path, std::uint64_t token) {
  worker_->ask({Worker::Kind::read, file, token, path, {}, {}});
}

void FileDisk::deliver(ports::DiskHandler& handler) {
  for (const Worker::Done& done : worker_->take()) handler.on_disk_event(done.event);
}

}  // namespace weir::storage
