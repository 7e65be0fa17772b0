#pragma once

#include <weir/storage/file_disk.hpp>

#include <functional>
#include <semaphore>

namespace weir::storage::test {

// A disk and the loop that it wakes.
struct Loop {
  explicit Loop(SystemCalls& calls = operating_system()) : disk([this] { woken.release(); }, calls) {}

  std::counting_semaphore<> woken{0};
  FileDisk disk;

  void wait_for(const std::function<bool()>& done, ports::DiskHandler& handler) {
    while (!done()) {
      woken.acquire();
      disk.deliver(handler);
    }
  }
};

}  // namespace weir::storage::test
