// The table and the lines of an experiment. Pure.
#include "units.hpp"
#include "verdicts.hpp"
#include <weir/bench/experiment.hpp>
#include <weir/bench/failover.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>

namespace weir::bench {
namespace {

namespace json = boost::json;

double our_x(const ExperimentPoint& point, Vary vary) {
  switch (vary) {
    case Vary::quota:
      return std::max(1.0, std::round(point.cure.quota));
    case Vary::readouts:
      return point.setting.readouts;
    case Vary::core_buffer:
      return point.setting.core_kb;
    case Vary::fragment:
      return point.setting.fragment_bytes;
    case Vary::ring:
      return std::max(1.0, std::round(point.cure.ring_packets));
    case Vary::ring_rate:
      return point.cure.ring_mbit / kMbitPerGbit;
    default:
      return point.x;
  }
}

Column paper_x() {
  return {"in the paper's unit",
          [](const Line& line) { return fmt::format("{:g}", number_of(line, "x_paper")); }};
}

const Column kLabel = text_column("cure, TCP", "_label");

// The columns that name a row: its run only if there are several.
std::vector<Column> row_columns(const Lines& lines, std::initializer_list<Column> more = {}) {
  std::vector<Column> columns{kLabel};
  if (std::ranges::any_of(lines, [](const Line& line) { return number_of(line, "_run") > 1; })) {
    columns.push_back({"run", [](const Line& line) {
                         return fmt::format("{:.0f}{}", number_of(line, "_run"),
                                            is_set(line, "_not_judged") ? ", not judged" : "");
                       }});
  }
  columns.insert(columns.end(), more);
  return columns;
}

bool differs(const Lines& lines, const char* key) {
  return std::ranges::any_of(
      lines, [&](const Line& line) { return number_of(line, key) != number_of(lines.front(), key); });
}

Column size_column(std::string head, std::string key) {
  return {std::move(head),
          [key = std::move(key)](const Line& line) { return fmt::format("{:.4g}", number_of(line, key)); }};
}

bool has_core(NetworkLayout layout) {
  return layout != NetworkLayout::one_switch && layout != NetworkLayout::all_to_all;
}

// Rings and the queues of software switches have a memory of their own.
std::string buffers_text(const Experiment& experiment, const Lines& lines) {
  if (lines.empty() || differs(lines, "_port_kb")) return {};
  const auto rings = std::ranges::count_if(
      experiment.cures, [](const Cure& cure) { return cure.ring_packets > 0 || !cure.software.empty(); });
  if (experiment.vary == Vary::ring || experiment.vary == Vary::ring_rate) return {};
  if (rings == std::ranges::ssize(experiment.cures)) return {};
  const bool core = has_core(experiment.setting.layout) && !differs(lines, "_core_kb");
  return fmt::format(
      " The buffer of a port is {:g} kB{}{}.", number_of(lines.front(), "_port_kb"),
      core ? fmt::format(", between switches {:g} kB", number_of(lines.front(), "_core_kb")) : "",
      rings > 0 ? "; rings and software switches have their own memory" : "");
}

// A number, or "-" where the line has none.
Column known_column(std::string head, std::string key, int digits, double factor = 1) {
  return {std::move(head), [key = std::move(key), digits, factor](const Line& line) {
            const json::value* const value = line.if_contains(key);
            return value != nullptr && value->is_number()
                       ? fmt::format("{:.{}f}", factor * value->to_number<double>(), digits)
                       : std::string("-");
          }};
}

std::string trace_table(Show show, const Lines& lines) {
  if (show == Show::use)
    return table_of(lines,
                    row_columns(lines, {number_column("idle for 175 ms or more, times", "idle_gaps", 0)}));
  return table_of(
      lines,
      row_columns(
          lines,
          {number_column("first request to last response, ms: median of the collections without an idle ms",
                         "collection_ms", 1),
           number_column("requests in its first quarter, %", "early_requests", 0, kPercent),
           number_column("longest queue, kB", "longest_queue_kb", 1), text_column("at", "_queue_at")}));
}

// Of pushed slices, as the paper's delays are.
std::string fragment_table(bool varies, const Lines& lines) {
  std::vector<Column> columns = row_columns(lines);
  if (varies) columns.push_back(paper_x());
  columns.insert(
      columns.end(),
      {known_column("fragments", "fragments", 0), known_column("delay mean, ms", "fragment_mean_ms", 1),
       known_column("99 %", "fragment_p99_ms", 1), known_column("longest", "fragment_max_ms", 1),
       known_column("retransmitted segments, %", "retransmitted", 2, kPercent)});
  return table_of(lines, columns);
}

std::string push_text(bool varies, const Lines& lines) {
  return "\nLatencies in the table are those of slices: from the last readout's slot to the last "
         "fragment. The thesis' delays are taken to be of fragments (4.3.4):\n\n" +
         fragment_table(varies, lines) +
         "\nA fragment's delay here begins with the first byte of its slice at the DCM, plus its readout's "
         "slots; "
         "the paper's begins with its sending. The fragments are those of the first 200 slices of each DCM, "
         "settling included, so their number is not that of the measured time.\n";
}

std::string source_table(const Lines& lines) {
  return "\nBeside the streams the farm idles, with 10 slices a second of 64 bytes from each source. Their "
         "latency is the time for which they wait behind frames of the streams: where nothing is dropped, it "
         "tells of no timeout. With credits or pause frames each stream keeps a static window of 200 "
         "segments "
         "under way. Three streams of a source (figure 10) are 900 kB in front of a slice's fragment, 0.6 s "
         "at 38 % of a link of 31 Mb/s.\n\n" +
         table_of(lines, row_columns(lines, {number_column("link of the source that sends least, %",
                                                           "source_least", 1, kPercent),
                                             number_column("most, %", "source_most", 1, kPercent)}));
}

// Rows of runs with back-pressure.
std::string pause_table(const Lines& lines) {
  Lines held;
  std::ranges::copy_if(lines, std::back_inserter(held),
                       [](const Line& line) { return text_of(line, "back_pressure") != "none"; });
  if (held.empty()) return {};
  return "\n" +
         table_of(held, row_columns(held, {paper_x(), number_column("pauses of the run", "pauses", 0),
                                           text_column("port held back longest", "held_at"),
                                           number_column("of the run, %", "held_share", 1, kPercent)}));
}

std::string bit_error_table(const Lines& lines) {
  const auto rate = [](const Line& line) { return fmt::format("{:g}", number_of(line, "bit_errors")); };
  return table_of(
      lines, row_columns(lines, {{"bit error rate", rate},
                                 number_column("frames lost to it, settling included", "bit_error_losses", 0),
                                 number_column("retransmitted segments, %", "retransmitted", 3, kPercent),
                                 number_column("longest latency, ms", "max_ms", 1)}));
}

// `paper_ms`: the delay in the paper.
std::string delay_text(double paper_ms, const std::vector<ExperimentResult>& results) {
  if (results.empty() || results.front().point.setting.delay_ms == 0) return {};
  double jitter_ms = 0;
  std::string marks;
  for (const auto& [point, run, figures] : results) {
    const double its_ms = number_of(figures, "jitter_p99_ms");
    jitter_ms = std::max(jitter_ms, its_ms);
    if (!is_set(figures, "inexact_delay")) continue;
    marks += fmt::format(
        "- Jitter above 10 % of the delay: {} at {:g}, {:.2f} ms. This row's delays are not exact.\n",
        label_of(point), point.x, its_ms);
  }
  return fmt::format(
      "\nThe readouts' links have a delay of {:g} ms in each direction ({:g} ms in the paper's "
      "unit), with a p99 jitter of {:.2f} ms at most.\n{}{}",
      results.front().point.setting.delay_ms, paper_ms, jitter_ms, marks.empty() ? "" : "\n", marks);
}

std::string scale_text(const Experiment& experiment, double scale) {
  std::string scaled;
  const auto add = [&](bool one, const char* name) {
    if (one) scaled += (scaled.empty() ? "" : ", ") + std::string(name);
  };
  add(experiment.scaling.rates,
      experiment.setting.delay_ms > 0 ? "link rates (and delays by its inverse)" : "link rates");
  add(experiment.scaling.buffers, "buffers, quotas and windows");
  add(experiment.scaling.readouts, "number of readouts");
  add(experiment.scaling.triggers, "rate of slices, so that times are longer by its inverse");
  return fmt::format("Scale {:g} of: {}.", scale, scaled);
}

// Adds quantities that lines leave out. Removes two of pushed slices, which have no histogram.
void complete(ExperimentResult& result) {
  Line& figures = result.figures;
  const double offered_hz = number_of(figures, "offered_hz");
  figures["_sustained"] = offered_hz > 0 ? number_of(figures, "sustained_hz") / offered_hz : 0;
  figures["_knows_drops"] = true;
  add_derived(result.point, figures);
  if (!result.point.setting.push) return;
  figures["min_ms"] = nullptr;
  figures["slow_share"] = nullptr;
}

}  // namespace

void add_derived(const ExperimentPoint& point, Line& figures) {
  const double ring =
      point.cure.ring_mbit > 0 ? std::max(1.0, point.setting.port_mbit / point.cure.ring_mbit) : 1;
  const double alone_ms = number_of(figures, "serialisation_ms") * ring;
  figures["_over_serialisation"] = alone_ms > 0 ? number_of(figures, "mean_ms") / alone_ms : 0;
}

bool is_loss_free(const Line& figures) {
  if (!is_set(figures, "_knows_drops")) return number_of(figures, "retransmits_per_s") == 0;
  return number_of(figures, "drops") + number_of(figures, "other_drops") == 0;
}

bool LossFreeSearch::measured(bool loss_free) {
  const bool all_lost = low_ == 0;  // so far, and then each load is less than the one before
  (loss_free ? low_ : high_) = next_;
  next_ = (low_ + high_) / 2;
  ++steps_;
  return loss_free || all_lost;
}

bool has_loss_free_load(const Experiment& experiment) {
  return !experiment.setting.push && experiment.setting.flows.empty();
}

Experiment loss_free_of(Experiment experiment) {
  experiment.title += ": largest load without losses";
  if (experiment.vary != Vary::load) return experiment;
  experiment.vary = Vary::nothing;
  experiment.x = {0};
  return experiment;
}

std::string output_name(const Experiment& experiment, const ExperimentOptions& options) {
  return options.bench + "-" + experiment.id + (options.loss_free ? "-loss-free" : "") +
         (options.spinners ? "-spinners" : "");
}

std::vector<Tcp> tcps_of(const Experiment& experiment, const ExperimentOptions& options) {
  for (const Tcp tcp : {Tcp::old_tcp, Tcp::new_tcp, Tcp::thesis}) {
    if (options.tcp == name_of(tcp)) return {tcp};
  }
  return experiment.tcps;
}

double scale_of(const Experiment& experiment, const ExperimentOptions& options) {
  return options.scale > 0 ? options.scale : experiment.scale;
}

ExperimentTimes times_of(const Experiment& experiment, const ExperimentOptions& options) {
  ExperimentTimes times = experiment.times;
  if (options.settle_s > 0) times.settle_s = options.settle_s;
  if (options.measure_s > 0) times.measure_s = options.measure_s;
  return times;
}

Line line_of(const Experiment& experiment, const ExperimentResult& result, const ExperimentOptions& options) {
  const ExperimentPoint& point = result.point;
  const ExperimentTimes times = times_of(experiment, options);
  Line line{{"bench", "experiment"},
            {"paper", options.bench},
            {"figure", experiment.id},
            {"title", experiment.title},
            {"x_label", name_of(experiment.vary)},
            {"x_paper", point.x},
            {"x", four_digits(our_x(point, experiment.vary))},
            {"cure", point.cure.label},
            {"tcp", name_of(point.tcp)},
            {"scale", scale_of(experiment, options)},
            {"settle_s", times.settle_s},
            {"measure_s", times.measure_s},
            {"loss_free", options.loss_free},
            {"readouts", point.setting.readouts},
            {"spinners", point.setting.spinners},
            {"bit_errors", point.cure.bit_errors},
            {"delay_ms", four_digits(point.setting.delay_ms)},
            {"back_pressure", point.cure.back_pressure.empty() ? "none" : point.cure.back_pressure},
            {"_label", label_of(point)},
            {"_run", result.run},
            {"_port_kb", point.setting.port_kb},
            {"_core_kb", point.setting.core_kb}};
  for (const auto& [key, value] : result.figures)
    line[key] = value.is_double() ? json::value(four_digits(value.get_double())) : value;
  if (point.show == Show::bars) line["bars"] = true;
  return line;
}

Expected<std::vector<ExperimentResult>, std::string> results_of(const Experiment& experiment,
                                                                const std::string& lines) {
  std::vector<ExperimentResult> results;
  std::istringstream text(lines);
  std::size_t number = 0;
  for (std::string written; std::getline(text, written);) {
    ++number;
    std::error_code error;
    const json::value value = json::parse(written, error);
    if (error || !value.is_object() || text_of(value.get_object(), "figure") != experiment.id)
      return Unexpected<std::string>(
          fmt::format("line {} is none of figure {}: take the file of that figure", number, experiment.id));
    const Line& line = value.get_object();
    auto points = expand(experiment, {Tcp::old_tcp, Tcp::new_tcp, Tcp::thesis}, number_of(line, "scale"));
    const auto point = std::ranges::find_if(points, [&](const ExperimentPoint& one) {
      return one.cure.label == text_of(line, "cure") && name_of(one.tcp) == text_of(line, "tcp") &&
             one.x == number_of(line, "x_paper");
    });
    if (point == points.end())
      return Unexpected<std::string>(
          fmt::format("line {}: figure {} has no such point today", number, experiment.id));
    if (line.contains("spinners"))
      point->setting.spinners = static_cast<std::uint32_t>(number_of(line, "spinners"));
    const json::value* const runs = line.if_contains("runs");
    if (runs == nullptr || !runs->is_array()) {
      results.push_back({*point, 1, line});
      continue;
    }
    std::uint32_t run = 0;
    for (const json::value& one : runs->get_array()) {
      Line figures = line;
      for (const auto& [key, its] : one.as_object()) figures[key] = its;
      results.push_back({*point, ++run, std::move(figures)});
    }
  }
  for (ExperimentResult& result : results) complete(result);
  return results;
}

namespace {

std::vector<Column> columns_of(const Experiment& experiment, const Lines& lines) {
  std::vector<Column> columns = row_columns(lines);
  if (experiment.vary != Vary::nothing) {
    columns.push_back({fmt::format("{}: in the paper's unit", name_of(experiment.vary)), paper_x().cell});
    columns.push_back({"here", [](const Line& line) { return fmt::format("{:.4g}", number_of(line, "x")); }});
  }
  const auto offered = [](const Line& line) {
    const double hz = number_of(line, "offered_hz");
    return hz > 0 ? fmt::format("{:.1f}", hz) : "as built";
  };
  columns.insert(columns.end(), {{"offered, Hz", offered},
                                 number_column("sustained, Hz", "sustained_hz", 1),
                                 number_column("goodput, % of theory", "share_of_theory", 1, kPercent),
                                 number_column("latency mean, ms", "mean_ms", 1),
                                 number_column("sigma", "sigma_ms", 1),
                                 known_column("min", "min_ms", 1),
                                 number_column("p50", "p50_ms", 1),
                                 number_column("p99", "p99_ms", 1),
                                 known_column("200 ms or more, %", "slow_share", 1, kPercent),
                                 known_column("drops while settling", "settling_drops", 0),
                                 number_column("drops", "drops", 0),
                                 text_column("most at", "drops_at")});
  if (differs(lines, "serialisation_ms"))
    columns.push_back(number_column("a slice alone, ms", "serialisation_ms", 1));
  if (differs(lines, "_port_kb")) columns.push_back(size_column("buffer of a port, kB", "_port_kb"));
  return columns;
}

std::string loss_free_text(const std::vector<ExperimentResult>& results) {
  std::string text =
      "Each row is the run with the largest load without a dropped frame (G_mlf), by bisection. "
      "Retransmissions alone are not a loss: TCP also retransmits late segments.\n";
  for (const auto& [point, run, figures] : results) {
    if (is_loss_free(figures)) continue;
    const double sustained_hz = number_of(figures, "sustained_hz");
    const double load = sustained_hz > 0 ? number_of(figures, "share_of_theory") *
                                               number_of(figures, "offered_hz") / sustained_hz
                                         : 0;
    text += fmt::format("\n- No load without losses: {}; its row is the least load, {:.1f} % of theory{}.\n",
                        label_of(point), kPercent * load,
                        number_of(figures, "drops") > 0
                            ? std::string()
                            : fmt::format(", with {:.0f} frames dropped where no port counts them",
                                          number_of(figures, "other_drops")));
  }
  return text;
}

std::string paper_of(const std::string& bench) {
  if (bench == "antares") return "the ANTARES thesis";
  if (bench == "mixed") return "the paper on mixed traffic";
  return bench == "rcnp" ? "the RCNP emulation" : "the thesis";
}

std::string spinners_text(const std::vector<ExperimentResult>& results) {
  const std::uint32_t spinners = results.empty() ? 0 : results.front().point.setting.spinners;
  return spinners == 0 ? std::string()
                       : fmt::format(
                             " Beside each run {} processes of its priority only compute, one on each "
                             "core; they are not counted as other programs.",
                             spinners);
}

// "table-4.2-sizes" is a part of table 4.2.
std::string page_title(const Experiment& experiment, const ExperimentOptions& options) {
  std::string id = experiment.id;
  std::string kind = "Figure";
  std::string part;
  if (constexpr std::string_view kTable = "table-"; id.starts_with(kTable)) {
    kind = "Table";
    id = id.substr(kTable.size());
    if (const std::size_t dash = id.find('-'); dash != id.npos) {
      part = ": " + id.substr(dash + 1);
      id.resize(dash);
    }
  }
  return fmt::format("{} {} of {}{}", kind, id, paper_of(options.bench), part);
}

}  // namespace

std::string experiment_page(const Experiment& experiment, const std::vector<ExperimentResult>& results,
                            const ExperimentOptions& options, const RunConditions& conditions,
                            const std::string& left_out) {
  const ExperimentTimes times = times_of(experiment, options);
  const double scale = scale_of(experiment, options);
  const std::set<std::uint32_t> busy_runs = busy_runs_of(results, conditions);
  Lines lines;
  for (const ExperimentResult& result : results) {
    lines.push_back(line_of(experiment, result, options));
    lines.back()["_not_judged"] = busy_runs.size() < results.back().run && busy_runs.contains(result.run);
    // Latencies of slices beside streams do not tell of timeouts.
    if (!result.point.setting.flows.empty()) lines.back()["slow_share"] = nullptr;
  }
  std::string text =
      page_head(page_title(experiment, options), options.output,
                fmt::format("{}. {}{} Settling {:g} s, measuring {:g} s. Theory is formula A.12 of "
                            "Jereczek's thesis.\n\n{}",
                            experiment.title, scale_text(experiment, scale), buffers_text(experiment, lines),
                            times.settle_s, times.measure_s, text_of(conditions) + spinners_text(results))) +
      (experiment.show == Show::failover ? failover_table(lines)
                                         : table_of(lines, columns_of(experiment, lines)));
  if (!left_out.empty()) text += "\nLeft out: " + left_out + ".\n";
  if (experiment.setting.push) text += push_text(experiment.vary != Vary::nothing, lines);
  if (needs_trace(experiment.show)) text += "\n" + trace_table(experiment.show, lines);
  if (!experiment.setting.flows.empty()) text += source_table(lines);
  text += pause_table(lines);
  if (std::ranges::any_of(experiment.cures, [](const Cure& cure) { return cure.bit_errors > 0; }))
    text += "\n" + bit_error_table(lines);
  text += delay_text(experiment.setting.delay_ms, results);
  text += "\n";
  if (experiment.show != Show::failover && !differs(lines, "serialisation_ms") && !lines.empty())
    text += fmt::format("A slice alone takes {:.1f} ms through its port.\n\n",
                        number_of(lines.front(), "serialisation_ms"));
  text +=
      options.loss_free ? loss_free_text(results) : statements_text(experiment, results, scale, conditions);
  return text + fmt::format("\nDifferences: {}\n", experiment.differs);
}

}  // namespace weir::bench
