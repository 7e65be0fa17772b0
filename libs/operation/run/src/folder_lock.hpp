#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/owned_descriptor.hpp>

#include <string>

namespace weir::run {

// The right to keep a farm in a folder. It ends with the process, however that ends: a lock of the file
// weir-up.lock, which names its owner. A file system without locks gives it to each process that asks.
class FolderLock {
 public:
  // The error is a sentence: another process has the lock, or the file cannot be made.
  [[nodiscard]] static Expected<FolderLock, std::string> take(const std::string& folder);

 private:
  explicit FolderLock(OwnedDescriptor file) : file_(std::move(file)) {}

  OwnedDescriptor file_;
};

}  // namespace weir::run
