#include <weir/base/assert.hpp>
#include <weir/supervisor/journal_store.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace weir::supervisor {
namespace {

constexpr mode_t kMode = 0666;
constexpr std::size_t kReadAtOnce = 1U << 20U;
// Space reserved for the journal on a disk shared with data: if the disk fills up, writers stop first, and
// the run's account continues. Enough for about ten thousand slices in flight.
constexpr off_t kAhead = 1 << 20;

class JournalFile final : public JournalStore {
 public:
  explicit JournalFile(std::string path) : path_(std::move(path)) {}
  ~JournalFile() override { close_file(); }
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  Expected<std::vector<std::byte>, std::string> read() override {
    std::vector<std::byte> bytes;
    if (::access(broken().c_str(), F_OK) == 0) {
      return Unexpected<std::string>("the run's journal " + broken() +
                                     " has a gap, so this run cannot be resumed: begin a new one");
    }
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      if (errno == ENOENT) return bytes;
      return failed("cannot read");
    }
    std::vector<std::byte> part(kReadAtOnce);
    ssize_t n = 0;
    while ((n = ::read(file, part.data(), part.size())) > 0) {
      bytes.insert(bytes.end(), part.begin(), part.begin() + n);
    }
    const int error = errno;
    ::close(file);
    errno = error;
    if (n < 0) return failed("cannot read");
    return bytes;
  }

  Expected<void, std::string> append(ConstBytes bytes) override {
    const off_t whole = file_ < 0 ? -1 : ::lseek(file_, 0, SEEK_END);
    if (write_all(file_, bytes)) {
      if (whole + static_cast<off_t>(bytes.size()) > reserved_ - kAhead / 2) reserve();
      return {};
    }
    const auto error = failed("cannot write");
    // A part of an entry would be the end of the journal for its reader.
    if (whole >= 0 && ::ftruncate(file_, whole) != 0) full_ = false;
    return error;
  }

  Expected<void, std::string> replace(ConstBytes bytes) override {
    const std::string fresh = path_ + ".new";
    const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kMode);
    if (file < 0) return failed("cannot create");
    if (!write_all(file, bytes) || std::rename(fresh.c_str(), path_.c_str()) != 0) {
      const auto error = failed("cannot write");
      ::close(file);
      ::unlink(fresh.c_str());
      return error;
    }
    close_file();
    file_ = file;
    reserve();
    ::unlink(broken().c_str());
    return {};
  }

  [[nodiscard]] bool no_room() const override { return full_; }

  void remove() override {
    close_file();
    ::unlink(path_.c_str());
  }

  void abandon() override {
    close_file();
    if (std::rename(path_.c_str(), broken().c_str()) == 0) return;
    const int file = ::open(broken().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode);
    if (file >= 0) ::close(file);
  }

 private:
  [[nodiscard]] std::string broken() const { return path_ + ".broken"; }
  [[nodiscard]] Unexpected<std::string> failed(const char* what) {
    full_ = errno == ENOSPC || errno == EDQUOT;
    return Unexpected<std::string>(std::string(what) + " the run's journal " + path_ + ": " +
                                   std::strerror(errno));
  }
  static bool write_all(int file, ConstBytes bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }
  // Reserves space beyond the end of the file without changing its size. If the file system cannot do that or
  // is full, the next attempt follows half of it later; append() reports errors.
  void reserve() {
    WEIR_ASSERT(file_ >= 0);
    const off_t end = ::lseek(file_, 0, SEEK_END);
    (void)::fallocate(file_, FALLOC_FL_KEEP_SIZE, end, kAhead);
    reserved_ = end + kAhead;
  }
  void close_file() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

  std::string path_;
  int file_ = -1;
  off_t reserved_ = 0;  // bytes of the file that have their place on the disk
  bool full_ = false;
};

}  // namespace

std::unique_ptr<JournalStore> make_journal_file(const std::string& path) {
  return std::make_unique<JournalFile>(path);
}

}  // namespace weir::supervisor
