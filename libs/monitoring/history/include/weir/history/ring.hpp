#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::history {

struct Resolution {
  DurationNs step = 0;
  std::size_t rows = 0;

  [[nodiscard]] constexpr DurationNs covers() const { return step * static_cast<DurationNs>(rows); }
};
// The finest first. Each step is a multiple of the first one.
inline constexpr std::array<Resolution, 3> kResolutions{
    {{10 * kSecond, 450}, {120 * kSecond, 750}, {900 * kSecond, 768}}};

// Means of series over the time of kResolutions, and the bytes of a file with them. Not thread-safe.
class HistoryRing {
 public:
  static constexpr std::size_t kSeriesMax = 512;
  static constexpr std::size_t kNameBytesMax = 91;
  static constexpr std::size_t kHeadBytes = 64;
  static constexpr std::size_t kNameEntryBytes = 96;
  static constexpr std::size_t kRowBytes = 16 + kSeriesMax * sizeof(float);
  [[nodiscard]] static constexpr std::size_t file_bytes() {
    std::size_t rows = 0;
    for (const Resolution& one : kResolutions) rows += one.rows;
    return kHeadBytes + kSeriesMax * kNameEntryBytes + rows * kRowBytes;
  }

  HistoryRing();

  // Restores the contents of a file; damaged rows and names are left out. Returns false, and is empty, if it
  // is not such a file. Called before take().
  [[nodiscard]] bool load(ConstBytes file);

  // Takes the values of one moment, by name. Times may jump; a jump back replaces earlier values.
  void take(UtcNs utc, const std::map<std::string, double>& values);

  // A part of the file that has changed. `is_name`: it has to be on the disk before later parts.
  struct Change {
    std::size_t place = 0;
    std::vector<std::byte> bytes;
    bool is_name = false;
  };
  // Returns the changes since the last call, in order; the first one is the head of a new file.
  [[nodiscard]] std::vector<Change> take_changes();

  [[nodiscard]] std::vector<std::string> names() const;  // of series with a value in some row, sorted
  struct Point {
    UtcNs utc = 0;  // middle of the interval
    float mean = 0;
  };
  // Returns the means of a series from `from` to `until`, ascending, in the finest resolution that covers
  // `from` at `until`. Empty for an unknown name.
  struct Curve {
    DurationNs step = 0;
    std::vector<Point> points;
  };
  [[nodiscard]] Curve curve(std::string_view name, UtcNs from, UtcNs until) const;
  // Returns the number of values that found no column.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Row {
    std::int64_t interval = kNone;
    std::vector<float> values;  // empty: none yet
  };
  struct Mean {
    double sum = 0;
    std::uint32_t count = 0;
  };
  static constexpr std::int64_t kNone = -1;

  [[nodiscard]] std::optional<std::size_t> column_of(const std::string& name, bool may_add);
  [[nodiscard]] std::optional<std::size_t> free_column() const;
  [[nodiscard]] bool is_used(std::size_t column) const;
  void finish_interval();
  void make_coarse_rows();
  [[nodiscard]] std::vector<float> mean_of(std::size_t resolution, std::int64_t interval) const;
  void put(std::size_t resolution, std::int64_t interval, std::vector<float> values);
  void note_name(std::size_t column);

  std::array<std::vector<Row>, kResolutions.size()> rows_;
  std::vector<std::string> names_;  // by column; empty: free
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::int64_t interval_ = kNone;  // that is being summed up
  std::vector<Mean> sums_;         // by column
  std::vector<Change> changes_;
  std::uint64_t left_out_ = 0;
};

}  // namespace weir::history
