#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/reports/source_counts.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::reports {
namespace {

constexpr const char* kSilentNote = "silent_sources";
constexpr const char* kStepNote = "out_of_step";

std::string note_of(const v1::Report& report, const char* name) {
  const auto note = report.notes().find(name);
  return note == report.notes().end() ? std::string() : note->second;
}

using Counts = std::map<std::string, std::uint64_t>;
using Reasons = google::protobuf::RepeatedPtrField<v1::SourceCounts::Reason>;

bool is_worse(const SourceRank& one, const SourceRank& other) {
  if (one.lost != other.lost) return one.lost > other.lost;
  if (one.missing != other.missing) return one.missing > other.missing;
  return one.place < other.place;
}

void add_reasons(const Counts& more, Counts& counts) {
  for (const auto& [reason, count] : more) counts[reason] += count;
}

std::uint64_t count_all(const Counts& counts) {
  std::uint64_t total = 0;
  for (const auto& [reason, count] : counts) total += count;
  return total;
}

// A column of rows with a count for this reason.
class ReasonColumns {
 public:
  explicit ReasonColumns(Reasons& out) : out_(out) {}
  void add(std::uint32_t row, const Counts& counts) {
    for (const auto& [reason, count] : counts) {
      if (count == 0) continue;
      v1::SourceCounts::Reason*& column = columns_[reason];
      if (column == nullptr) {
        column = out_.Add();
        column->set_name(reason);
      }
      WEIR_ASSERT(column->row_size() == column->count_size());
      column->add_row(row);
      column->add_count(count);
    }
  }

