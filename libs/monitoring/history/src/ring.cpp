#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/history/ring.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

namespace weir::history {
namespace {

constexpr float kNoValue = std::numeric_limits<float>::quiet_NaN();
constexpr std::string_view kMagic = "WEIRHST1";
constexpr std::size_t kNamesPlace = HistoryRing::kHeadBytes;
constexpr std::size_t kRowsPlace = kNamesPlace + HistoryRing::kSeriesMax * HistoryRing::kNameEntryBytes;
constexpr std::size_t kCrcOfName = HistoryRing::kNameEntryBytes - sizeof(std::uint32_t);
constexpr std::size_t kCrcOfRow = sizeof(std::int64_t);
constexpr std::size_t kValuesOfRow = 16;

template <class T>
void store(std::vector<std::byte>& bytes, std::size_t place, T value) {
  std::memcpy(bytes.data() + place, &value, sizeof value);
}
template <class T>
T read(ConstBytes bytes, std::size_t place) {
  T value{};
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

std::size_t row_place(std::size_t resolution, std::int64_t interval) {
  std::size_t place = kRowsPlace;
  for (std::size_t i = 0; i < resolution; ++i) place += kResolutions[i].rows * HistoryRing::kRowBytes;
  return place + static_cast<std::size_t>(interval) % kResolutions[resolution].rows * HistoryRing::kRowBytes;
}

std::vector<std::byte> head() {
  std::vector<std::byte> bytes(HistoryRing::kHeadBytes);
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  std::size_t place = kMagic.size();
  const auto add = [&](std::size_t value) {
    store(bytes, place, static_cast<std::uint32_t>(value));
    place += sizeof(std::uint32_t);
  };
  add(HistoryRing::kSeriesMax);
  for (const Resolution& one : kResolutions) {
    add(static_cast<std::size_t>(one.step / kSecond));
    add(one.rows);
  }
  add(crc32c(ConstBytes(bytes).first(place)));
  WEIR_ASSERT(place <= HistoryRing::kHeadBytes);
  return bytes;
}

std::vector<std::byte> name_entry(const std::string& name) {
  std::vector<std::byte> bytes(HistoryRing::kNameEntryBytes);
  std::memcpy(bytes.data(), name.data(), name.size());
  store(bytes, kCrcOfName, crc32c(ConstBytes(bytes).first(kCrcOfName)));
  return bytes;
}

// The checksum of a row without its own place.
std::uint32_t crc_of_row(ConstBytes row) {
  return crc32c_extend(crc32c(row.first(kCrcOfRow)), row.subspan(kValuesOfRow));
}

std::int64_t interval_of(UtcNs utc, std::size_t resolution) { return utc / kResolutions[resolution].step; }

// Of a coarser resolution, the interval that has this one of the finest.
std::int64_t coarse(std::int64_t fine, std::size_t resolution) {
  return fine / (kResolutions[resolution].step / kResolutions[0].step);
}

}  // namespace

HistoryRing::HistoryRing() : names_(kSeriesMax), sums_(kSeriesMax) {
  for (std::size_t i = 0; i < kResolutions.size(); ++i) rows_[i].resize(kResolutions[i].rows);
  changes_.push_back({0, head(), true});
}

bool HistoryRing::load(ConstBytes file) {
  const std::vector<std::byte> wanted = head();
  if (file.size() < kHeadBytes || !std::ranges::equal(file.first(kHeadBytes), wanted)) return false;
  changes_.clear();
  for (std::size_t column = 0; column < kSeriesMax; ++column) {
    const std::size_t place = kNamesPlace + column * kNameEntryBytes;
    if (place + kNameEntryBytes > file.size()) break;
    const ConstBytes entry = file.subspan(place, kNameEntryBytes);
    if (read<std::uint32_t>(entry, kCrcOfName) != crc32c(entry.first(kCrcOfName))) continue;
    const char* text = reinterpret_cast<const char*>(entry.data());
    std::string name(text, ::strnlen(text, kNameBytesMax));
    if (name.empty() || !columns_.emplace(name, column).second) continue;
    names_[column] = std::move(name);
  }
  for (std::size_t i = 0; i < kResolutions.size(); ++i) {
    for (std::size_t at = 0; at < kResolutions[i].rows; ++at) {
      const std::size_t place = row_place(i, static_cast<std::int64_t>(at));
      if (place + kRowBytes > file.size()) break;
      const ConstBytes bytes = file.subspan(place, kRowBytes);
      const auto interval = read<std::int64_t>(bytes, 0);
      if (interval <= 0 || static_cast<std::size_t>(interval) % kResolutions[i].rows != at) continue;
      if (read<std::uint32_t>(bytes, kCrcOfRow) != crc_of_row(bytes)) continue;
      Row& row = rows_[i][at];
      row.interval = interval;
      row.values.resize(kSeriesMax);
      std::memcpy(row.values.data(), bytes.data() + kValuesOfRow, kSeriesMax * sizeof(float));
    }
  }
  return true;
}

void HistoryRing::take(UtcNs utc, const std::map<std::string, double>& values) {
  const std::int64_t interval = interval_of(utc, 0);
  if (interval <= 0) return;
  if (interval != interval_) {
    finish_interval();
    interval_ = interval;
    make_coarse_rows();
  }
  for (const auto& [name, value] : values) {
    if (!std::isfinite(value)) continue;
    const auto column = column_of(name, value != 0);
    if (!column) continue;
    sums_[*column].sum += value;
    ++sums_[*column].count;
  }
}

std::optional<std::size_t> HistoryRing::column_of(const std::string& name, bool may_add) {
  if (const auto found = columns_.find(name); found != columns_.end()) return found->second;
  if (!may_add || name.empty() || name.size() > kNameBytesMax) return std::nullopt;
  const auto column = free_column();
  if (!column) {
    ++left_out_;
    return std::nullopt;
  }
  columns_.erase(names_[*column]);
  names_[*column] = name;
  columns_[name] = *column;
  WEIR_ASSERT(columns_.size() <= kSeriesMax);
  note_name(*column);
  return column;
}

bool HistoryRing::is_used(std::size_t column) const {
  if (sums_[column].count > 0) return true;
  for (const std::vector<Row>& rows : rows_) {
    for (const Row& row : rows) {
      if (!row.values.empty() && !std::isnan(row.values[column])) return true;
    }
  }
  return false;
}

// A column without a name may still have values, if its name was damaged in the file.
std::optional<std::size_t> HistoryRing::free_column() const {
  for (const bool named : {false, true}) {
    for (std::size_t column = 0; column < kSeriesMax; ++column) {
      if (names_[column].empty() != named && !is_used(column)) return column;
    }
  }
  return std::nullopt;
}

void HistoryRing::finish_interval() {
  if (interval_ == kNone) return;
  std::vector<float> values(kSeriesMax, kNoValue);
  bool any = false;
  for (std::size_t column = 0; column < kSeriesMax; ++column) {
    Mean& mean = sums_[column];
    if (mean.count > 0) {
      values[column] = static_cast<float>(mean.sum / mean.count);
      any = true;
    }
    mean = {};
  }
  if (any) put(0, interval_, std::move(values));
}

// Intervals that ended while no process was running are made here as well.
void HistoryRing::make_coarse_rows() {
  for (std::size_t i = 1; i < kResolutions.size(); ++i) {
    const std::int64_t present = coarse(interval_, i);
    std::set<std::int64_t> due;
    for (const Row& row : rows_[0]) {
      if (row.interval == kNone || coarse(row.interval, i) == present) continue;
      const std::int64_t interval = coarse(row.interval, i);
      if (rows_[i][static_cast<std::size_t>(interval) % kResolutions[i].rows].interval < interval)
        due.insert(interval);
    }
    for (const std::int64_t interval : due) put(i, interval, mean_of(i, interval));
  }
}

std::vector<float> HistoryRing::mean_of(std::size_t resolution, std::int64_t interval) const {
  std::vector<Mean> means(kSeriesMax);
  for (const Row& row : rows_[0]) {
    if (row.interval == kNone || coarse(row.interval, resolution) != interval) continue;
    for (std::size_t column = 0; column < kSeriesMax; ++column) {
      if (std::isnan(row.values[column])) continue;
      means[column].sum += row.values[column];
      ++means[column].count;
    }
  }
  std::vector<float> values(kSeriesMax, kNoValue);
  for (std::size_t column = 0; column < kSeriesMax; ++column) {
    if (means[column].count > 0) values[column] = static_cast<float>(means[column].sum / means[column].count);
  }
  return values;
}

void HistoryRing::put(std::size_t resolution, std::int64_t interval, std::vector<float> values) {
  WEIR_ASSERT(interval > 0 && values.size() == kSeriesMax);
  std::vector<std::byte> bytes(kRowBytes);
  store(bytes, 0, interval);
  std::memcpy(bytes.data() + kValuesOfRow, values.data(), kSeriesMax * sizeof(float));
  store(bytes, kCrcOfRow, crc_of_row(bytes));
  changes_.push_back({row_place(resolution, interval), std::move(bytes), false});
  Row& row = rows_[resolution][static_cast<std::size_t>(interval) % kResolutions[resolution].rows];
  row = {interval, std::move(values)};
}

void HistoryRing::note_name(std::size_t column) {
  changes_.push_back({kNamesPlace + column * kNameEntryBytes, name_entry(names_[column]), true});
}

std::vector<HistoryRing::Change> HistoryRing::take_changes() { return std::exchange(changes_, {}); }

std::vector<std::string> HistoryRing::names() const {
  std::vector<std::string> names;
  for (const auto& [name, column] : columns_) {
    if (is_used(column)) names.push_back(name);
  }
  return names;
}

HistoryRing::Curve HistoryRing::curve(std::string_view name, UtcNs from, UtcNs until) const {
  std::size_t i = 0;
  while (i + 1 < kResolutions.size() && until - from > kResolutions[i].covers()) ++i;
  const DurationNs step = kResolutions[i].step;
  Curve curve{step, {}};
  const auto found = columns_.find(name);
  if (found == columns_.end()) return curve;
  std::map<std::int64_t, float> means;
  for (const Row& row : rows_[i]) {
    if (row.interval != kNone) means[row.interval] = row.values[found->second];
  }
  // The last intervals of a coarser resolution are not over yet.
  std::map<std::int64_t, Mean> open;
  for (const Row& row : rows_[0]) {
    if (i == 0 || row.interval == kNone || means.contains(coarse(row.interval, i))) continue;
    if (const float value = row.values[found->second]; !std::isnan(value)) {
      open[coarse(row.interval, i)].sum += value;
      ++open[coarse(row.interval, i)].count;
    }
  }
  for (const auto& [interval, mean] : open) means[interval] = static_cast<float>(mean.sum / mean.count);
  for (const auto& [interval, mean] : means) {
    const UtcNs middle = interval * step + step / 2;
    if (middle >= from && middle <= until && !std::isnan(mean)) curve.points.push_back({middle, mean});
  }
  return curve;
}

}  // namespace weir::history
