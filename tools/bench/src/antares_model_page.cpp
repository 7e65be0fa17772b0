// The page of the simulated tables: the thesis' values beside the model's, criteria, verdicts. Pure.
#include "units.hpp"
#include <weir/bench/antares_model.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace weir::bench {
namespace {

constexpr double kClose = 1.3;  // rows without a loss, and shares that UDP loses
constexpr double kLossy = 3;
constexpr double kMuchLessPercent = 0.1;  // "<< 0.1"
constexpr double kBreakPercent = 1;
constexpr double kOrderedFromS = 0.1;
constexpr double kMoreThanNone = std::numeric_limits<double>::min();

constexpr const char* kAbout =
    "At its own size and speed, in `libs/network/packet_model`: LCMs of 50 Mb/s, five at a "
    "switch, 1 Gb/s over 300 us to the central switch, 500 Mb/s to each PC, 50 us on the other "
    "links, 100 packets in each queue, a time slice each 10 ms. A delay begins at the fragment's "
    "slot and ends with its last byte at the PC (4.3.4; section 4.4.1 speaks of delays \"over "
    "all slices\"). The thesis' rows send each fragment at its slot, as its handle-timeslice() "
    "does.\n\n**Assumed**, because the thesis names ns-2's FullTcp (4.3.2), but neither its "
    "congestion control nor its window (4.3.5 calls its TCP \"not quantitatively reliable\"): "
    "the defaults of about 2002, once as Reno, once as NewReno; a window of 20 segments, 2 at "
    "the start and after an idle timeout, a clock of 100 ms, so timeouts of 300 ms and 6 s "
    "before the first measured round trip; no Nagle. The sector has 2 PCs (5 / 3). A UDP "
    "fragment is lost with any of its packets of 1460 bytes. **Chosen by the loss-free rows**: "
    "no Nagle, and the initial window, which in ns-2 was 1 or 2 (with 1 the rows of 30 and 60 kB "
    "take 7.1 and 18 ms instead of the thesis' 6 and 15). Nothing is fitted to a row with losses.";

const Line* line_at(const Lines& lines, const std::string& row, ModelSender sender) {
  const auto found = std::ranges::find_if(lines, [&](const Line& line) {
    return text_of(line, "row") == row && text_of(line, "sender") == name_of(sender);
  });
  return found == lines.end() ? nullptr : &*found;
}

// Three significant digits, as a plain number.
std::string digits(double value) {
  if (value == 0) return "0";
  const int places = std::clamp(2 - static_cast<int>(std::floor(std::log10(value))), 0, 4);
  return fmt::format("{:.{}f}", value, places);
}

std::string value_text(const ModelCriterion& criterion, const Line* line) {
  return line == nullptr ? "-" : digits(criterion.factor * number_of(*line, criterion.key)) + criterion.unit;
}

std::optional<bool> met(const ModelCriterion& criterion, const Line* line) {
  if (line == nullptr) return std::nullopt;
  return criterion.met(criterion.factor * number_of(*line, criterion.key));
}

const char* word_of(std::optional<bool> is_met) {
  if (!is_met) return "not simulated";
  return *is_met ? "met" : "not met";
}

std::string bounds_text(const ModelCriterion& criterion) {
  const bool below = std::isfinite(criterion.most);
  if (criterion.least == kMoreThanNone)
    return below ? fmt::format("more than none, at most {}{}", digits(criterion.most), criterion.unit)
                 : "more than none";
  const bool above = criterion.least > 0;
  if (above && below)
    return fmt::format("{} to {}{}", digits(criterion.least), digits(criterion.most), criterion.unit);
  if (above) return fmt::format("at least {}{}", digits(criterion.least), criterion.unit);
  return criterion.most == 0 ? "none" : fmt::format("at most {}{}", digits(criterion.most), criterion.unit);
}

ModelCriterion delay(const ModelRow& row, const char* key, const char* what, double paper_s, double within) {
  return {row.name,
          fmt::format("Table 4.2: {:g} s {}", paper_s, what),
          key,
          1 / kMsPerS,
          " s",
          paper_s / within,
          paper_s * within};
}
ModelCriterion retransmitted(const std::string& row, std::string paper, double least, double most) {
  return {row, std::move(paper), "retransmitted", kPercent, " %", least, most};
}

std::vector<ModelCriterion> tcp_criteria(const ModelRow& row) {
  const ModelPaper& paper = row.paper;
  const double within = paper.lossy ? kLossy : kClose;
  std::vector<ModelCriterion> all{delay(row, "mean_ms", "on average", paper.mean_s, within),
                                  delay(row, "p99_ms", "at 99 %", paper.p99_s, within),
                                  delay(row, "max_ms", "at most", paper.max_s, within)};
  const std::string text = fmt::format("Table 4.2: {} % retransmitted", paper.retransmitted);
  if (!paper.lossy) {
    all.push_back(retransmitted(row.name, text, 0, 0));
  } else if (paper.retransmitted_percent > 0) {
    all.push_back(retransmitted(row.name, text, paper.retransmitted_percent / kLossy,
                                paper.retransmitted_percent * kLossy));
  } else {
    all.push_back(retransmitted(row.name, text, kMoreThanNone, kMuchLessPercent));
  }
  return all;
}

std::vector<ModelCriterion> udp_criteria(const ModelRow& row) {
  const ModelPaper& paper = row.paper;
  std::vector<ModelCriterion> all{
      {row.name, fmt::format("Table 4.3: {:.2f} % of the data lost", paper.lost_percent), "lost", kPercent,
       " %", paper.lost_percent / kClose, std::min(kPercent, paper.lost_percent * kClose)},
      {row.name, fmt::format("Table 4.3: {:g} s at most", paper.max_s), "max_ms", 1 / kMsPerS, " s",
       paper.max_s / kClose, paper.max_s * kClose}};
  const double arrive = kPercent - paper.lost_percent;
  if (arrive < kPercent / 2)
    all.push_back({row.name, fmt::format("Table 4.3: {:.2f} % of the data arrive", arrive), "arrived",
                   kPercent, " %", arrive / kClose, arrive * kClose});
  return all;
}

// Statements of the text and of the figures, each about one row.
std::vector<ModelCriterion> text_criteria() {
  return {retransmitted("tcp-k15", "4.4.1: k = 15 works, 0.0 % retransmitted", 0, 0),
          retransmitted("tcp-k20", "4.4.1: k = 20 has some retransmissions", kMoreThanNone,
                        std::numeric_limits<double>::infinity()),
          retransmitted("tcp-60k", "4.4.1: 60 kB lose no packet", 0, 0),
          retransmitted("tcp-65k", "4.4.1: 65 kB lose packets in masses", kBreakPercent,
                        std::numeric_limits<double>::infinity()),
          {"tcp-direct-10-strings", "4.4.1, figure 4.2: fragments with more than 40 s", "max_ms", 1 / kMsPerS,
           " s", 40}};
}

std::string delays_cell(const Line* line) {
  if (line == nullptr) return "-";
  const auto seconds = [&](const char* key) {
    return fmt::format("{:.3f}", number_of(*line, key) / kMsPerS);
  };
  return fmt::format("{} / {} / {}, {} %", seconds("mean_ms"), seconds("p99_ms"), seconds("max_ms"),
                     digits(kPercent * number_of(*line, "retransmitted")));
}

std::string tcp_table(const Lines& lines) {
  std::string text =
      "## Table 4.2: TCP\nDelay on average / at 99 % / at most in seconds, and the share of retransmitted "
      "segments.\n\n| model | thesis | Reno | NewReno | Weir's barrel, Reno |\n| --- | --- | --- | --- | --- "
      "|\n";
  for (const ModelRow& row : model_rows()) {
    if (row.is_udp()) continue;
    text += fmt::format("| {} | {:.3f} / {:.3f} / {:.3f}, {} % |", row.label, row.paper.mean_s,
                        row.paper.p99_s, row.paper.max_s, row.paper.retransmitted);
    for (const ModelSender sender : {ModelSender::reno, ModelSender::new_reno, ModelSender::barrel})
      text += " " + delays_cell(line_at(lines, row.name, sender)) + " |";
    text += "\n";
  }
  return text +
         "\nWeir's readouts (`shaping::Barrel`) begin a fragment when the one before has left for its "
         "connection. Where "
         "fragments fit their slots that changes next to nothing. Where they do not, a readout falls behind "
         "by itself "
         "instead of filling its own queue, so that few segments or none are sent again.\n";
}

std::string udp_table(const Lines& lines) {
  std::string text =
      "\n## Table 4.3: UDP\n| model | thesis: longest delay, s | lost, % | here: longest delay, s | lost, % "
      "|\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const ModelRow& row : model_rows()) {
    if (!row.is_udp()) continue;
    const Line* line = line_at(lines, row.name, ModelSender::udp);
    text += fmt::format("| {} | {:.3f} | {:.2f} |", row.label, row.paper.max_s, row.paper.lost_percent);
    text += line == nullptr ? " - | - |\n"
                            : fmt::format(" {:.3f} | {:.2f} |\n", number_of(*line, "max_ms") / kMsPerS,
                                          kPercent * number_of(*line, "lost"));
  }
  return text;
}

