// A sweep over farms in virtual networks: measuring, and its page.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/conditions.hpp>
#include <weir/bench/network.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace weir::bench {
namespace {

std::string in_words(const Line& line, const char* key, const char* format, double factor = 1) {
  const double value = factor * number_of(line, key);
  return value > 0 ? fmt::format(fmt::runtime(format), value) : std::string();
}

// A setting of a point, in words; empty: not applicable.
using Setting = std::string (*)(const Line&);
constexpr std::array<Setting, 9> kSettings = {
    [](const Line& line) { return text_of(line, "shaper"); },
    [](const Line& line) {
      const std::string text = in_words(line, "window_fragments", "{:g} fragment");
      return text.empty() || text == "1 fragment" ? text : text + "s";
    },
    [](const Line& line) { return in_words(line, "window_bytes", "{:g} kB", 1 / kBytesPerKb); },
    [](const Line& line) { return in_words(line, "offered_share_of_theory", "{:g} % offered", kPercent); },
    [](const Line& line) { return in_words(line, "readouts", "{:g} readouts"); },
    [](const Line& line) { return in_words(line, "fragment_bytes", "fragments of {} B"); },
    [](const Line& line) { return in_words(line, "fragments_per_readout", "{:g} a readout"); },
    [](const Line& line) { return in_words(line, "window_segments", "congestion window fixed at {:g}"); },
    [](const Line& line) { return text_of(line, "congestion_control"); },
};

// Returns the settings that distinguish the point from the others: "byte-credits, 36 kB, bbr".
std::string label_of(const Line& line, const Lines& lines) {
  std::string text;
  for (const Setting setting : kSettings) {
    const std::string value = setting(line);
    const bool differs =
        std::ranges::any_of(lines, [&](const Line& one) { return setting(one) != setting(lines.front()); });
    if (!value.empty() && differs) text += (text.empty() ? "" : ", ") + value;
  }
  return text.empty() ? text_of(line, "_label") : text;
}

Expected<NetworkRun, std::string> measure(const NetworkPoint& point, const NetworkOptions& options,
                                          const std::string& folder) {
  const double fragments = static_cast<double>(point.readouts) * point.fragments;
  const double slice_bytes = fragments * point.fragment_bytes;
  auto run = prepare_run(folder, farm_text(point, options, 0), lab_text(point, options));
  if (run && point.load > 0) {
    const auto theory = theory_of_run(*run, slice_bytes, fragments);
    if (!theory) return Unexpected<std::string>(theory.error());
    const double rate_hz = point.load * theory->goodput_bytes_per_s / slice_bytes;
    run = prepare_run(folder, farm_text(point, options, rate_hz), lab_text(point, options));
  }
  if (!run) return Unexpected<std::string>(run.error());
  return measure_in_lab(*run);
}

FigurePoint figure_point(const NetworkPoint& point, const NetworkOptions& options) {
  const auto latency_us = std::make_shared<metrics::ValueHistogram>();  // of all rounds
  return {describe(point), [point, &options, latency_us]() -> Expected<Lines, std::string> {
            const ScratchFolder folder;
            const auto run = measure(point, options, folder.path().string());
            if (!run) return Unexpected<std::string>(run.error());
            latency_us->merge(run->latency_us);
            const std::string arrivals = (folder.path() / "out/run-000001-dcm-0-arrivals.csv").string();
            return Lines{line_of(point, options, *run, *latency_us, read(arrivals))};
          }};
}

}  // namespace

std::string network_page(const Lines& lines, const NetworkOptions& options, const std::string& machine) {
  const auto ms = [](const char* head, const char* key) {
    return number_column(head, std::string("after_1s.") + key, 1, 1 / kUsPerMs);
  };
  return page_head(options.output.name, options.output,
                   fmt::format("On {}; ports of {} with a buffer of {}, {:g} s a run, medians of {} run{}. "
                               "Goodput, latency and retransmissions are those after the first second.",
                               machine, options.rate, options.buffer, options.seconds, options.rounds,
                               options.rounds == 1 ? "" : "s")) +
         table_of(lines, {{"point", [&](const Line& line) { return label_of(line, lines); }},
                          number_column("goodput, % of theory", "after_1s.share_of_theory", 1, kPercent),
                          ms("p50, ms", "p50_us"),
                          ms("p99, ms", "p99_us"),
                          ms("max, ms", "max_us"),
                          number_column("p99 over serialisation", "p99_over_serialisation", 2),
                          number_column("retransmitted a second", "after_1s.retransmits_per_s", 0),
                          number_column("drops at ports", "after_1s.port_drops", 0),
                          number_column("CPU, s/s", "machine_cpu_s_per_s", 2)});
}

int run_network(const NetworkOptions& options, std::FILE* out, std::FILE* err) {
  const std::string where = where_now();
  Figure figure;
  figure.bench = options.pattern == Pattern::incast ? "incast" : "all-to-all";
  figure.needs_lab = true;
  figure.rounds = options.rounds;
  for (const NetworkPoint& point : expand(options)) figure.groups.push_back({figure_point(point, options)});
  figure.sentence = [](const Line& line) {
    return fmt::format("{}: {:.1f} % of theory, p99 {:.1f} ms, {:.0f} retransmissions/s, CPU {:.2f}",
                       text_of(line, "_label"), kPercent * number_of(line, "after_1s.share_of_theory"),
                       number_of(line, "after_1s.p99_us") / kUsPerMs,
                       number_of(line, "after_1s.retransmits_per_s"), number_of(line, "machine_cpu_s_per_s"));
  };
  figure.page = [&](const Lines& lines) { return network_page(lines, options, where); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
