#include <weir/storage/file_disk.hpp>
#include <weir/storage/format.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <sys/stat.h>
#include <sys/uio.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace weir::storage {
namespace {

using ports::DiskError;

struct Outcome {
  DiskError error = DiskError::none;
  std::string detail;
};

DiskError disk_error(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return DiskError::no_space;
    case EACCES:
    case EPERM:
    case EROFS:
      return DiskError::not_writable;
    case EEXIST:
      return DiskError::exists;
    case ENOENT:
    case ENOTDIR:
      return DiskError::not_found;
    default:
      return DiskError::io;
  }
}

Outcome failure(int error, const char* doing, const std::string& path) {
  return {disk_error(error), path + ": cannot " + doing + ": " + std::generic_category().message(error)};
}

// A file's name is on disk when its directory is synced.
int sync_directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const int directory = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return errno;
  const int error = ::fsync(directory) == 0 ? 0 : errno;
  ::close(directory);
  return error;
}

// One file, as the disk's thread sees it.
class OpenFile {
 public:
  static Outcome create(const std::string& path, std::unique_ptr<OpenFile>& out) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0) return failure(errno, "create", path);
    auto file = std::unique_ptr<OpenFile>(new OpenFile(descriptor, path));
    if (const int error = sync_directory_of(path); error != 0) {
      ::unlink(path.c_str());
      return failure(error, "sync the directory", path);
    }
    out = std::move(file);
    return {};
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  Outcome append(std::vector<ConstBytes>& pieces) {
    if (outcome_.error != DiskError::none) return outcome_;
    constexpr std::size_t kPiecesMax = 1024;  // IOV_MAX on Linux
    std::array<iovec, kPiecesMax> vector{};
    std::size_t first = 0;
    while (first < pieces.size()) {
      const std::size_t count = std::min(pieces.size() - first, kPiecesMax);
      for (std::size_t i = 0; i < count; ++i) {
        vector[i] = {const_cast<std::byte*>(pieces[first + i].data()), pieces[first + i].size()};
      }
      const ssize_t written =
          ::pwritev(descriptor_, vector.data(), static_cast<int>(count), static_cast<off_t>(size_));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return keep(failure(errno, "write", path_));
      size_ += static_cast<std::uint64_t>(written);
      first = skip(pieces, first, static_cast<std::size_t>(written));
    }
    return {};
  }

  Outcome sync() {
    if (outcome_.error != DiskError::none) return outcome_;
    if (::fdatasync(descriptor_) != 0) return keep(failure(errno, "sync", path_));
    return {};
  }

  Outcome truncate(std::uint64_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
      return keep(failure(errno, "truncate", path_));
    size_ = size;
    outcome_ = {};
    return {};
  }

  // May be asked again after an error, from where it stopped.
  Outcome publish(const std::string& final_path) {
    if (outcome_.error != DiskError::none) return outcome_;
    if (::fsync(descriptor_) != 0) return keep(failure(errno, "sync", path_));
    if (path_ != final_path) {
      if (const int error = rename_to(final_path); error != 0)
        return keep(failure(error, "publish as", final_path));
      path_ = final_path;
    }
    if (const int error = sync_directory_of(path_); error != 0) {
      return keep(failure(error, "sync the directory", path_));
    }
    return {};
  }

 private:
  OpenFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int rename_to(const std::string& final_path) const {
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_path.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    // File systems without RENAME_NOREPLACE (NFS): a hard link does not replace, either.
    if (::link(path_.c_str(), final_path.c_str()) != 0) return errno;
    return ::unlink(path_.c_str()) == 0 ? 0 : errno;
  }

  static std::size_t skip(std::vector<ConstBytes>& pieces, std::size_t first, std::size_t written) {
    while (first < pieces.size() && written >= pieces[first].size()) written -= pieces[first++].size();
    if (first < pieces.size()) pieces[first] = pieces[first].subspan(written);
    return first;
  }

  Outcome keep(Outcome outcome) {
    outcome_ = outcome;
    return outcome;
  }

  int descriptor_;
  std::string path_;
  std::uint64_t size_ = 0;
  Outcome outcome_;  // of the operation that failed, until truncate()
};

}  // namespace

class FileDisk::Worker {
 public:
  enum class Kind : std::uint8_t { create, append, sync, truncate, publish };
  struct Operation {
    Kind kind;
    ports::FileId file;
    std::uint64_t token;
    std::string path;
    std::vector<ConstBytes> pieces;
    std::shared_ptr<const void> owner;
    std::uint64_t size = 0;
  };
  struct Done {
    ports::DiskEvent event;
    std::shared_ptr<const void> owner;
  };

  explicit Worker(std::function<void()> wake) : wake_(std::move(wake)), thread_([this] { run(); }) {}
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

  void finish(Operation& operation, Outcome outcome) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = done_.empty();
      done_.push_back({{operation.file, operation.token, outcome.error, std::move(outcome.detail)},
                       std::move(operation.owner)});
    }
    if (first) wake_();
  }

  Outcome carry_out(Operation& operation) {
    if (operation.kind == Kind::create) {
      std::unique_ptr<OpenFile> file;
      Outcome outcome = OpenFile::create(operation.path, file);
      if (file) files_[operation.file] = std::move(file);
      return outcome;
    }
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
      default:
        break;
    }
    Outcome outcome = file.publish(operation.path);
    if (outcome.error == DiskError::none) files_.erase(found);
    return outcome;
  }

  std::function<void()> wake_;
  std::unordered_map<ports::FileId, std::unique_ptr<OpenFile>> files_;  // of the thread

  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<Operation> queue_;
  std::vector<Done> done_;
  bool ending_ = false;

  std::thread thread_;  // last: it uses everything above
};

FileDisk::FileDisk(std::function<void()> wake) : worker_(std::make_unique<Worker>(std::move(wake))) {}
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

void FileDisk::deliver(ports::DiskHandler& handler) {
  for (const Worker::Done& done : worker_->take()) handler.on_disk_event(done.event);
}

}  // namespace weir::storage
