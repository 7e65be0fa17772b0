#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::ports {

// Result of an operation. `token` is the caller's, from that operation.
struct ScratchResult {
  std::uint64_t token = 0;
  std::string error;         // empty: done; otherwise a sentence with the path
  std::uint32_t crc32c = 0;  // of the bytes that were written, or read
  ConstBytes bytes;          // for read()
  std::shared_ptr<const void> owner;
};

// A range of a local disk that only this process reads, and that is free again when the process ends,
// however it ends. Operations never block; each gives one result, in any order. An operation that has failed
// may be repeated.
class ScratchDisk {
 public:
  virtual ~ScratchDisk() = default;
  // Requires: `bytes` stay unchanged until the result, and end within the range.
  virtual void write(std::uint64_t offset, ConstBytes bytes, std::uint64_t token) = 0;
  virtual void read(std::uint64_t offset, std::uint64_t length, std::uint64_t token) = 0;
  // Returns the results since the last call.
  [[nodiscard]] virtual std::vector<ScratchResult> take_results() = 0;
};

}  // namespace weir::ports
