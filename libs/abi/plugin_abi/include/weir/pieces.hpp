// Reads fragments of a farm with `build.by: time`: a table of the pieces (hits, frames) that a window of time
// has from one source. The layout is specified in libs/readout/source/FORMAT.md. Header only, for filters and
// for programs that read run files; needs C++20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace weir {

struct FragmentPiece {
  std::int64_t offset_ns = 0;    // from the slice's time to the begin of the piece
  std::int64_t duration_ns = 0;  // 0: a moment
  std::uint8_t status = 0;       // WEIR_FRAGMENT_...; missing: lost by the front-end, no bytes
  bool border = false;           // a neighbouring time slice has it, too
  std::span<const std::byte> bytes;
};

// One fragment. The bytes must outlive it.
class FragmentPieces {
 public:
  // Nothing: these are not the bytes of such a fragment, or they are damaged. Checks the whole table.
  [[nodiscard]] static std::optional<FragmentPieces> read(std::span<const std::byte> bytes) {
    if (bytes.size() < kHeader || number<std::uint32_t>(bytes.data()) != kMagic) return std::nullopt;
    FragmentPieces all;
    all.table_ = bytes.data() + kHeader;
    all.size_ = number<std::uint32_t>(bytes.data() + 4);
    all.time_ns_ = number<std::int64_t>(bytes.data() + 8);
    all.duration_ns_ = number<std::int64_t>(bytes.data() + 16);
    all.before_ns_ = number<std::int64_t>(bytes.data() + 24);
    all.after_ns_ = number<std::int64_t>(bytes.data() + 32);
    if (all.duration_ns_ < 0 || all.before_ns_ < 0 || all.after_ns_ < 0) return std::nullopt;
    if ((bytes.size() - kHeader) / kEntry < all.size_) return std::nullopt;
    std::size_t left = bytes.size() - kHeader - kEntry * all.size_;
    std::int64_t offset = INT64_MIN;
    for (std::size_t i = 0; i < all.size_; ++i) {
      const std::byte* entry = all.table_ + kEntry * i;
      const auto length = number<std::uint32_t>(entry + 16);
      const auto here = number<std::int64_t>(entry);
      if (length > left || here < offset || number<std::int64_t>(entry + 8) < 0) return std::nullopt;
      left -= length;
      offset = here;
    }
    if (left != 0) return std::nullopt;
    return all;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Begin of the time slice or moment of the event (UTC); length of the time slice, 0 for an event.
  [[nodiscard]] std::int64_t time_ns() const { return time_ns_; }
  [[nodiscard]] std::int64_t duration_ns() const { return duration_ns_; }
  // The window is [time - before, time + duration + after).
  [[nodiscard]] std::int64_t before_ns() const { return before_ns_; }
  [[nodiscard]] std::int64_t after_ns() const { return after_ns_; }
  // Returns whether the piece begins in the time slice itself: true in exactly one of gapless slices.
  [[nodiscard]] bool begins_here(const FragmentPiece& piece) const {
    return piece.offset_ns >= 0 && piece.offset_ns < duration_ns_;
  }

  class Iterator {
   public:
    using value_type = FragmentPiece;
    using difference_type = std::ptrdiff_t;
    [[nodiscard]] FragmentPiece operator*() const {
      return {number<std::int64_t>(entry_),
              number<std::int64_t>(entry_ + 8),
              static_cast<std::uint8_t>(entry_[21]),
              (entry_[20] & std::byte{1}) != std::byte{0},
              {bytes_, number<std::uint32_t>(entry_ + 16)}};
    }
    Iterator& operator++() {
      bytes_ += number<std::uint32_t>(entry_ + 16);
      entry_ += kEntry;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    [[nodiscard]] bool operator==(const Iterator& other) const { return entry_ == other.entry_; }

   private:
    friend class FragmentPieces;
    const std::byte* entry_ = nullptr;
    const std::byte* bytes_ = nullptr;
  };
  [[nodiscard]] Iterator begin() const {
    Iterator at;
    at.entry_ = table_;
    at.bytes_ = table_ + kEntry * size_;
    return at;
  }
  [[nodiscard]] Iterator end() const {
    Iterator at;
    at.entry_ = table_ + kEntry * size_;
    return at;
  }

 private:
  static constexpr std::uint32_t kMagic = 0x3143'5057;
  static constexpr std::size_t kHeader = 40;
  static constexpr std::size_t kEntry = 24;

  template <class T>
  [[nodiscard]] static T number(const std::byte* at) {
    T value{};
    for (std::size_t i = sizeof(T); i-- > 0;)
      value = static_cast<T>((static_cast<std::uint64_t>(value) << 8U) | static_cast<std::uint8_t>(at[i]));
    return value;
  }

  const std::byte* table_ = nullptr;
  std::size_t size_ = 0;
  std::int64_t time_ns_ = 0;
  std::int64_t duration_ns_ = 0;
  std::int64_t before_ns_ = 0;
  std::int64_t after_ns_ = 0;
};

}  // namespace weir
