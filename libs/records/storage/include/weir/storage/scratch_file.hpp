#pragma once

#include <weir/ports/scratch_disk.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weir::storage {

// ports::ScratchDisk in a file without a name, so that the system frees it when the process ends or is
// killed. One thread makes the system calls. It makes the folder and the file with the first operation, and
// reserves all bytes: should that fail, so do the operations, and the next one tries again. The queue has no
// limit of its own: the caller bounds the bytes in progress.
class ScratchFile final : public ports::ScratchDisk {
 public:
  // `wake` is called on the file's thread when the first result is pending; it must not block.
  ScratchFile(std::string folder, std::uint64_t bytes, std::function<void()> wake);
  // Gives up operations that have not begun.
  ~ScratchFile() override;
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void write(std::uint64_t offset, ConstBytes bytes, std::uint64_t token) override;
  void read(std::uint64_t offset, std::uint64_t length, std::uint64_t token) override;
  [[nodiscard]] std::vector<ports::ScratchResult> take_results() override;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace weir::storage
