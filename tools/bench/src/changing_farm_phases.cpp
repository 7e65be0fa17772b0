// The measured rate beside the expected one of the present DCMs: phases, a line, a table.
#include "units.hpp"
#include <weir/bench/changing_farm.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace weir::bench {
namespace {

constexpr double kStartUpS = 1;
constexpr double kLookS = 0.1;
double count_at(const std::vector<StoredUntil>& stored, double at_s) {
  const auto after = std::lower_bound(stored.begin(), stored.end(), at_s,
                                      [](const StoredUntil& one, double at) { return one.at_s < at; });
  if (after == stored.end()) return stored.empty() ? 0 : static_cast<double>(stored.back().slices);
  if (after == stored.begin()) return static_cast<double>(after->slices);
  const StoredUntil& before = *std::prev(after);
  const double share = (at_s - before.at_s) / (after->at_s - before.at_s);
  return static_cast<double>(before.slices) + share * static_cast<double>(after->slices - before.slices);
}

bool in_band(double rate_hz, double expected_hz) { return std::abs(rate_hz / expected_hz - 1) <= kRateBand; }

std::optional<double> followed_after(const std::vector<StoredUntil>& stored, const Phase& phase) {
  for (int look = 0;; ++look) {
    const double from_s = phase.change.at_s + look * kLookS;
    const double middle_s = from_s + kRateWindowS;
    const double until_s = middle_s + kRateWindowS;
    if (until_s > phase.until_s) return std::nullopt;
    if (in_band(rate_between(stored, from_s, middle_s), phase.expected_hz) &&
        in_band(rate_between(stored, middle_s, until_s), phase.expected_hz)) {
      return from_s - phase.change.at_s;
    }
  }
}

}  // namespace

bool Phase::good() const { return followed_s && std::abs(rate_hz / expected_hz - 1) <= band; }

double rate_between(const std::vector<StoredUntil>& stored, double from_s, double until_s) {
  if (until_s <= from_s) return 0;
  return (count_at(stored, until_s) - count_at(stored, from_s)) / (until_s - from_s);
}

std::vector<Phase> phases_of(const std::vector<StoredUntil>& stored, const std::vector<FarmChange>& changes) {
  std::vector<Phase> phases;
  if (stored.empty() || changes.empty()) return phases;
  const double end_s = stored.back().at_s;
  const auto until = [&](std::size_t i) { return i + 1 < changes.size() ? changes[i + 1].at_s : end_s; };
  const double full_hz = rate_between(stored, changes.front().at_s + kStartUpS, until(0));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Phase phase{changes[i], until(i), full_hz * changes[i].dcms / changes.front().dcms, {}, 0};
    phase.followed_s = i == 0 ? kStartUpS : followed_after(stored, phase);
    phase.rate_hz = rate_between(stored, phase.change.at_s + phase.followed_s.value_or(0), phase.until_s);
    phases.push_back(std::move(phase));
  }
  return phases;
}

