#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/reports/node_rates.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::v1 {
class FarmView;
}

// The screen of `weir top`, from run control's view, the page's state or metrics. Pure.
namespace weir::farm_view {

struct TopRow {
  std::string name;
  std::string role;
  std::string group;  // of a DCM; empty: the farm has one group
  std::string state;
  std::string reason;
  std::optional<double> slices_per_s;
  std::optional<double> bytes_per_s;
  std::optional<double> p99_us;  // of building a slice
  std::optional<double> cpu_percent;
  std::uint64_t in_flight = 0;
  std::uint64_t lost = 0;
  std::uint64_t pid = 0;  // 0: unknown
};

struct TopFrame {
  std::string title;  // the farm, its state and run, and counts
  std::vector<std::string> reasons;
  std::string disk;  // the disk that is full first; empty: unknown
  std::vector<TopRow> rows;
};

enum class TopSort : std::uint8_t { plan, name, state, slices, data, p99, lost, cpu };
[[nodiscard]] std::optional<TopSort> top_sort(std::string_view text);
constexpr std::string_view kTopSorts = "plan, name, state, slices, data, p99, lost, cpu";

// Rows of `weir top`. The page's state contains rates; otherwise they are computed between two readings.
class TopRates {
 public:
  // Reads GET /api/state of the page. Errors: the text is not a farm's state.
  [[nodiscard]] static Expected<TopFrame, std::string> of_state(const std::string& json);
  // Reads run control's view.
  [[nodiscard]] TopFrame of_view(const v1::FarmView& view);
  // Reads GET /metrics of one process, in Prometheus' text format, fetched at `now_ns`. Errors: the text is
  // not from a node.
  [[nodiscard]] Expected<TopRow, std::string> of_metrics(const std::string& text, TimeNs now_ns);
  // Builds the frame from the rows of all processes.
  [[nodiscard]] static TopFrame frame_of(std::vector<TopRow> rows);

 private:
  struct Seen {
    TimeNs made_ns = 0;
    reports::NodeRates rates;
  };
  std::map<std::string, Seen> seen_;
};

// Sums the rows of each group of DCMs, in the order in which the groups appear; p99 is the largest. Empty
// unless DCMs have groups.
[[nodiscard]] std::vector<TopRow> group_rows(const std::vector<TopRow>& rows);

// Returns the title, reasons, a heading, a row per process, and a row per group of DCMs, in at most
// `lines_max` lines of at most `columns` bytes. Sorted by the largest value or by name; `plan`: in the given
// order.
[[nodiscard]] std::vector<std::string> format_top(const TopFrame& frame, TopSort sort, std::size_t columns,
                                                  std::size_t lines_max);

}  // namespace weir::farm_view