// The averages of the rows with losses, in ascending order.
std::string order_of(const Lines& lines, ModelSender sender, bool papers) {
  std::vector<std::pair<double, std::string>> means;
  for (const ModelRow& row : model_rows()) {
    if (row.is_udp() || !row.judged || row.paper.mean_s < kOrderedFromS) continue;
    const Line* line = line_at(lines, row.name, sender);
    if (line == nullptr) return {};
    means.emplace_back(papers ? row.paper.mean_s : number_of(*line, "mean_ms"), row.label);
  }
  std::ranges::sort(means);
  std::string text;
  for (const auto& [mean, label] : means) text += (text.empty() ? "" : " < ") + label;
  return text;
}

std::string criterion_row(const ModelCriterion& criterion, const Lines& lines) {
  const bool udp = criterion.row.starts_with("udp");
  const Line* first = line_at(lines, criterion.row, udp ? ModelSender::udp : ModelSender::reno);
  const Line* second = udp ? nullptr : line_at(lines, criterion.row, ModelSender::new_reno);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", word_of(met(criterion, first)),
                     udp ? "-" : word_of(met(criterion, second)), criterion.row, criterion.paper,
                     bounds_text(criterion), value_text(criterion, first), value_text(criterion, second));
}

std::string verdicts(const Lines& lines) {
  std::string text =
      "\n## Statements of the thesis\nRows without a loss and the shares that UDP loses are judged within a "
      "factor of 1.3, other "
      "rows within 3. The seed decides on the bursts, the bit errors and the phases of the TCP clocks, the "
      "last without a visible effect.\n\n"
      "| Reno, UDP | NewReno | row | the thesis | criterion | Reno, UDP | NewReno |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ModelRow& row : model_rows()) {
    for (const ModelCriterion& criterion : model_criteria(row)) text += criterion_row(criterion, lines);
  }
  for (const ModelCriterion& criterion : text_criteria()) text += criterion_row(criterion, lines);
  const std::string papers = order_of(lines, ModelSender::reno, true);
  if (papers.empty()) return text;
  const auto judged = [&](ModelSender sender) { return word_of(order_of(lines, sender, false) == papers); };
  return text + fmt::format(
                    "| {} | {} | rows with losses | Table 4.2: averages above 0.1 s in this order: {} | the "
                    "same order | {} | {} |\n",
                    judged(ModelSender::reno), judged(ModelSender::new_reno), papers,
                    order_of(lines, ModelSender::reno, false), order_of(lines, ModelSender::new_reno, false));
}

