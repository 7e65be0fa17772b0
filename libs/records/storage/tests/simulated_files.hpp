#pragma once

#include <weir/storage/system_calls.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weir::storage::test {

// System calls on the files of one folder, which let one call fail or end the process at it. Written data are
// in real files, for readers; the part that would be on disk is kept separately. The model is harsher than
// real file systems: after a loss of power any part of unsynced data may exist, in sectors and in any order,
// and any part of unsynced names; a failed sync silently loses some of its data, and the next one does not
// report it.
class SimulatedFiles final : public SystemCalls {
 public:
  enum class Fault : std::uint8_t {
    none,
    no_space,         // the call fails without an effect
    io,               // the same; a sync may be done in part
    short_write,      // a write is done in part; other calls are normal
    short_then_full,  // the same, and the next call finds no space
    stop,             // the process ends before the call
    stop_within,      // ... after a part of it, if it is a write
  };
  enum class Loss : std::uint8_t { nothing, all_unsynced, any_part };
  // How the file system renames a file without replacing another one.
  enum class Publishing : std::uint8_t { by_rename, by_link, by_neither };

  explicit SimulatedFiles(std::string folder, Publishing publishing = Publishing::by_rename);
  ~SimulatedFiles() override;
  SimulatedFiles(const SimulatedFiles&) = delete;
  SimulatedFiles& operator=(const SimulatedFiles&) = delete;

  using Plan = std::map<std::uint64_t, Fault>;  // by the number of the call, counted from now on and from 0
  void plan(Plan faults, std::uint64_t seed);
  [[nodiscard]] std::uint64_t calls() const { return calls_; }  // since the last plan
  // True after the process' end: every further call fails without an effect.
  [[nodiscard]] bool stopped() const { return stopped_; }
  // The process has ended (its descriptors are closed), possibly with the power: only the folder remains. The
  // next process' calls are normal.
  void crash(Loss loss);

  int create(const std::string& path) override;
  int open_directory(const std::string& path) override;
  int open_existing(const std::string& path) override;
  int drop_cache(int descriptor) override;
  ssize_t pwritev(int descriptor, const iovec* pieces, int count, off_t offset) override;
  void start_writeback(int, off_t, off_t) override {}  // after a loss of power any part may exist anyway
  int fdatasync(int descriptor) override { return sync(descriptor); }
  int fsync(int descriptor) override { return sync(descriptor); }
  int ftruncate(int descriptor, off_t size) override;
  int rename_noreplace(const std::string& from, const std::string& to) override;
  int rename(const std::string& from, const std::string& to) override;
  int link(const std::string& from, const std::string& to) override;
  int unlink(const std::string& path) override;
  int close(int descriptor) override;
  // These calls change nothing, so ending at one of them is the same as ending at the next call that does.
  int stat_path(const std::string& path, struct stat& out) override {
    return fails_at_the_end() ? -1 : real_.stat_path(path, out);
  }
  int stat_open(int descriptor, struct stat& out) override {
    return fails_at_the_end() ? -1 : real_.stat_open(descriptor, out);
  }
  ssize_t pread(int descriptor, void* to, std::size_t bytes, off_t offset) override {
    return fails_at_the_end() ? -1 : real_.pread(descriptor, to, bytes, offset);
  }
  off_t first_hole(int descriptor) override { return fails_at_the_end() ? -1 : real_.first_hole(descriptor); }

 private:
  using Bytes = std::vector<char>;
  struct Change {  // of a file's contents; a truncation if it has no bytes
    std::size_t at;
    Bytes bytes;
  };
  struct File {
    Bytes on_disk;
    std::vector<Change> unsynced;
  };
  struct Rename {  // creation: no `from`; removal: no `to`
    std::string from;
    std::string to;
    std::shared_ptr<File> file;
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;

  // Returns the fault of this call, if it is the planned one.
  [[nodiscard]] Fault begin();
  [[nodiscard]] bool fails(Fault fault);  // sets errno
  [[nodiscard]] bool fails_at_the_end() { return stopped_ && fails(Fault::stop); }
  int sync(int descriptor);
  void apply_some(File& file, bool every);
  int note_rename(int result, const std::string& from, const std::string& to);
  void rename_in(Names& names, const Rename& change);
  [[nodiscard]] bool chance() { return random_() % 2 == 0; }

  std::string folder_;
  Publishing publishing_;
  SystemCalls& real_ = operating_system();
  std::map<int, std::shared_ptr<File>> open_;  // without a file: the folder
  Names names_;
  Names names_on_disk_;
  std::vector<Rename> unsynced_names_;
  std::uint64_t calls_ = 0;
  Plan plan_;
  bool full_ = false;
  std::atomic<bool> stopped_ = false;  // written by the disk thread, read by the test
  std::mt19937_64 random_{1};
};

}  // namespace weir::storage::test
