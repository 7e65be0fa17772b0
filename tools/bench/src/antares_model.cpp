// Runs the rows in the packet model.
#include "output.hpp"
#include "units.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/time.hpp>
#include <weir/bench/antares_model.hpp>
#include <weir/clock/clock.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <system_error>

namespace weir::bench {
namespace {

namespace json = boost::json;
using packet_model::PushResult;

constexpr const char* kBench = "antares-model";
constexpr double kPercentile = 0.99;
constexpr std::size_t kPointsMax = 4000;  // of a plot of delays
constexpr double kNsPerMs = 1e6;

std::vector<ModelSender> senders_of(const ModelRow& row) {
  if (row.is_udp()) return {ModelSender::udp};
  if (!row.judged) return {ModelSender::reno};
  if (row.traffic.group == 0) return {ModelSender::reno, ModelSender::new_reno};
  return {ModelSender::reno, ModelSender::new_reno, ModelSender::barrel};
}

std::vector<DurationNs> arrived(const PushResult& result) {
  std::vector<DurationNs> delays;
  std::ranges::copy_if(result.delays, std::back_inserter(delays),
                       [](DurationNs delay) { return delay != packet_model::kNotDelivered; });
  return delays;
}

void add_delays(Line& line, std::vector<DurationNs> delays) {
  if (delays.empty()) return;
  double sum = 0;
  for (const DurationNs delay : delays) sum += static_cast<double>(delay);
  const auto at = [&](double share) {
    const auto place =
        delays.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(delays.size() - 1));
    std::nth_element(delays.begin(), place, delays.end());
    return four_digits(static_cast<double>(*place) / kNsPerMs);
  };
  line["mean_ms"] = four_digits(sum / static_cast<double>(delays.size()) / kNsPerMs);
  line["p50_ms"] = at(0.5);
  line["p99_ms"] = at(kPercentile);
  line["max_ms"] = at(1);
}

// Every n-th fragment, as pairs of slice and delay.
json::array points_of(const PushResult& result, std::uint32_t readouts) {
  const std::size_t step = std::max<std::size_t>(1, (result.delivered + kPointsMax - 1) / kPointsMax);
  json::array points;
  std::size_t number = 0;
  for (std::size_t i = 0; i < result.delays.size(); ++i) {
    if (result.delays[i] == packet_model::kNotDelivered || number++ % step != 0) continue;
    points.push_back(
        json::array{i / readouts, four_digits(static_cast<double>(result.delays[i]) / kNsPerMs)});
  }
  return points;
}

json::array bursts_of(const PushResult& result) {
  json::array counts;
  for (const auto& [readouts, slices] : result.in_burst) counts.push_back(json::array{readouts, slices});
  return counts;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string sentence(const Line& line) {
  return fmt::format(
      "{}, {}: mean {:.4g} ms, 99 % {:.4g}, longest {:.4g}; retransmitted {:.3g} %, lost {:.3g} %; {:.0f} s",
      text_of(line, "row"), text_of(line, "sender"), number_of(line, "mean_ms"), number_of(line, "p99_ms"),
      number_of(line, "max_ms"), kPercent * number_of(line, "retransmitted"),
      kPercent * number_of(line, "lost"), number_of(line, "_seconds"));
}

}  // namespace

Line model_line(const ModelRow& row, ModelSender sender, const AntaresModelOptions& options) {
  packet_model::PushTraffic traffic = row.traffic;
  traffic.length_ns = static_cast<DurationNs>(options.seconds * kSecond);
  traffic.seed = options.seed;
  if (sender == ModelSender::new_reno) traffic.tcp.variant = packet_model::OldTcpVariant::new_reno;
  if (sender == ModelSender::barrel) traffic.sending = packet_model::PushSending::barrel;
  const PushResult result = packet_model::PushModel(row.network, traffic).run();
  const std::uint64_t sent = result.produced - result.cut_off;
  WEIR_ASSERT(result.delivered + result.damaged <= sent);
  Line line{{"bench", kBench},
            {"row", row.name},
            {"label", row.label},
            {"sender", name_of(sender)},
            {"seconds", options.seconds},
            {"seed", options.seed},
            {"lcms", row.network.readouts},
            {"pcs", row.network.dcms},
            {"k", traffic.group},
            {"fragment_bytes", traffic.fragment_bytes},
            {"burst_share", traffic.bursts.share},
            {"cut_off_slices", traffic.bursts.cut_off_slices},
            {"bit_error_rate", row.network.bit_error_rate}};
  add_delays(line, arrived(result));
  line["fragments"] = sent;
  line["cut_off"] = result.cut_off;
  line["delivered"] = result.delivered;
  line["lost"] = four_digits(share(result.damaged, sent));
  line["arrived"] = four_digits(share(result.delivered, sent));
  line["on_the_way"] = sent - result.delivered - result.damaged;
  line["segments"] = result.segments;
  line["retransmitted"] = four_digits(share(result.retransmitted, result.segments));
  line["timeouts"] = result.timeouts;
  line["drops_lcm"] = result.packets.drops_readout;
  line["drops_uplink"] = result.packets.drops_uplink;
  line["drops_port"] = result.packets.drops_port;
  line["bit_errors"] = result.packets.bit_errors;
  line["events"] = result.events;
  if (sender == ModelSender::reno && row.name.find("direct") != std::string::npos)
    line["delays"] = points_of(result, row.network.readouts);
  if (sender == ModelSender::reno && !result.in_burst.empty()) line["in_burst"] = bursts_of(result);
  return line;
}

Expected<std::string, std::string> judge_model(const std::string& lines, const AntaresModelOptions& options) {
  Lines read;
  std::istringstream text(lines);
  for (std::string written; std::getline(text, written);) {
    std::error_code error;
    const json::value value = json::parse(written, error);
    if (error || !value.is_object() || text_of(value.get_object(), "bench") != kBench)
      return Unexpected<std::string>(
          fmt::format("line {} is none of `weir bench antares --model`", read.size() + 1));
    read.push_back(value.get_object());
  }
  AntaresModelOptions then = options;
  if (!read.empty()) {
    then.seconds = number_of(read.front(), "seconds");
    then.seed = static_cast<std::uint64_t>(number_of(read.front(), "seed"));
  }
  return antares_model_page(read, then);
}

int run_antares_model(const AntaresModelOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.judge.empty()) {
    const auto page = judge_model(read(options.judge), options);
    fmt::print(page ? out : err, "{}\n", page ? *page : options.judge + ": " + page.error());
    return page ? 0 : 2;
  }
  Figure figure;
  figure.bench = "antares";
  figure.needs_all = true;
  for (const ModelRow& row : model_rows()) {
    if (!options.rows.empty() && std::ranges::find(options.rows, row.name) == options.rows.end()) continue;
    for (const ModelSender sender : senders_of(row)) {
      const auto simulate = [&row, sender, &options]() -> Expected<Lines, std::string> {
        const TimeNs begun_ns = monotonic_now_ns();
        Line line = model_line(row, sender, options);
        line["_seconds"] = static_cast<double>(monotonic_now_ns() - begun_ns) / kSecond;
        return Lines{std::move(line)};
      };
      figure.groups.push_back({{row.name + ", " + name_of(sender), simulate}});
    }
  }
  if (figure.groups.empty()) {
    fmt::print(err, "weir bench antares: no such row: `weir bench antares --help` lists them\n");
    return 2;
  }
  figure.sentence = sentence;
  figure.page = [&](const Lines& lines) { return antares_model_page(lines, options); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
