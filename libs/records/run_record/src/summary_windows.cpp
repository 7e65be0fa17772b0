#include "summary_steps.hpp"
#include <weir/reports/numbers.hpp>

#include <algorithm>
#include <sstream>

namespace weir::run_record {
namespace {

struct NamedCount {
  const char* name;  // the key in the summary
  metrics::CounterKey key;
};
constexpr NamedCount kNamedCounts[] = {{"received", "pieces.received"},
                                       {"placed", "pieces.placed"},
                                       {"unplaced", "pieces.unplaced"},
                                       {"held", "pieces.held"},
                                       {"copies", "pieces.copies"},
                                       {"windows", "readout.windows"},
                                       {"windows_forced", "readout.windows_forced"},
                                       {"windows_cut", "readout.windows_cut"}};
constexpr NamedCount kNumberCounts[] = {
    {"gaps", "numbers.gaps"},          {"nobodys", "numbers.nobodys"},
    {"late", "numbers.late"},          {"unconfirmed", "numbers.unconfirmed"},
    {"left_out", "numbers.left_out"},  {"repeated", "numbers.repeated"},
    {"back", "numbers.back"},          {"unanchored", "numbers.unanchored"},
    {"forgotten", "numbers.forgotten"}};
constexpr NamedCount kStepCounts[] = {{"out_of_step", "readout.out_of_step"},
                                      {"realigned", "readout.realigned"},
                                      {"not_compared", "readout.not_compared"}};

}  // namespace

void add_front_ends(const v1::Report& report, Summary& summary) {
  for (const NamedCount& one : kNumberCounts) {
    if (const std::uint64_t count = reports::counter_of(report, one.key); count > 0)
      summary.numbers[one.name] += count;
  }
  for (const NamedCount& one : kStepCounts) {
    if (const std::uint64_t count = reports::counter_of(report, one.key); count > 0)
      summary.steps_compared[one.name] += count;
  }
}

void add_windows(const v1::Report& readout, Summary& summary) {
  const auto note = readout.notes().find("delays");
  if (note == readout.notes().end()) return;
  for (const NamedCount& one : kNamedCounts)
    summary.pieces[one.name] += reports::counter_of(readout, one.key);
  for (const auto& [reason, count] : reports::by_reason(readout, "pieces.dropped."))
    summary.pieces["dropped_" + reason] += count;
  std::istringstream lines(note->second);
  std::uint32_t source = 0;
  double least_ns = 0;
  double median_ns = 0;
  while (lines >> source >> least_ns >> median_ns)
    summary.clocks.push_back({source, least_ns / 1e3, median_ns / 1e3, 0});
}

void finish_clocks(Summary& summary) {
  if (summary.clocks.empty()) return;
  std::ranges::sort(summary.clocks, {}, &Summary::Clock::source);
  std::vector<double> least;
  for (const Summary::Clock& clock : summary.clocks) least.push_back(clock.least_us);
  const auto middle = least.begin() + static_cast<std::ptrdiff_t>(least.size() / 2);
  std::ranges::nth_element(least, middle);
  for (Summary::Clock& clock : summary.clocks) clock.correction_us = clock.least_us - *middle;
}

}  // namespace weir::run_record