 private:
  Reasons& out_;
  std::map<std::string, v1::SourceCounts::Reason*> columns_;
};

template <class Column, class Member>
void put_column(std::span<const SourceRow> rows, Member member, Column& out) {
  if (std::all_of(rows.begin(), rows.end(), [&](const SourceRow& row) { return row.*member == 0; })) return;
  out.Reserve(static_cast<int>(rows.size()));
  for (const SourceRow& row : rows) out.Add(row.*member);
}

template <class Column>
auto entry_of(const Column& column, std::size_t row) {
  return row < static_cast<std::size_t>(column.size()) ? column.Get(static_cast<int>(row)) : 0;
}

constexpr const char* kCorrupt = "corrupt";  // reason in the column `dropped` of DCMs, which drop nothing
constexpr int kReasonsMax = 16;
constexpr std::size_t kReasonLengthMax = 32;

// Reports come from other processes, and reasons are printed.
bool is_reason(std::string_view name) {
  return !name.empty() && name.size() <= kReasonLengthMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

template <class Member>
void read_reasons(const Reasons& from, Member member, std::vector<SourceRow>& rows) {
  for (int n = 0; n < std::min(from.size(), kReasonsMax); ++n) {
    const v1::SourceCounts::Reason& reason = from.Get(n);
    if (!is_reason(reason.name())) continue;
    const int entries = std::min(reason.row_size(), reason.count_size());
    for (int i = 0; i < entries; ++i) {
      if (reason.row(i) < rows.size()) (rows[reason.row(i)].*member)[reason.name()] += reason.count(i);
    }
  }
}

std::string source_name(const SourceRow& row) {
  return fmt::format("source {}{}", row.source.value, row.readout.empty() ? "" : " at " + row.readout);
}

}  // namespace

bool is_loss(std::string_view missing_reason) {
  return missing_reason != name(MissingReason::not_produced) &&
         missing_reason != name(MissingReason::masked) && missing_reason != name(MissingReason::removed);
}

std::uint64_t SourceRow::lost() const {
  std::uint64_t lost = 0;
  for (const auto& [reason, count] : missing) lost += is_loss(reason) ? count : 0;
  return lost;
}

std::uint64_t SourceRow::missing_in_all() const { return count_all(missing); }

std::string time_of_day(std::int64_t utc_ms) {
  constexpr std::int64_t kMsPerDay = 86'400'000;
  if (utc_ms <= 0) return "never";
  const std::int64_t seconds = utc_ms % kMsPerDay / 1000;
  return fmt::format("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string describe(const SourceRow& row) {
  std::string reasons;
  for (const auto& [reason, count] : row.missing)
    reasons += (reasons.empty() ? "" : ", ") + reason + " " + grouped(count);
  const std::uint64_t missing = row.missing_in_all();
  return fmt::format("{}: {} of {} missing{}, last seen {}", source_name(row), grouped(missing),
                     counted(missing + row.received, "fragment"), reasons.empty() ? "" : " (" + reasons + ")",
                     time_of_day(row.seen_utc_ms));
}

std::vector<std::size_t> worst_sources(std::vector<SourceRank> ranks) {
  const std::size_t most = std::min(ranks.size(), kSourceRowsMax);
  std::partial_sort(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(most), ranks.end(), is_worse);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < most; ++i) places.push_back(ranks[i].place);
  WEIR_ASSERT(places.size() <= kSourceRowsMax);
  return places;
}

void note_silent_sources(v1::Report& report, const std::string& text) {
  if (!text.empty()) (*report.mutable_notes())[kSilentNote] = text;
}

std::string silent_sources(const v1::Report& readout) { return note_of(readout, kSilentNote); }

void note_out_of_step(v1::Report& report, const std::string& text) {
  if (!text.empty()) (*report.mutable_notes())[kStepNote] = text;
}

std::string out_of_step(const v1::Report& readout) { return note_of(readout, kStepNote); }

void put_sources(std::span<const SourceRow> rows, std::size_t sources, v1::SourceCounts& out) {
  rows = rows.first(std::min(rows.size(), kSourceRowsMax));
  ReasonColumns missing(*out.mutable_missing());
  ReasonColumns dropped(*out.mutable_dropped());
  std::map<std::string, std::uint32_t> readouts;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const SourceRow& row = rows[i];
    out.add_source(row.source.value);
    missing.add(i, row.missing);
    dropped.add(i, row.dropped);
    if (row.corrupt > 0) dropped.add(i, {{kCorrupt, row.corrupt}});
    if (row.readout.empty()) continue;
    const auto [known, is_new] = readouts.try_emplace(row.readout, out.readout_name_size());
    if (is_new) out.add_readout_name(row.readout);
    out.add_readout(known->second);
  }
  WEIR_ASSERT(out.source_size() == static_cast<int>(rows.size()) && out.readout_size() <= out.source_size());
  put_column(rows, &SourceRow::received, *out.mutable_received());
  put_column(rows, &SourceRow::bytes, *out.mutable_bytes());
  put_column(rows, &SourceRow::produced, *out.mutable_produced());
  put_column(rows, &SourceRow::seen_utc_ms, *out.mutable_seen_utc_ms());
  out.set_left_out(sources - std::min(sources, rows.size()));
}

std::vector<SourceRow> source_rows(const v1::SourceCounts& from) {
  const std::size_t size = std::min(static_cast<std::size_t>(from.source_size()), kSourceRowsMax);
  std::vector<SourceRow> rows(size);
  for (std::size_t i = 0; i < size; ++i) {
    SourceRow& row = rows[i];
    row.source = SourceId(from.source(static_cast<int>(i)));
    row.received = entry_of(from.received(), i);
    row.bytes = entry_of(from.bytes(), i);
    row.produced = entry_of(from.produced(), i);
    row.seen_utc_ms = entry_of(from.seen_utc_ms(), i);
    const int place = i < static_cast<std::size_t>(from.readout_size())
                          ? static_cast<int>(from.readout(static_cast<int>(i)) & INT32_MAX)
                          : from.readout_name_size();
    if (place < from.readout_name_size()) row.readout = from.readout_name(place);
  }
  read_reasons(from.missing(), &SourceRow::missing, rows);
  read_reasons(from.dropped(), &SourceRow::dropped, rows);
  for (SourceRow& row : rows) {
    if (row.dropped.empty()) continue;
    if (const auto corrupt = row.dropped.extract(kCorrupt)) row.corrupt = corrupt.mapped();
  }
  return rows;
}

