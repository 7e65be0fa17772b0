#pragma once

#include <weir/ports/disk.hpp>
#include <weir/storage/system_calls.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::storage {

// ports::Disk on the file system, with one thread for the system calls. Its queue has no limit of its own:
// the caller bounds the bytes in progress. Files that are not published when the disk is destroyed stay as
// they are.
class FileDisk final : public ports::Disk {
 public:
  // `wake` is called on the disk's thread when the first event is pending; it has to make the loop's thread
  // call deliver(), and must not block. `calls` is used by that thread only.
  explicit FileDisk(std::function<void()> wake, SystemCalls& calls = operating_system());
  // Carries out all requested operations, then ends the thread.
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

  // Passes on the pending events and releases owners of appended bytes. Requires: called on the loop's
  // thread.
  void deliver(ports::DiskHandler& handler);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace weir::storage
