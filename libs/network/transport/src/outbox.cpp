#include "outbox.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <cstring>

namespace weir::transport {

Bytes Outbox::reserve(std::size_t size) {
  if (size == 0) return {};
  const bool was_empty = empty();
  bytes_ += size;
  if (size > kChunkBytes) {  // gets a chunk of its own
    std::shared_ptr<std::byte[]> own(new std::byte[size]);
    const Bytes room(own.get(), size);
    segments_.push_back({room.data(), size, std::move(own)});
    return room;
  }
  if (was_empty || !chunk_ || chunk_used_ + size > kChunkBytes) {
    // If no other reference to the chunk remains, all of it has been sent.
    if (!chunk_ || chunk_.use_count() > 1) chunk_.reset(new std::byte[kChunkBytes]);
    chunk_used_ = 0;
  }
  std::byte* at = chunk_.get() + chunk_used_;
  chunk_used_ += size;
  WEIR_ASSERT(chunk_used_ <= kChunkBytes);
  if (segments_.size() > first_) {
    Segment& last = segments_.back();
    if (last.data + last.size == at && last.owner.get() == chunk_.get()) {
      last.size += size;
      return {at, size};
    }
  }
  segments_.push_back({at, size, chunk_});
  return {at, size};
}

void Outbox::append(ConstBytes bytes) {
  if (bytes.empty()) return;
  std::memcpy(reserve(bytes.size()).data(), bytes.data(), bytes.size());
}

void Outbox::append_reference(ConstBytes bytes, std::shared_ptr<const void> owner) {
  if (bytes.size() <= kCopyMax) {
    append(bytes);
    return;
  }
  bytes_ += bytes.size();
  segments_.push_back({bytes.data(), bytes.size(), std::move(owner)});
}

std::size_t Outbox::gather(std::span<iovec> list) const {
  const std::size_t n = std::min(list.size(), segments_.size() - first_);
  for (std::size_t i = 0; i < n; ++i) {
    const Segment& segment = segments_[first_ + i];
    list[i] = {const_cast<std::byte*>(segment.data), segment.size};
  }
  return n;
}

void Outbox::consume(std::size_t bytes) {
  WEIR_ASSERT(bytes <= bytes_);
  bytes_ -= bytes;
  while (bytes > 0) {
    WEIR_ASSERT(first_ < segments_.size());
    Segment& segment = segments_[first_];
    if (bytes < segment.size) {
      segment.data += bytes;
      segment.size -= bytes;
      break;
    }
    bytes -= segment.size;
    segment.owner.reset();
    ++first_;
  }
  if (first_ == segments_.size()) {
    WEIR_ASSERT(bytes_ == 0);
    segments_.clear();
    first_ = 0;
  } else if (first_ >= 1024 && first_ * 2 >= segments_.size()) {
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

void Outbox::clear() {
  segments_.clear();
  first_ = 0;
  bytes_ = 0;
}

}  // namespace weir::transport