std::vector<std::string> worst_lines(const v1::SourceCounts& from, std::size_t most) {
  std::vector<std::string> lines;
  for (const SourceRow& row : source_rows(from)) {
    if (lines.size() == most) break;
    if (row.missing_in_all() == 0) continue;  // its fragments are corrupt
    lines.push_back(describe(row));
  }
  if (from.losing() > lines.size() && !lines.empty())
    lines.push_back(
        fmt::format("and {} with missing fragments", counted(from.losing() - lines.size(), "other source")));
  return lines;
}

std::string worst_source(const v1::SourceCounts& from) {
  const std::vector<SourceRow> rows = source_rows(from);
  const auto worst = std::max_element(
      rows.begin(), rows.end(), [](const SourceRow& a, const SourceRow& b) { return a.lost() < b.lost(); });
  return worst == rows.end() || worst->lost() == 0 ? std::string() : source_name(*worst);
}

void note_missing(const SourceRow& row, bool on_purpose, LossWatch& losses) {
  constexpr auto kStage = LossWatch::Stage::missing;
  Counts lost;
  for (const auto& [reason, count] : row.missing) {
    const bool purpose = reason == name(MissingReason::deadline) || reason == name(MissingReason::gap);
    if (is_loss(reason) && !(on_purpose && purpose)) lost.emplace(reason, count);
  }
  if (lost.empty() && !losses.knows(row.source, kStage)) return;
  losses.clear(row.source, kStage);  // an attempt that does not count is taken back
  losses.set_reached(row.source, kStage, row.received + count_all(lost));
  for (const auto& [reason, count] : lost) losses.set_lost(row.source, kStage, reason, count);
}

void note_corrupt(const SourceRow& row, bool on_purpose, LossWatch& losses) {
  constexpr auto kStage = LossWatch::Stage::contents;
  if (on_purpose || (row.corrupt == 0 && !losses.knows(row.source, kStage))) return;
  losses.set_reached(row.source, kStage, row.received);
  losses.set_lost(row.source, kStage, kCorrupt, row.corrupt);
}

void SourceSums::add(const v1::Report& report, bool is_lost) {
  if (report.role() != v1::ROLE_DCM && report.role() != v1::ROLE_READOUT) return;
  if (is_lost && !report.final()) incomplete_.insert(report.name());
  losing_ = std::max(losing_, report.sources().losing());
  partial_ = partial_ || report.sources().left_out() > 0;
  for (const SourceRow& row : source_rows(report.sources())) {
    const auto readout = readout_of_.find(row.source.value);
    if (readout == readout_of_.end()) continue;
    SourceRow& sum = rows_[row.source.value];
    sum.source = row.source;
    sum.readout = readout->second;
    sum.received += row.received;
    sum.bytes += row.bytes;
    sum.produced += row.produced;
    sum.corrupt += row.corrupt;
    sum.seen_utc_ms = std::max(sum.seen_utc_ms, row.seen_utc_ms);
    add_reasons(row.missing, sum.missing);
    add_reasons(row.dropped, sum.dropped);
  }
}

void SourceSums::write(v1::SourceCounts& out) const {
  std::vector<const SourceRow*> all;
  for (const auto& [source, row] : rows_) all.push_back(&row);
  std::sort(all.begin(), all.end(), [](auto* one, auto* other) { return one->source < other->source; });
  std::vector<SourceRank> ranks;
  std::uint64_t losing = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ranks.push_back({all[i]->lost() + all[i]->corrupt, all[i]->missing_in_all(), i});
    if (ranks.back().missing > 0) ++losing;
  }
  std::vector<SourceRow> rows;
  for (const std::size_t place : worst_sources(std::move(ranks))) rows.push_back(*all[place]);
  put_sources(rows, readout_of_.size(), out);
  out.set_losing(std::max(losing, losing_));
  out.set_partial(partial_);
  for (const std::string& name : incomplete_) out.add_incomplete(name);
}

}  // namespace weir::reports
