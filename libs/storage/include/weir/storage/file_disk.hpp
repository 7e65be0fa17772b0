#pragma once

#include <weir/ports/disk.hpp>
#include <weir/storage/system_calls.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::storage {

// ports::Disk on the file system, with one thread that does the system calls. Its queue has no limit of its
// own: the caller bounds the bytes that are under way. Files that were not published when the
// disk is destroyed stay as they are.
class FileDisk final : public ports::Disk {
 public:
  // `wake` is called from the disk's thread when there are events after there were none; it has to make the
  // loop's thread call deliver(), and must not block. `calls` are made by that
  // thread alone.
  explicit FileDisk(std::function<void()> wake, SystemCalls& calls = operating_system());
  // Carries out what was asked for, then ends the thread.
  ~FileDisk() override;
  FileDisk(const FileDisk&) = delete;
  FileDisk& operator=(const FileDisk&) = delete;

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

  // In the loop's thread: hands over the events that there are. Owners of appended bytes are released here,
  // too.
  void deliver(ports::DiskHandler& handler);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace weir::storage
