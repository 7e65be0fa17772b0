// A farm's rate around a cut: lowest and mean rates, moves, curves.
#include "units.hpp"
#include <weir/base/role.hpp>
#include <weir/base/time.hpp>
#include <weir/bench/failover.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/shaping/theory.hpp>
#include <weir/wire/frame.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace weir::bench {
namespace {

namespace json = boost::json;

constexpr double kBitsPerByte = 8;
constexpr double kReportS = 0.2;  // two reports: a rate right before the cut has none of it
constexpr double kFollowS = 1.5;  // after which all moves are over
constexpr double kCurveStepS = 0.25;
constexpr double kLookStepS = 0.1;
constexpr double kUnaffectedForS = 2;  // after the cut

using Names = std::vector<std::string>;

double rate_of(const FailoverTrace& trace, const Names& names, double from_s, double until_s) {
  double rate = 0;
  for (const std::string& name : names) {
    const auto found = trace.arrived.find(name);
    if (found != trace.arrived.end()) rate += rate_between(found->second, from_s, until_s);
  }
  return rate;
}

double resent_in(const FailoverTrace& trace, double from_s, double until_s) {
  double segments = 0;
  for (const auto& [name, counts] : trace.resent)
    segments += rate_between(counts, from_s, until_s) * (until_s - from_s);
  return segments;
}

// The lowest rate of half a second.
double lowest_rate(const FailoverTrace& trace, const Names& names, double from_s, double until_s) {
  double lowest = rate_of(trace, names, from_s, from_s + kRateWindowS);
  for (double at_s = from_s + kLookStepS; at_s + kRateWindowS <= until_s; at_s += kLookStepS)
    lowest = std::min(lowest, rate_of(trace, names, at_s, at_s + kRateWindowS));
  return lowest;
}

json::array curve_of(double until_s, const std::function<double(double, double)>& value) {
  json::array points;
  for (double at_s = kCurveStepS; at_s <= until_s; at_s += kCurveStepS)
    points.push_back(json::array{hundredths(at_s), hundredths(value(at_s - kCurveStepS, at_s))});
  return points;
}

// An affected DCM moves once away and once back, and the others never.
std::size_t wrong_moves(const Names& all, const Names& affected,
                        const std::vector<run_record::PlaneChange>& moves) {
  std::size_t wrong = 0;
  for (const std::string& dcm : all) {
    std::vector<bool> away;
    for (const run_record::PlaneChange& move : moves) {
      if (move.dcm == dcm) away.push_back(move.lacking > 0);
    }
    const bool is_affected = std::ranges::find(affected, dcm) != affected.end();
    wrong += away == (is_affected ? std::vector{true, false} : std::vector<bool>()) ? 0 : 1;
  }
  return wrong;
}

void take_moves(const std::vector<run_record::PlaneChange>& moves, double cut_s, Line& figures) {
  double gap_s = 0;
  double latest_s = 0;
  for (const run_record::PlaneChange& move : moves) {
    if (move.lacking == 0) continue;
    gap_s = std::max(gap_s, move.gap_s);
    latest_s = std::max(latest_s, move.at_s - cut_s);
  }
  figures["gap_s"] = gap_s > 0 ? json::value(gap_s) : json::value();  // no DCM has left its plane
  figures["last_move_s"] = latest_s;
}

// Unset if no DCM has moved twice.
json::value shortest_apart(const std::vector<run_record::PlaneChange>& moves) {
  std::map<std::string, double> last_s;
  json::value shortest;
  for (const run_record::PlaneChange& move : moves) {
    const auto before = last_s.find(move.dcm);
    if (before != last_s.end()) {
      const double apart_s = move.at_s - before->second;
      shortest = shortest.is_null() ? apart_s : std::min(shortest.get_double(), apart_s);
    }
    last_s[move.dcm] = move.at_s;
  }
  return shortest;
}

void append_count(std::map<std::string, std::vector<StoredUntil>>& series, const std::string& name,
                  double at_s, std::uint64_t count) {
  std::vector<StoredUntil>& counts = series[name];
  if (counts.empty() || at_s > counts.back().at_s) counts.push_back({at_s, count});
}

}  // namespace

std::uint32_t host_of_dcm(const ExperimentSetting& setting, std::uint32_t dcm) {
  return dcm * kDcmHosts / setting.dcms;
}

// DCM i receives through plane i mod 2, and the lab gives the spines to the DCMs' hosts in turn.
std::vector<std::string> affected_dcms(const ExperimentSetting& setting) {
  Names names;
  for (std::uint32_t dcm = 0; dcm < setting.dcms; dcm += kPlanes) {
    const bool is_behind = setting.cut_spine == 0 || host_of_dcm(setting, dcm) + 1 == setting.cut_spine;
    if (is_behind) names.push_back(fmt::format("dcm-{}", dcm));
  }
  return names;
}

void FailoverTrace::take(const v1::FarmView& view) {
  for (const auto& node : view.nodes()) {
    const v1::Report& report = node.report();
    const double at_s = static_cast<double>(report.now_ns()) / kSecond;
    if (report.role() == v1::ROLE_DCM)
      append_count(arrived, report.name(), at_s, reports::counter_of(report, "fragments.bytes_arrived"));
    if (report.role() == v1::ROLE_READOUT)
      append_count(resent, report.name(), at_s, reports::counter_of(report, "net.retransmits"));
  }
}

