#include "weir_catch.hpp"
#include <weir/bench/failover.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::bench {
namespace {

using Catch::ContainsSubstring;

constexpr double kDcmRate = 1000;  // bytes per second

const Experiment& figure(const char* id) {
  const auto& all = thesis_experiments();
  const auto found = std::ranges::find(all, id, &Experiment::id);
  REQUIRE(found != all.end());
  return *found;
}

ExperimentPoint point_of(const Experiment& experiment) {
  return expand(experiment, {Tcp::new_tcp}, experiment.scale).front();
}

// Each DCM receives at kDcmRate, and an affected one not at all for so long after the cut.
FailoverTrace trace_of(const ExperimentPoint& point, double outage_s, double others_outage_s = 0) {
  const auto affected = affected_dcms(point.setting);
  FailoverTrace trace;
  for (std::uint32_t dcm = 0; dcm < point.setting.dcms; ++dcm) {
    const std::string name = "dcm-" + std::to_string(dcm);
    const bool is_affected = std::ranges::find(affected, name) != affected.end();
    const double cut_s = point.setting.cut_at_s;
    double bytes = 0;
    for (double at_s = 0; at_s <= 36; at_s += 0.1) {
      const double silent_s = is_affected ? outage_s : others_outage_s;
      if (at_s <= cut_s || at_s > cut_s + silent_s) bytes += 0.1 * kDcmRate;
      trace.arrived[name].push_back({at_s, static_cast<std::uint64_t>(bytes)});
    }
  }
  return trace;
}

std::vector<run_record::PlaneChange> moves_of(const std::vector<std::string>& dcms) {
  std::vector<run_record::PlaneChange> moves;
  for (const std::string& dcm : dcms) moves.push_back({dcm, 12.5, "a", "b", 3, 0.6});
  for (const std::string& dcm : dcms) moves.push_back({dcm, 26.5, "b", "a", 0, 0.01});
  return moves;
}

Line figures_of(const ExperimentPoint& point, const FailoverTrace& trace,
                const std::vector<run_record::PlaneChange>& moves) {
  return failover_of(trace, point, {3, 33}, moves, point.setting.dcms * kDcmRate);
}

// The verdicts of a figure that was measured once.
std::vector<ExpectationVerdict> verdicts(const Experiment& experiment, Line figures) {
  figures["lost"] = 0;
  return verdicts_of(experiment, {{point_of(experiment), 1, std::move(figures)}}, experiment.scale);
}

bool is_met(const std::vector<ExpectationVerdict>& all, Quantity quantity) {
  const auto found = std::ranges::find_if(
      all, [&](const ExpectationVerdict& one) { return one.expectation->quantity == quantity; });
  REQUIRE(found != all.end());
  return found->met();
}

}  // namespace

TEST_CASE("a cut link affects the DCMs of its plane and spine, a cut plane all of its own") {
  CHECK(affected_dcms(figure("6.10").setting) == std::vector<std::string>{"dcm-0", "dcm-2"});
  CHECK(affected_dcms(figure("6.10-plane").setting) ==
        std::vector<std::string>{"dcm-0", "dcm-2", "dcm-4", "dcm-6"});
  const std::string lab = lab_text(point_of(figure("6.10")));
  CHECK_THAT(lab, ContainsSubstring("{name: d0, nodes: [dcm-0, dcm-1, dcm-2, dcm-3], attached: 2}") &&
                      ContainsSubstring("{plane: 1, link: leaf2>spine1, at_s: 12, for_s: 12}"));
  CHECK_THAT(lab_text(point_of(figure("6.10-plane"))), ContainsSubstring("{plane: 1, at_s: 12, for_s: 12}"));
}

TEST_CASE("a killed spine loses all of its links, and a flapping plane is cut again and again") {
  CHECK(affected_dcms(figure("6.10-spine").setting) == std::vector<std::string>{"dcm-0", "dcm-2"});
  CHECK_THAT(lab_text(point_of(figure("6.10-spine"))),
             ContainsSubstring("  - {plane: 1, link: leaf1>spine1, at_s: 5, for_s: 5}\n"
                               "  - {plane: 1, link: leaf2>spine1, at_s: 5, for_s: 5}\n"));
  const std::string lab = lab_text(point_of(figure("6.10-flapping")));
  CHECK_THAT(lab, ContainsSubstring("  - {plane: 1, at_s: 5, for_s: 0.5}\n  - {plane: 1, at_s: 5.7, for_s: "
                                    "0.5}\n") &&
                      ContainsSubstring("  - {plane: 1, at_s: 11.3, for_s: 0.5}\n"));
}

TEST_CASE("two moves of a DCM within its hold time fail the figure of a flapping plane") {
  const Experiment& experiment = figure("6.10-flapping");
  const ExperimentPoint point = point_of(experiment);
  const auto judged = [&](double second_s) {
    std::vector<run_record::PlaneChange> moves;
    for (const std::string& dcm : affected_dcms(point.setting)) moves.push_back({dcm, 5.5, "a", "b", 3, 0.5});
    for (const std::string& dcm : affected_dcms(point.setting))
      moves.push_back({dcm, second_s, "b", "a", 0, 0.01});
    return verdicts(experiment, figures_of(point, {}, moves));
  };
  CHECK(is_met(judged(13.8), Quantity::apart_s));
  CHECK_FALSE(is_met(judged(7.4), Quantity::apart_s));
  CHECK(is_met(judged(7.4), Quantity::wrong_moves));
  CHECK_FALSE(is_met(verdicts(experiment, figures_of(point, {}, {})), Quantity::apart_s));
}

