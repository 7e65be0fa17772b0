// The field bench: measuring, lines and page.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/conditions.hpp>
#include <weir/bench/field.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <thread>

namespace weir::bench {
namespace {

constexpr const char* kIntroduction =
    "Farms in realistic networks, under the DCMs' shapers: `quiet`, nothing else runs; `busy`, with a "
    "spinner\non each core ([lab](../lab.md)). Goodput, latency and retransmissions are those after the "
    "first second; theory is\nthe rate of the network's narrowest place, latency is the 99th percentile of "
    "first request to last fragment over\nthe time that a slice takes through the DCM's port. Drops are of "
    "all ports. CPU is the time of the farm's processes.\n\n";

std::string latency_text(const Line& line) {
  const double latency = number_of(line, "p99_over_serialisation");
  return latency > 0 ? fmt::format("{:.2f}", latency) : "no slice";
}

std::string jitter_text(const Lines& lines) {
  double most_us = 0;
  for (const Line& line : lines) most_us = std::max(most_us, number_of(line, "_jitter_us"));
  if (most_us == 0) return {};
  const bool inexact =
      std::ranges::any_of(lines, [](const Line& line) { return is_set(line, "_inexact_delay"); });
  return fmt::format("\nThe p99 jitter of the delay was at most {:.0f} us{}.\n", most_us,
                     inexact ? ", more than 10 % of the delay: this case's delays are not exact" : "");
}

FigurePoint figure_point(const FieldPoint& point, const FieldOptions& options) {
  const auto worst = std::make_shared<NetworkRun>();  // jitter of all rounds
  return {describe(point), [point, &options, worst]() -> Expected<Lines, std::string> {
            const ScratchFolder folder;
            const auto prepared = prepare_run(folder.path().string(), farm_text(point, options),
                                              lab_text(point, options, std::thread::hardware_concurrency()));
            if (!prepared) return Unexpected<std::string>(prepared.error());
            auto run = measure_in_lab(*prepared);
            if (!run) return Unexpected<std::string>(run.error());
            run->jitter_us = worst->jitter_us = std::max(worst->jitter_us, run->jitter_us);
            run->inexact_delay = worst->inexact_delay = worst->inexact_delay || run->inexact_delay;
            return Lines{line_of(point, options, *run)};
          }};
}

}  // namespace

Line line_of(const FieldPoint& point, const FieldOptions& options, const NetworkRun& run) {
  const auto figure = [&](const char* key) { return number_of(run.line, key); };
  return {{"bench", "field"},
          {"case", point.what->name},
          {"load", point.busy ? "busy" : "quiet"},
          {"shaper", point.shaper},
          {"window_bytes", point.window_bytes},
          {"seconds", options.seconds},
          {"rounds", 1},
          {"share_of_theory", figure("after_1s.share_of_theory")},
          {"p99_over_serialisation", four_digits(point.what->bound * figure("p99_over_serialisation"))},
          {"drops", figure("whole.port_drops")},
          {"drops_after_1s", figure("after_1s.port_drops")},
          {"retransmits_per_s", figure("after_1s.retransmits_per_s")},
          {"foreign_share", figure("foreign_share")},
          {"cpu_s_per_s", figure("cpu_s_per_s")},
          {"machine_cpu_s_per_s", figure("machine_cpu_s_per_s")},
          {"_shaper", shaper_text(point)},
          {"_label", describe(point)},
          {"_jitter_us", run.jitter_us},
          {"_inexact_delay", run.inexact_delay}};
}

std::string field_page(const Lines& lines, const FieldOptions& options, const std::string& machine) {
  std::string text = page_head(
      options.output.name, options.output,
      fmt::format("{}On {}; {:g} s a run, medians of {} run{}, the shapers of a case in turn.", kIntroduction,
                  machine, options.seconds, options.rounds, options.rounds == 1 ? "" : "s"));
  for (const FieldCase& what : field_cases()) {
    Lines its;
    std::ranges::copy_if(lines, std::back_inserter(its),
                         [&](const Line& line) { return text_of(line, "case") == what.name; });
    if (its.empty()) continue;
    std::vector<Column> columns{text_column("load", "load"),
                                text_column("shaper", "_shaper"),
                                number_column("goodput, % of theory", "share_of_theory", 1, kPercent),
                                {"p99 over serialisation", latency_text},
                                number_column("drops", "drops", 0),
                                number_column("of them after 1 s", "drops_after_1s", 0),
                                number_column("retransmitted a second", "retransmits_per_s", 0),
                                number_column("CPU, s/s", "cpu_s_per_s", 2)};
    if (std::ranges::any_of(its, [](const Line& line) { return number_of(line, "foreign_share") > 0; }))
      columns.push_back(number_column("foreign traffic, % of its rate", "foreign_share", 1, kPercent));
    text += fmt::format("{}## {}\n{}.\n\n", text.ends_with("\n\n") ? "" : "\n", what.name, what.title) +
            table_of(its, columns) + jitter_text(its);
  }
  return text;
}

int run_field(const FieldOptions& options, std::FILE* out, std::FILE* err) {
  const std::string where = where_now();
  Figure figure;
  figure.bench = "field";
  figure.needs_lab = true;
  figure.rounds = options.rounds;
  for (const auto& points : expand(options)) {
    auto& group = figure.groups.emplace_back();
    for (const FieldPoint& point : points) group.push_back(figure_point(point, options));
  }
  figure.sentence = [](const Line& line) {
    return fmt::format(
        "{}: {:.1f} % of theory, p99 {:.2f} x serialisation, {:.0f} dropped, {:.0f} after 1 s, CPU {:.2f}",
        text_of(line, "_label"), kPercent * number_of(line, "share_of_theory"),
        number_of(line, "p99_over_serialisation"), number_of(line, "drops"),
        number_of(line, "drops_after_1s"), number_of(line, "cpu_s_per_s"));
  };
  figure.page = [&](const Lines& lines) { return field_page(lines, options, where); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
