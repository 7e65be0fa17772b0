#pragma once

#include <weir/ports/disk.hpp>
#include <weir/simnet/random.hpp>
#include <weir/simnet/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::simnet {

// The contents of a machine's disk, by path. They outlive the processes that write.
class DiskImage {
 public:
  struct File {
    std::vector<std::byte> bytes;  // as seen by processes
    std::size_t synced = 0;        // bytes that certainly survive a loss of power
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;  // counts changes by others
  };

  std::uint64_t capacity = UINT64_MAX;  // bytes of all files together

  // Loses power: of unsynced bytes an arbitrary part remains, block by block, some of it zeros.
  void lose_power(Random& random);
  // Puts everything on disk, as if a reader had synced it.
  void settle();
  [[nodiscard]] std::map<std::string, File>& files() { return files_; }
  [[nodiscard]] const std::map<std::string, File>& files() const { return files_; }
  [[nodiscard]] std::uint64_t bytes() const;

  std::uint64_t next_inode() { return ++inodes_; }

 private:
  std::map<std::string, File> files_;
  std::uint64_t inodes_ = 0;
};

struct DiskSettings {
  DurationNs operation_min = 20 * kMicrosecond;  // duration of one operation
  DurationNs operation_max = 5 * kMillisecond;
};

// ports::Disk over an image, with delays: one operation at a time, like a single thread. Destroyed with its
// process; an operation in progress is then done in part, depending on the seed.
class SimDisk final : public ports::Disk {
 public:
  // `wake` is called when there are events. Requires: all references outlive the disk.
  SimDisk(DiskImage& image, Timeline& timeline, Random random, const DiskSettings& settings,
          std::function<void()> wake);
  ~SimDisk() override;
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  void create(ports::FileId file, const std::string& path, std::uint64_t token) override;
  void append(ports::FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
              std::uint64_t token) override;
  void sync(ports::FileId file, std::uint64_t token) override;
  void truncate(ports::FileId file, std::uint64_t size, std::uint64_t token) override;
  void publish(ports::FileId file, const std::string& final_path, std::uint64_t token) override;
  void restore(ports::FileId file, std::uint64_t token) override;
  void look(ports::FileId file, const std::string& path, std::vector<ports::FileRange> ranges,
            std::uint64_t token) override;
  void read(ports::FileId file, const std::string& path, std::uint64_t token) override;

  // To be called in the process' pass.
  void deliver(ports::DiskHandler& handler);

  // Faults.
  void slow(DurationNs each_ns, TimeNs until_ns);  // duration of every operation
  void fail_next(ports::DiskError error) { fail_next_ = error; }
  // Removes the file, or cuts it to `size`, without the process' knowledge.
  void remove(const std::string& path);
  void cut(const std::string& path, std::size_t size);

 private:
  enum class Kind : std::uint8_t { create, append, sync, truncate, publish, restore, look, read };
  struct Operation {
    Kind kind;
    ports::FileId file;
    std::uint64_t token = 0;
    std::string path;
    std::vector<ConstBytes> pieces;
    std::shared_ptr<const void> owner;
    std::uint64_t size = 0;
    std::vector<ports::FileRange> ranges = {};
  };
  struct Open {
    std::string path;
    ports::DiskError error = ports::DiskError::none;
    std::uint64_t size = 0;                   // as the process left it
    std::optional<DiskImage::File> nameless;  // no longer named by its path
  };

  void ask(Operation operation);
  void begin();
  void end();
  ports::DiskError carry_out(const Operation& operation, ports::DiskEvent& event);
  ports::DiskError bring_back(Open& open, ports::FileView& view);
  ports::DiskError look_at(const Operation& operation, ports::FileView& view) const;
  ports::DiskError read_whole(const Operation& operation, ports::DiskEvent& event) const;
  ports::DiskError change(Open& open, const Operation& operation);
  ports::DiskError write(DiskImage::File& file, const std::vector<ConstBytes>& pieces) const;
  void leave_half_done(const Operation& operation);

  DiskImage& image_;
  Timeline& timeline_;
  Random random_;
  DiskSettings settings_;
  std::function<void()> wake_;
  std::deque<Operation> queue_;  // the first is in progress
  std::vector<ports::DiskEvent> done_;
  std::map<ports::FileId, Open> open_;
  std::optional<ports::DiskError> fail_next_;
  DurationNs slow_ns_ = 0;
  TimeNs slow_until_ns_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir::simnet
