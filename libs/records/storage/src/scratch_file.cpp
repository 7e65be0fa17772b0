#include <weir/base/crc32c.hpp>
#include <weir/storage/scratch_file.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <span>
#include <sys/stat.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::storage {
namespace {

constexpr std::size_t kScratchPiecesMax = 64;    // of one system call
constexpr std::uint64_t kFlushBytes = 8U << 20;  // of the page cache that wait for the disk

std::string scratch_error(const char* what, const std::string& path) {
  return path + ": cannot " + what + ": " + std::strerror(errno);
}

// Writes all pieces. Returns false with errno set.
bool write_pieces(int descriptor, std::span<iovec> pieces, std::uint64_t offset) {
  while (!pieces.empty()) {
    ssize_t wrote =
        ::pwritev(descriptor, pieces.data(), static_cast<int>(pieces.size()), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      if (wrote == 0) errno = ENOSPC;
      return false;
    }
    offset += static_cast<std::uint64_t>(wrote);
    while (!pieces.empty() && static_cast<std::size_t>(wrote) >= pieces.front().iov_len) {
      wrote -= static_cast<ssize_t>(pieces.front().iov_len);
      pieces = pieces.subspan(1);
    }
    if (pieces.empty()) break;
    pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + wrote;
    pieces.front().iov_len -= static_cast<std::size_t>(wrote);
  }
  return true;
}

}  // namespace

class ScratchFile::Worker {
 public:
  struct Operation {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::uint64_t token = 0;
    const std::byte* from = nullptr;  // null: a read
  };

  Worker(std::string folder, std::uint64_t bytes, std::function<void()> wake)
      : folder_(std::move(folder)), bytes_(bytes), wake_(std::move(wake)), thread_([this] { run(); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    condition_.notify_one();
    thread_.join();
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void ask(const Operation& operation) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = queue_.empty();
      queue_.push_back(operation);
    }
    if (first) condition_.notify_one();
  }
  std::vector<ports::ScratchResult> take() {
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
        if (ending_) return;
        operations.swap(queue_);
      }
      for (std::size_t i = 0; i < operations.size();) {
        const std::size_t count = joined(std::span(operations).subspan(i));
        carry_out(std::span(operations).subspan(i, count));
        i += count;
        const std::lock_guard lock(mutex_);
        if (ending_) return;
      }
      operations.clear();
    }
  }

  // Returns how many of the first operations are one system call: a read, or writes one behind the other.
  static std::size_t joined(std::span<const Operation> operations) {
    std::size_t count = 1;
    while (count < std::min(operations.size(), kScratchPiecesMax) && operations[count - 1].from != nullptr &&
           operations[count].from != nullptr &&
           operations[count].offset == operations[count - 1].offset + operations[count - 1].length)
      ++count;
    return count;
  }

  void carry_out(std::span<const Operation> operations) {
    std::vector<ports::ScratchResult> results(operations.size());
    const std::string error = open();
    for (std::size_t i = 0; i < operations.size(); ++i) {
      results[i].token = operations[i].token;
      results[i].error = error;
    }
    if (error.empty()) {
      if (operations.front().from != nullptr) {
        write(operations, results);
      } else {
        read(operations.front(), results.front());
      }
    }
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = done_.empty();
      std::move(results.begin(), results.end(), std::back_inserter(done_));
    }
    if (first) wake_();
  }

  // Returns an empty text, or an error. Without support for reserving, writes find out that the disk is full.
  std::string open() {
    if (descriptor_ < 0) {
      std::error_code ignored;
      std::filesystem::create_directories(folder_, ignored);
      descriptor_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
      if (descriptor_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        std::string name = folder_ + "/weir-ring-XXXXXX";
        descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
        if (descriptor_ >= 0) ::unlink(name.c_str());
      }
      if (descriptor_ < 0) return scratch_error("make a file", folder_);
    }
    if (reserved_) return {};
    const int error = ::fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes_)) == 0 ? 0 : errno;
    if (error != 0 && error != EOPNOTSUPP && error != ENOSYS) {
      (void)::ftruncate(descriptor_, 0);  // a part may be reserved
      errno = error;
      return scratch_error("reserve room for burst.disk_bytes", folder_);
    }
    reserved_ = true;
    return {};
  }

  void write(std::span<const Operation> operations, std::span<ports::ScratchResult> results) {
    std::array<iovec, kScratchPiecesMax> pieces;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      results[i].crc32c = crc32c(ConstBytes(operations[i].from, operations[i].length));
      pieces[i] = {const_cast<std::byte*>(operations[i].from), operations[i].length};
      bytes += operations[i].length;
    }
    const std::uint64_t offset = operations.front().offset;
    if (!write_pieces(descriptor_, std::span(pieces).first(operations.size()), offset)) {
      const std::string error = scratch_error("write", folder_);
      for (ports::ScratchResult& result : results) result.error = error;
      return;
    }
    flush(offset, bytes);
  }

  // Waits for the disk now and then: a slow one shows at once, and the ring takes the page cache from no
  // other file. Errors show when the bytes are read.
  void flush(std::uint64_t offset, std::uint64_t bytes) {
    if (offset != unflushed_from_ + unflushed_) {
      flush_now();
      unflushed_from_ = offset;
    }
    unflushed_ += bytes;
    if (unflushed_ >= kFlushBytes) flush_now();
  }
  void flush_now() {
    if (unflushed_ == 0) return;
    const auto from = static_cast<off_t>(unflushed_from_);
    const auto length = static_cast<off_t>(unflushed_);
    (void)::sync_file_range(descriptor_, from, length,
                            SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    (void)::posix_fadvise(descriptor_, from, length, POSIX_FADV_DONTNEED);
    unflushed_from_ += unflushed_;
    unflushed_ = 0;
  }

  void read(const Operation& operation, ports::ScratchResult& result) {
    const auto bytes = std::make_shared_for_overwrite<std::byte[]>(operation.length);
    std::uint64_t have = 0;
    while (have < operation.length) {
      const ssize_t got = ::pread(descriptor_, bytes.get() + have, operation.length - have,
                                  static_cast<off_t>(operation.offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) errno = EIO;  // the file is shorter than what was written
      if (got <= 0) {
        result.error = scratch_error("read", folder_);
        return;
      }
      have += static_cast<std::uint64_t>(got);
    }
    result.bytes = ConstBytes(bytes.get(), operation.length);
    result.crc32c = crc32c(result.bytes);
    result.owner = bytes;
  }

  std::string folder_;
  std::uint64_t bytes_;
  std::function<void()> wake_;
  // Used by the thread only.
  int descriptor_ = -1;
  bool reserved_ = false;
  std::uint64_t unflushed_from_ = 0;
  std::uint64_t unflushed_ = 0;

  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<Operation> queue_;
  std::vector<ports::ScratchResult> done_;
  bool ending_ = false;

  std::thread thread_;  // declared last: the thread uses all members above
};

ScratchFile::ScratchFile(std::string folder, std::uint64_t bytes, std::function<void()> wake)
    : worker_(std::make_unique<Worker>(std::move(folder), bytes, std::move(wake))) {}
ScratchFile::~ScratchFile() = default;

void ScratchFile::write(std::uint64_t offset, ConstBytes bytes, std::uint64_t token) {
  worker_->ask({offset, bytes.size(), token, bytes.data()});
}

void ScratchFile::read(std::uint64_t offset, std::uint64_t length, std::uint64_t token) {
  worker_->ask({offset, length, token, nullptr});
}

std::vector<ports::ScratchResult> ScratchFile::take_results() { return worker_->take(); }

}  // namespace weir::storage