TEST_CASE("a short outage of the affected DCMs meets every statement") {
  for (const char* id : {"6.10", "6.10-plane", "6.10-spine"}) {
    const Experiment& experiment = figure(id);
    const ExperimentPoint point = point_of(experiment);
    Line figures = figures_of(point, trace_of(point, 0.6), moves_of(affected_dcms(point.setting)));
    CHECK(number_of(figures, "before_cut") == Approx(1).epsilon(0.01));
    CHECK(number_of(figures, "affected_least") < 0.1);
    CHECK(number_of(figures, "gap_s") == Approx(0.6));
    for (const ExpectationVerdict& verdict : verdicts(experiment, std::move(figures))) {
      CAPTURE(id, verdict.expectation->paper);
      CHECK(verdict.met());
    }
  }
}

TEST_CASE("an outage as long as the cut, a lasting loss of rate, and a stopped farm fail their statements") {
  const Experiment& experiment = figure("6.10");
  const ExperimentPoint point = point_of(experiment);
  const auto moves = moves_of(affected_dcms(point.setting));
  auto judged = verdicts(experiment, figures_of(point, trace_of(point, 12), moves));
  CHECK_FALSE(is_met(judged, Quantity::in_cut));
  CHECK(is_met(judged, Quantity::unaffected));
  CHECK(is_met(judged, Quantity::after_cut));
  judged = verdicts(experiment, figures_of(point, trace_of(point, 30, 1), moves));
  CHECK_FALSE(is_met(judged, Quantity::unaffected));
  CHECK_FALSE(is_met(judged, Quantity::after_cut));
  judged = verdicts(experiment, figures_of(point, {}, moves));
  CHECK_FALSE(is_met(judged, Quantity::before_cut));
}

TEST_CASE("moves are wrong if an unaffected DCM moves, or an affected one stays or does not return") {
  const ExperimentPoint point = point_of(figure("6.10"));
  const auto wrong = [&](const std::vector<run_record::PlaneChange>& moves) {
    return number_of(figures_of(point, {}, moves), "wrong_moves");
  };
  auto moves = moves_of({"dcm-0", "dcm-2"});
  CHECK(wrong(moves) == 0);
  CHECK(wrong({}) == 2);
  CHECK(wrong(moves_of({"dcm-0", "dcm-1", "dcm-2"})) == 1);
  moves.pop_back();
  CHECK(wrong(moves) == 1);
  // Without a move no gap can be judged.
  const auto judged = verdicts(figure("6.10"), figures_of(point, trace_of(point, 0), {}));
  CHECK_FALSE(is_met(judged, Quantity::gap_s));
  CHECK_FALSE(is_met(judged, Quantity::wrong_moves));
}

TEST_CASE("reports of DCMs and readouts are taken once, on the run's clock") {
  v1::FarmView view;
  const auto add = [&](v1::Role role, const char* name, const char* key, std::int64_t at_s,
                       std::uint64_t count) {
    v1::Report& report = *view.add_nodes()->mutable_report();
    report.set_role(role);
    report.set_name(name);
    report.set_now_ns(at_s * kSecond);
    (*report.mutable_counters())[key] = count;
  };
  add(v1::ROLE_DCM, "dcm-0", "fragments.bytes_arrived", 100, 5000);
  add(v1::ROLE_READOUT, "readout-1", "net.retransmits", 101, 7);
  add(v1::ROLE_SUPERVISOR, "supervisor", "stored", 100, 1);
  FailoverTrace trace;
  trace.take(view);
  trace.take(view);
  trace.begin_at(98.5);
  REQUIRE(trace.arrived.size() == 1);
  REQUIRE(trace.arrived["dcm-0"].size() == 1);
  CHECK(trace.arrived["dcm-0"].front().at_s == Approx(1.5));
  CHECK(trace.arrived["dcm-0"].front().slices == 5000);
  REQUIRE(trace.resent["readout-1"].size() == 1);
  CHECK(trace.resent["readout-1"].front().at_s == Approx(2.5));
}

TEST_CASE("the page of a failover has its own table and statements") {
  const Experiment& experiment = figure("6.10");
  const ExperimentPoint point = point_of(experiment);
  Line figures = figures_of(point, trace_of(point, 0.6), moves_of(affected_dcms(point.setting)));
  figures["lost"] = 0;
  ExperimentOptions options;
  options.bench = "thesis";
  const std::string page =
      experiment_page(experiment, {{point, 1, std::move(figures)}}, options, {.others = 0});
  CHECK_THAT(page, ContainsSubstring("their lowest half second, % of before") &&
                       ContainsSubstring("| met | new TCP | ours: nothing but time is lost |") &&
                       !ContainsSubstring("A slice alone"));
}

}  // namespace weir::bench
