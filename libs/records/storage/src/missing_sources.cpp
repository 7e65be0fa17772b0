#include "missing_sources.hpp"

#include <weir/base/figures.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace weir::storage {
namespace {

void add_missing_of(const SliceRecordView& slice, std::unordered_map<std::uint32_t, MissingSource>& sources) {
  for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
    const FragmentRecord fragment = slice.fragment(i).record;
    if (fragment.status != FragmentStatus::missing) continue;
    MissingSource& source = sources[fragment.source.value];
    source.source = fragment.source;
    ++source.fragments;
    const auto reason = static_cast<std::size_t>(fragment.reason);
    if (reason < source.by_reason.size()) ++source.by_reason[reason];
  }
}

}  // namespace

std::vector<MissingSource> missing_sources(const RunFileReader& file) {
  std::unordered_map<std::uint32_t, MissingSource> sources;
  for (const IndexEntry& entry : file.entries()) {
    if (entry.dead || (entry.slice_flags & slice_flag::incomplete) == 0) continue;
    if (const auto slice = file.slice(entry)) add_missing_of(*slice, sources);
  }
  std::vector<MissingSource> sorted;
  for (const auto& [id, source] : sources) sorted.push_back(source);
  std::sort(sorted.begin(), sorted.end(), [](const MissingSource& one, const MissingSource& other) {
    return one.fragments != other.fragments ? one.fragments > other.fragments : one.source < other.source;
  });
  return sorted;
}

std::string describe_missing(const MissingSource& source) {
  std::string reasons;
  for (std::size_t i = 1; i < source.by_reason.size(); ++i) {
    if (source.by_reason[i] == 0) continue;
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", name(static_cast<MissingReason>(i)),
                           grouped(source.by_reason[i]));
  }
  return fmt::format("source {}: {} ({})", source.source.value, counted(source.fragments, "fragment"),
                     reasons.empty() ? "no reason given" : reasons);
}

std::string missing_json(const MissingSource& source) {
  std::string reasons;
  for (std::size_t i = 1; i < source.by_reason.size(); ++i) {
    if (source.by_reason[i] > 0)
      reasons += fmt::format(R"({}"{}":{})", reasons.empty() ? "" : ",", name(static_cast<MissingReason>(i)),
                             source.by_reason[i]);
  }
  return fmt::format(R"({{"source":{},"fragments":{},"reasons":{{{}}}}})", source.source.value,
                     source.fragments, reasons);
}

}  // namespace weir::storage
