#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <memory>
#include <sys/uio.h>
#include <vector>

namespace weir::transport {

// Bytes waiting to be sent, in as few pieces as possible: small ones are copied into chunks, large ones
// referred to.
class Outbox {
 public:
  // Up to this size a copy is cheaper than another entry in the system call's list.
  static constexpr std::size_t kCopyMax = 512;
  static constexpr std::size_t kChunkBytes = 64 * 1024;

  // Returns room for `size` bytes in the order of the stream. Requires: filled before the next call.
  [[nodiscard]] Bytes reserve(std::size_t size);
  void append(ConstBytes bytes);
  void append_reference(ConstBytes bytes, std::shared_ptr<const void> owner);

  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  // Fills `list` from the front; returns the number of entries.
  [[nodiscard]] std::size_t gather(std::span<iovec> list) const;
  void consume(std::size_t bytes);
  void clear();

 private:
  using Chunk = std::shared_ptr<std::byte[]>;
  struct Segment {
    const std::byte* data = nullptr;
    std::size_t size = 0;
    std::shared_ptr<const void> owner;
  };

  std::vector<Segment> segments_;
  std::size_t first_ = 0;
  std::size_t bytes_ = 0;
  Chunk chunk_;
  std::size_t chunk_used_ = 0;
};

}  // namespace weir::transport
