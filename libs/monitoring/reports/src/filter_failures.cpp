#include <weir/base/assert.hpp>
#include <weir/reports/filter_failures.hpp>
#include <weir/reports/numbers.hpp>

namespace weir::reports {
namespace {

constexpr std::string_view kErrorNote = "filter_error";
constexpr std::string_view kPoisonNote = "filter_poison";
constexpr std::string_view kEndNote = "filter_worker_end";
constexpr std::string_view kLastErrorNote = "filter_last_error";
constexpr std::string_view kHeldNote = "filter_held_slice";
constexpr std::string_view kGroupNote = "group";

void put(v1::Report& report, std::string_view key, std::string_view text) {
  if (!text.empty()) (*report.mutable_notes())[std::string(key)] = std::string(text);
}

std::string note_of(const v1::Report& report, std::string_view key) {
  const auto note = report.notes().find(std::string(key));
  return note == report.notes().end() ? std::string() : note->second;
}

void take_first(std::string& place, const v1::Report& report, std::string_view key) {
  const std::string text = note_of(report, key);
  if (place.empty() && !text.empty()) place = report.name() + ": " + text;
}

void list(std::string& text, std::uint64_t count, std::string_view name) {
  if (count == 0) return;
  WEIR_ASSERT(!text.empty());  // it ends in the list begun by '('
  text += (text.back() == '(' ? "" : ", ") + std::string(name) + " " + std::to_string(count);
}

}  // namespace

void note_filter_failure(v1::Report& report, std::string_view first_error, std::string_view first_poison) {
  put(report, kErrorNote, first_error);
  put(report, kPoisonNote, first_poison);
}

void note_worker_end(v1::Report& report, std::string_view last_end) { put(report, kEndNote, last_end); }

void note_filter_now(v1::Report& report, std::string_view last_error, std::string_view held_slice) {
  put(report, kLastErrorNote, last_error);
  put(report, kHeldNote, held_slice);
}

FilterNotes filter_notes(const v1::Report& dcm) {
  return {note_of(dcm, kGroupNote), note_of(dcm, kLastErrorNote), note_of(dcm, kEndNote),
          note_of(dcm, kHeldNote)};
}

void FilterFailures::add(const v1::Report& dcm) {
  Tally& tally = groups_[note_of(dcm, kGroupNote)];
  tally.filtered += counter_of(dcm, "dcm.filtered");
  tally.errors += counter_of(dcm, "dcm.filter_errors");
  tally.poisoned += counter_of(dcm, "dcm.poisoned");
  for (const auto& [reason, count] : by_reason(dcm, "dcm.worker_ends.")) {
    if (reason != "memory") tally.ends[reason] += count;
  }
  take_first(tally.first_error, dcm, kErrorNote);
  take_first(tally.first_poison, dcm, kPoisonNote);
  take_first(tally.last_end, dcm, kEndNote);
}

bool FilterFailures::is_too_much(std::uint64_t count, const Tally& tally) const {
  return share_max_ < 1 && static_cast<double>(count) > share_max_ * static_cast<double>(tally.filtered);
}

void FilterFailures::add_failed(const std::string& filter, const Tally& tally,
                                std::vector<std::string>& faults) const {
  const std::uint64_t failed = tally.errors + tally.poisoned;
  if (tally.filtered < kSlicesMin || !is_too_much(failed, tally)) return;
  std::string text = filter + " failed for " + std::to_string(failed) + " of " +
                     std::to_string(tally.filtered) + " slices (";
  list(text, tally.errors, "filter_error");
  list(text, tally.poisoned, "poison");
  text += ")";
  const std::string& first = tally.errors >= tally.poisoned ? tally.first_error : tally.first_poison;
  if (!first.empty()) text += ", first on " + first;
  faults.push_back(std::move(text));
}

void FilterFailures::add_restarted(const std::string& filter, const Tally& tally,
                                   std::vector<std::string>& faults) const {
  std::uint64_t restarts = 0;
  for (const auto& [reason, count] : tally.ends) restarts += count;
  if (restarts < kRestartsMin || !is_too_much(restarts, tally)) return;
  std::string text = "workers of " + filter + " ended " + std::to_string(restarts) + " times in " +
                     std::to_string(tally.filtered) + " slices (";
  for (const auto& [reason, count] : tally.ends) list(text, count, reason);
  text += ")";
  if (!tally.last_end.empty()) text += ", last on " + tally.last_end;
  faults.push_back(std::move(text));
}

std::vector<std::string> FilterFailures::faults() const {
  std::vector<std::string> faults;
  for (const auto& [group, tally] : groups_) {
    const std::string filter = group.empty() ? "the filter" : "the filter of group " + group;
    add_failed(filter, tally, faults);
    add_restarted(filter, tally, faults);
  }
  return faults;
}

}  // namespace weir::reports
