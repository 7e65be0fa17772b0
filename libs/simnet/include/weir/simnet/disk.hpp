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

// What a machine's disk holds: it outlives the processes that write. Files by their path.
class DiskImage {
 public:
  struct File {
    std::vector<std::byte> bytes;  // as a process sees them
    std::size_t synced = 0;        // of them, what a loss of power leaves for certain
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;  // counts the changes by others
  };

  std::uint64_t capacity = UINT64_MAX;  // bytes of all files together

  // The power was gone: of what was not synced there is an arbitrary part, block by block, some of it zeros.
  void lose_power(Random& random);
  // Everything is on disk, as after a reader synced it.
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
  DurationNs operation_min = 20 * kMicrosecond;  // what one operation takes
  DurationNs operation_max = 5 * kMillisecond;
};

// ports::Disk over an image, with delays: one operation at a time, as by one thread. Destroyed with its
// process; what was under way then is done in part, by the seed.
class SimDisk final : public ports::Disk {
 public:
  // `wake`: there are events. All references outlive the disk.
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

  // On the process's pass.
  void deliver(ports::DiskHandler& handler);

  // Faults.
  void slow(DurationNs each_ns, TimeNs until_ns);  // every operation takes so long
  void fail_next(ports::DiskError error) { fail_next_ = error; }
  // The file is removed, or cut to `size`, behind the process's back.
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
    std::optional<DiskImage::File> nameless;  // its path does not name it any more
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
  std::deque<Operation> queue_;  // the first is under way
  std::vector<ports::DiskEvent> done_;
  std::map<ports::FileId, Open> open_;
  std::optional<ports::DiskError> fail_next_;
  DurationNs slow_ns_ = 0;
  TimeNs slow_until_ns_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir::simnet