std::vector<Phase> phases_of_unlike(const std::vector<StoredUntil>& stored,
                                    const std::vector<FarmChange>& changes) {
  std::vector<Phase> phases;
  if (stored.empty()) return phases;
  std::map<std::string, double> own_hz;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const FarmChange& change = changes[i];
    const double until_s = i + 1 < changes.size() ? changes[i + 1].at_s : stored.back().at_s;
    Phase phase{change, until_s, 0, kUnlikeSettleS, 0, kUnlikeBand};
    phase.rate_hz = rate_between(stored, change.at_s + kUnlikeSettleS, until_s);
    phase.expected_hz = phase.rate_hz;
    if (i > 0) {
      const Phase& before = phases.back();
      const bool left = change.dcms < before.change.dcms;
      const auto known = own_hz.find(change.dcm);
      if (known != own_hz.end()) {
        phase.expected_hz = before.expected_hz + (left ? -known->second : known->second);
      } else if (left) {
        own_hz[change.dcm] = before.expected_hz - phase.rate_hz;
      }
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

std::vector<FarmStep> changing_farm_steps(std::uint32_t dcms) {
  std::vector<FarmStep> steps;
  const auto name = [](std::uint32_t index) { return "dcm-" + std::to_string(index); };
  const std::uint32_t least = dcms - dcms / 2;
  for (std::uint32_t i = dcms; i > least; --i) steps.push_back({FarmStep::Kind::remove, name(i - 1)});
  for (std::uint32_t i = least; i < dcms; ++i) steps.push_back({FarmStep::Kind::add, name(i)});
  steps.push_back({FarmStep::Kind::kill, name(0)});
  steps.push_back({FarmStep::Kind::start, name(0)});
  return steps;
}

Line line_of(const ChangingFarmResult& result, const ChangingFarmOptions& options) {
  boost::json::array phases;
  bool good = result.balanced;
  for (const Phase& phase : result.phases) {
    good = good && phase.good();
    Line one{{"change", phase.change.what},
             {"at_s", hundredths(phase.change.at_s)},
             {"until_s", hundredths(phase.until_s)},
             {"dcms", phase.change.dcms},
             {"expected_hz", hundredths(phase.expected_hz)},
             {"rate_hz", hundredths(phase.rate_hz)},
             {"deviation_percent", hundredths(kPercent * phase.deviation())},
             {"good", phase.good()}};
    if (phase.followed_s) one["followed_s"] = hundredths(*phase.followed_s);
    phases.push_back(std::move(one));
  }
  boost::json::array rates;
  const double end_s = result.stored.empty() ? 0 : result.stored.back().at_s;
  for (double at_s = kRateWindowS; at_s <= end_s; at_s += kRateWindowS)
    rates.push_back(hundredths(rate_between(result.stored, at_s - kRateWindowS, at_s)));
  const bool remote = options.remote;
  const std::size_t dcms = remote ? remote_nodes().nodes.size() : options.dcms;
  return {{"bench", "changing-farm"},
          {"remote", remote},
          {"dcms", dcms},
          {"filter_ms", remote ? remote_nodes().processing_ms : options.filter_ms},
          {"step_s", remote ? 0 : options.step_s},
          {"phases", std::move(phases)},
          {"stored", result.stored_slices},
          {"discarded", result.discarded},
          {"ledger_balanced", result.balanced},
          {"reason", result.reason},
          {"rate_every_s", kRateWindowS},
          {"rate_hz", std::move(rates)},
          {"_good", good}};
}

namespace {

std::string introduction(const ChangingFarmOptions& options, const std::string& machine) {
  if (!options.remote)
    return fmt::format(
        "On {}; {} DCMs with a filter that sleeps {:g} ms per slice, so at most {:.0f} slices/s together. "
        "Expected is the first row's rate times the share of present DCMs.",
        machine, options.dcms, options.filter_ms, 1000 * options.dcms / options.filter_ms);
  const RemoteNodes& remote = remote_nodes();
  std::string nodes;
  for (const RemoteNode& node : remote.nodes)
    nodes += fmt::format("{}{} with {:g} Mb/s", nodes.empty() ? "" : ", ", node.name,
                         options.scale * node.port_mbit);
  return fmt::format(
      "On {}; remote nodes behind a line with {:g} ms there and back: {}. Each has one event of {:.0f} kB at "
      "a "
      "time, fetched whole from the DCM that built it, processed for {:g} ms and sent to the writer. Rates "
      "and sizes "
      "are {:g} of the paper's, times {:g}. A node's own rate is the difference that its first removal "
      "makes; later "
      "phases are expected to have the sum.",
      machine, 2 * remote.delay_ms, nodes, options.scale * remote.event_bytes / kBytesPerKb,
      remote.processing_ms, options.scale, options.pace);
}

}  // namespace

std::string changing_farm_page(const Line& line, const ChangingFarmOptions& options,
                               const std::string& machine) {
  Lines phases;
  for (const auto& phase : line.at("phases").as_array()) phases.push_back(phase.as_object());
  const auto followed = [&](const Line& phase) {
    if (options.remote || text_of(phase, "change") == "begin") return std::string("-");
    return phase.contains("followed_s") ? fmt::format("{:.1f}", number_of(phase, "followed_s")) : "never";
  };
  const auto deviation = [](const Line& phase) {
    return fmt::format("{:+.1f}", number_of(phase, "deviation_percent"));
  };
  std::string text =
      page_head(
          options.output.name, options.output,
          fmt::format("{} The account: {} slices stored, {} discarded, the ledger {}.",
                      introduction(options, machine), number_of(line, "stored"), number_of(line, "discarded"),
                      is_set(line, "ledger_balanced") ? "balances" : "does NOT balance")) +
      table_of(phases, {number_column("at, s", "at_s", 1),
                        text_column("change", "change"),
                        number_column("DCMs", "dcms", 0),
                        number_column("expected, slices/s", "expected_hz", 1),
                        number_column("rate, slices/s", "rate_hz", 1),
                        {"deviation, %", deviation},
                        {"followed after, s", followed}});
  if (options.remote)
    text += fmt::format("\nThe paper (Fig. 8): {}.\n\nDifference: {}.\n", remote_nodes().paper,
                        remote_nodes().differs);
  return text;
}

}  // namespace weir::bench