void FailoverTrace::begin_at(double begin_s) {
  for (auto* series : {&arrived, &resent}) {
    for (auto& [name, counts] : *series) {
      for (StoredUntil& count : counts) count.at_s -= begin_s;
    }
  }
}

Line failover_of(const FailoverTrace& trace, const ExperimentPoint& point, const ExperimentTimes& times,
                 const std::vector<run_record::PlaneChange>& moves, double theory) {
  const ExperimentSetting& setting = point.setting;
  const Names affected = affected_dcms(setting);
  Names all;
  Names others;
  for (std::uint32_t dcm = 0; dcm < setting.dcms; ++dcm) {
    all.push_back(fmt::format("dcm-{}", dcm));
    if (std::ranges::find(affected, all.back()) == affected.end()) others.push_back(all.back());
  }
  const double cut_s = setting.cut_at_s;
  const double back_s = cut_s + setting.cut_for_s;
  const double end_s = times.settle_s + times.measure_s;
  const auto mean = [&](const Names& names) {
    return rate_of(trace, names, times.settle_s, cut_s - kReportS);
  };
  const double before = mean(all);
  const auto of_before = [](double rate, double whole) { return whole > 0 ? rate / whole : 0; };
  Line figures{
      {"before_cut", of_before(before, theory)},
      {"unaffected", of_before(lowest_rate(trace, others, cut_s, cut_s + kUnaffectedForS), mean(others))},
      {"affected_least",
       of_before(lowest_rate(trace, affected, cut_s, cut_s + kUnaffectedForS), mean(affected))},
      {"in_cut", of_before(rate_of(trace, all, cut_s + kFollowS, back_s), before)},
      {"after_cut", of_before(rate_of(trace, all, back_s + setting.hold_s + kFollowS, end_s), before)},
      {"wrong_moves", wrong_moves(all, affected, moves)},
      {"affected", affected.size()},
      {"resent_before", resent_in(trace, times.settle_s, cut_s - kReportS)},
      {"cut_at_s", cut_s},
      {"cut_until_s", back_s}};
  take_moves(moves, cut_s, figures);
  figures["apart_s"] = shortest_apart(moves);
  const auto mbit = [&](const Names& names) {
    return curve_of(end_s, [&](double from_s, double until_s) {
      return kBitsPerByte * rate_of(trace, names, from_s, until_s) / kBitPerMbit;
    });
  };
  figures["all_mbit"] = mbit(all);
  figures["affected_mbit"] = mbit(affected);
  figures["others_mbit"] = mbit(others);
  figures["resent"] =
      curve_of(end_s, [&](double from_s, double until_s) { return resent_in(trace, from_s, until_s); });
  return figures;
}

void take_failover(const FailoverTrace& trace, const ExperimentPoint& point, const ExperimentTimes& times,
                   const run_record::Summary& summary, Line& figures) {
  const ExperimentSetting& setting = point.setting;
  const double rings_bit = setting.dcms * std::min(point.cure.ring_mbit, setting.port_mbit) * kBitPerMbit;
  const double theory =
      shaping::thesis_goodput(rings_bit, setting.sources * setting.fragment_bytes, wire::kHeaderBytes);
  const Line around = failover_of(trace, point, times, summary.plane_moves, theory);
  for (const auto& [key, value] : around) figures[key] = value;
  figures["share_of_theory"] = figures["before_cut"];
  figures["lost"] = run_record::total_of(summary.fragments_missing) +
                    run_record::total_of(summary.discarded) + (summary.ledger_balanced ? 0 : 1);
  figures["status"] = summary.exit_status;
}

std::string failover_table(const Lines& lines) {
  const auto seconds = [](std::string head, std::string key) {
    return Column{std::move(head), [key = std::move(key)](const Line& line) {
                    const double value_s = number_of(line, key);
                    return value_s > 0 ? fmt::format("{:.2f}", value_s) : std::string("-");
                  }};
  };
  const std::string table =
      table_of(lines, {number_column("run", "_run", 0),
                       number_column("before, % of theory", "before_cut", 1, kPercent),
                       number_column("all DCMs in the cut, % of before", "in_cut", 1, kPercent),
                       number_column("after it", "after_cut", 1, kPercent),
                       number_column("affected DCMs", "affected", 0),
                       number_column("their lowest half second, % of before", "affected_least", 1, kPercent),
                       number_column("that of the others", "unaffected", 1, kPercent),
                       number_column("last move after the cut, s", "last_move_s", 2),
                       seconds("longest gap, s", "gap_s"),
                       seconds("shortest time between two moves of a DCM, s", "apart_s"),
                       number_column("wrong moves", "wrong_moves", 0),
                       number_column("segments sent again before", "resent_before", 0),
                       number_column("fragments and slices lost", "lost", 0),
                       {"exit status", [](const Line& line) {
                          return line.contains("status") ? fmt::format("{:.0f}", number_of(line, "status"))
                                                         : std::string("-");
                        }}});
  return table +
         "\nTheory is that of the rates of the DCMs' rings. A gap is the longest time without data of a "
         "readout at a "
         "DCM that moved.\n\n";
}

}  // namespace weir::bench
