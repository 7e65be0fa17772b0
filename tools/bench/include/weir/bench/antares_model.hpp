#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/figure.hpp>
#include <weir/packet_model/push_model.hpp>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

// `weir bench antares --model`: tables 4.2 and 4.3 and figures 4.1 to 4.4 of van Rantwijk's thesis at their
// own size and speed, in the packet model. No clock, no network: the same command gives the same bytes
// everywhere.
namespace weir::bench {

// Values of the thesis for a row; seconds and percent as printed.
struct ModelPaper {
  double mean_s = 0;
  double p99_s = 0;
  double max_s = 0;
  std::string retransmitted = "0.0";
  // Of a row with losses. Retransmissions "<< 0.1" have no bounds that quote a number: most is 0.1 %.
  bool lossy = false;
  double retransmitted_percent = 0;
  double lost_percent = 0;  // UDP
};

struct ModelRow {
  std::string name;   // "tcp-k8-10-strings"
  std::string label;  // as in the table
  packet_model::PushNetwork network;
  packet_model::PushTraffic traffic;
  ModelPaper paper;
  std::string obstacle;  // what stands in the way where a criterion is not met: sentences
  bool judged = true;    // false: not the thesis' conditions, shown to explain another row
  [[nodiscard]] bool is_udp() const { return traffic.transport == packet_model::PushTransport::udp; }
};
// Returns the rows of tables 4.2 (TCP) and 4.3 (UDP) in their order, and behind them the ones that explain.
[[nodiscard]] const std::vector<ModelRow>& model_rows();

// The sender of the row's fragments. The thesis names no TCP variant: two are assumed.
enum class ModelSender : std::uint8_t { reno, new_reno, barrel, udp };
[[nodiscard]] const char* name_of(ModelSender sender);

struct AntaresModelOptions {
  std::vector<std::string> rows;  // names; empty: all
  double seconds = 60;            // simulated, and 10 s of relaxation
  std::uint64_t seed = 1;
  std::string judge = {};  // file of earlier lines: a page of them, and no run
  Output output{.name = "antares-model"};
};

// Runs a row and returns its line.
[[nodiscard]] Line model_line(const ModelRow& row, ModelSender sender, const AntaresModelOptions& options);

// A number of the thesis with its bounds here.
struct ModelCriterion {
  std::string row;
  std::string paper;  // a clause, with its place, number and unit
  std::string key;    // of the line
  double factor = 1;  // from the line's unit to the printed one
  std::string unit;
  double least = 0;  // in the printed unit
  double most = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool met(double value) const { return value >= least && value <= most; }
};
[[nodiscard]] std::vector<ModelCriterion> model_criteria(const ModelRow& row);
[[nodiscard]] std::string antares_model_page(const Lines& lines, const AntaresModelOptions& options);

// Returns the page of earlier lines. Errors: a message with the line at fault.
[[nodiscard]] Expected<std::string, std::string> judge_model(const std::string& lines,
                                                             const AntaresModelOptions& options);

// 0: every row was simulated. 2: no such row.
int run_antares_model(const AntaresModelOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