// Figure 4.4, of the run with bursts.
std::string bursts_text(const Lines& lines) {
  const Line* line = line_at(lines, "tcp-bio", ModelSender::reno);
  if (line == nullptr || !line->contains("in_burst")) return {};
  double slices = 0;
  double sum = 0;
  for (const auto& pair : line->at("in_burst").as_array()) {
    const double count = pair.as_array()[1].to_number<double>();
    slices += count;
    sum += count * pair.as_array()[0].to_number<double>();
  }
  const double mean = slices > 0 ? sum / slices : 0;
  const double expected = number_of(*line, "burst_share") * number_of(*line, "lcms");
  constexpr double kWithin = 0.07;
  return fmt::format(
      "| {} | - | tcp-bio | 4.4.1, figure 4.4: on average 5 % of the detector (15 of 300 LCMs) is in burst "
      "mode | within 7 % | {:.2f} | - |\n",
      word_of(std::abs(mean / expected - 1) < kWithin), mean);
}

std::string obstacles(const Lines& lines) {
  std::string text;
  std::vector<std::string> told;
  for (const ModelRow& row : model_rows()) {
    const Line* line = line_at(lines, row.name, row.is_udp() ? ModelSender::udp : ModelSender::reno);
    const auto criteria = model_criteria(row);
    const bool fails = std::ranges::any_of(
        criteria, [&](const ModelCriterion& one) { return met(one, line) == std::optional(false); });
    if (!fails || row.obstacle.empty() || std::ranges::find(told, row.obstacle) != told.end()) continue;
    told.push_back(row.obstacle);
    text += fmt::format("- {}: {}\n", row.name, row.obstacle);
  }
  return text.empty() ? text : "\n## Obstacles\n" + text;
}

}  // namespace

std::vector<ModelCriterion> model_criteria(const ModelRow& row) {
  if (!row.judged) return {};
  return row.is_udp() ? udp_criteria(row) : tcp_criteria(row);
}

std::string antares_model_page(const Lines& lines, const AntaresModelOptions& options) {
  return page_head("Tables 4.2 and 4.3 and figures 4.1 to 4.4 of the ANTARES thesis, simulated",
                   options.output,
                   fmt::format("{:g} s simulated and 10 s of relaxation, seed {}. {}", options.seconds,
                               options.seed, kAbout)) +
         tcp_table(lines) + udp_table(lines) + verdicts(lines) + bursts_text(lines) + obstacles(lines);
}

}  // namespace weir::bench
