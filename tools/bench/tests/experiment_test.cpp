#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/experiment.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>
#include <weir/run_record/summary.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace weir::bench {
namespace {

using Catch::ContainsSubstring;

const Experiment& thesis(const char* id) {
  const auto& all = thesis_experiments();
  const auto found = std::ranges::find(all, id, &Experiment::id);
  REQUIRE(found != all.end());
  return *found;
}

const RunConditions kQuiet{.machine = "a processor, 2 cores, Linux", .others = 0, .withheld = 0};

ExperimentResult result_of(ExperimentPoint point, double share, double drops) {
  return {std::move(point), 1, {{"share_of_theory", share}, {"drops", drops}}};
}

}  // namespace

TEST_CASE("every run of every figure has a farm and a lab that fit each other") {
  std::vector<Experiment> all = thesis_experiments();
  all.insert(all.end(), antares_experiments().begin(), antares_experiments().end());
  all.insert(all.end(), mixed_experiments().begin(), mixed_experiments().end());
  all.insert(all.end(), rcnp_experiments().begin(), rcnp_experiments().end());
  for (const Experiment& experiment : all) {
    CAPTURE(experiment.id);
    const auto points = expand(experiment, {Tcp::old_tcp, Tcp::new_tcp, Tcp::thesis}, experiment.scale);
    CHECK(points.size() == 3 * experiment.x.size() * experiment.cures.size());
    for (const ExperimentPoint& point : points) {
      CAPTURE(label_of(point), point.x);
      const auto farm = config::read_farm(farm_text(point, experiment.times, 10), "farm.yaml");
      REQUIRE(farm.has_value());
      const auto plan = config::expand(farm->farm, farm->locations);
      REQUIRE(plan.has_value());
      const auto lab_file = config::read_lab(lab_text(point), "lab.yaml");
      REQUIRE(lab_file.has_value());
      const auto lab = lab::plan_lab(*lab_file, &*plan);
      REQUIRE(lab.has_value());
      CHECK(std::ranges::any_of(lab->hosts, &lab::LabHost::has_dcm));
    }
  }
}

TEST_CASE("one scale multiplies rates, buffers, quotas and readouts, so that times stay") {
  const Experiment& figure = thesis("4.5");
  const auto points = expand(figure, {Tcp::new_tcp}, 0.1);
  const auto point = std::ranges::find(points, 400, &ExperimentPoint::x);
  REQUIRE(point != points.end());
  CHECK(point->setting.readouts == 20);
  CHECK(point->cure.quota == 40);
  const std::string farm = farm_text(*point, {2, 6}, 50);
  CHECK_THAT(farm,
             ContainsSubstring("rate_hz: 50") && ContainsSubstring("count: 20, sources_per_readout: 12") &&
                 ContainsSubstring("shaper: fragment-credits, window_fragments: 40, window_strict: true") &&
                 ContainsSubstring("duration_s: 8.5"));
  const std::string lab = lab_text(*point);
  CHECK_THAT(lab, ContainsSubstring("port_rate: 100000000bit\nport_buffer: 60000\n") &&
                      ContainsSubstring("racks: {count: 3, uplink_rate: 1000000000bit"));
  CHECK_THAT(lab, !ContainsSubstring("tcp_sack"));
}

TEST_CASE("a paced cure has a share of its port's goodput, and DCMs and fragments vary") {
  const auto& all = rcnp_experiments();
  const auto link = std::ranges::find(all, "12", &Experiment::id);
  REQUIRE(link != all.end());
  const auto points = expand(*link, {Tcp::new_tcp}, 1);
  const std::string farm = farm_text(points.front(), {1, 2}, 0);
  CHECK_THAT(farm, ContainsSubstring("shaper: paced, pace_bytes_per_s: 14") &&  // of 18 MB/s
                       ContainsSubstring("size_bytes: 512"));
  const auto destinations = std::ranges::find(all, "13", &Experiment::id);
  REQUIRE(destinations != all.end());
  const auto many = expand(*destinations, {Tcp::new_tcp}, 0.1);
  CHECK(many.back().setting.dcms == 11);
  CHECK(many.back().setting.readouts == 11);
}

TEST_CASE("the papers' TCP has neither SACK nor RACK nor tail-loss probes") {
  const auto points = expand(thesis("4.13"), {Tcp::old_tcp}, 0.01);
  CHECK_THAT(
      lab_text(points.front()),
      ContainsSubstring("sysctls: {ipv4.tcp_sack: 0, ipv4.tcp_recovery: 0, ipv4.tcp_early_retrans: 0}\n"));
  const Experiment& slow_links = thesis("5.5");
  CHECK_THAT(lab_text(expand(slow_links, {Tcp::thesis}, slow_links.scale).front()),
             ContainsSubstring("ipv4.tcp_early_retrans: 0, ipv4.tcp_rto_min_us: 2000000}\n"));
  CHECK_THAT(lab_text(expand(slow_links, {Tcp::new_tcp}, slow_links.scale).front()),
             ContainsSubstring("sysctls: {ipv4.tcp_rto_min_us: 2000000}\n"));
}

TEST_CASE("queues of software switches have an address for each DCM, and a slow DCM its own port") {
  const auto points = expand(thesis("5.5-slow"), {Tcp::old_tcp}, 0.005);
  REQUIRE(points.size() == 5);
  const std::string rings = lab_text(points[0]);
  CHECK_THAT(rings, ContainsSubstring(
                        "switches: software\naddresses: per-dcm\nport_queue: per-dcm\nring_packets: 512\n"));
  CHECK_THAT(rings, ContainsSubstring("- {name: d3, nodes: [dcm-3], port_rate: 5000000bit}"));
  CHECK_THAT(rings, ContainsSubstring("- {name: d2, nodes: [dcm-2]}"));
  CHECK_THAT(lab_text(points[3]), ContainsSubstring("port_queue: one\n"));
  CHECK_THAT(lab_text(points[4]), !ContainsSubstring("port_queue"));  // the kernel's bridge
}

TEST_CASE("the thesis' TCP keeps a static window through losses, and plain TCP stays Cubic") {
  const auto quotas = expand(thesis("4.5"), {Tcp::thesis}, 0.1);
  CHECK_THAT(lab_text(quotas.front()), ContainsSubstring("window_segments: 100\nstatic_window: true\n") &&
                                           ContainsSubstring("ipv4.tcp_recovery: 0"));
  CHECK_THAT(lab_text(expand(thesis("4.5"), {Tcp::old_tcp}, 0.1).front()),
             !ContainsSubstring("static_window"));
  const auto windows = expand(thesis("4.16"), {Tcp::thesis}, 0.02);
  CHECK_THAT(lab_text(windows[2]), ContainsSubstring("window_segments: 3\nstatic_window: true\n"));
  for (const ExperimentPoint& point : expand(thesis("4.13"), {Tcp::thesis}, 0.003)) {
    CHECK(point.cure.kept == (point.cure.label != "TCP Cubic"));
  }
  CHECK(expand(thesis("4.13"), {Tcp::old_tcp}, 0.003).back().cure.kept);  // pause frames
  ExperimentOptions options;
  CHECK(tcps_of(thesis("4.5"), options).size() == 3);
  options.tcp = "new";
  CHECK(tcps_of(thesis("4.5"), options) == std::vector{Tcp::new_tcp});
}

TEST_CASE("a cascade fills switches one by one, and flows run beside a farm that idles") {
  const auto& all = mixed_experiments();
  const auto figure = std::ranges::find(all, "11", &Experiment::id);
  REQUIRE(figure != all.end());
  const auto points = expand(*figure, {Tcp::new_tcp}, 0.2);
  const std::string lab = lab_text(points.front());
  CHECK_THAT(lab, ContainsSubstring("racks: {count: 2, uplink_rate: 124400000bit"));
  CHECK_THAT(lab, ContainsSubstring("{name: r3, nodes: [readout-3], attached: 1,") &&
                      ContainsSubstring("{name: r4, nodes: [readout-4], attached: 2,") &&
                      ContainsSubstring("{name: d2, nodes: [dcm-2], attached: 3}"));
  CHECK_THAT(lab, ContainsSubstring("foreign:\n  - {from: r0, to: d0}\n") &&
                      ContainsSubstring("  - {from: r5, to: d2}\n"));
  CHECK_THAT(farm_text(points.front(), {2, 6}, 0), ContainsSubstring("rate_hz: 10"));
  CHECK_THAT(lab, !ContainsSubstring("back_pressure"));
  CHECK_THAT(lab_text(points[1]), ContainsSubstring("back_pressure: credits\nwindow_segments: 200\n"));
  CHECK_THAT(lab_text(points.back()), !ContainsSubstring("foreign"));
  CHECK_THAT(farm_text(points.back(), {2, 6}, 0),
             ContainsSubstring("mode: max") && ContainsSubstring("credits: 4"));
}

TEST_CASE("hosts share an interface card where the figure says so, with credits only") {
  const auto& all = mixed_experiments();
  const auto figure = std::ranges::find(all, "7", &Experiment::id);
  REQUIRE(figure != all.end());
  for (const ExperimentPoint& point : expand(*figure, {Tcp::old_tcp}, 0.2)) {
    CAPTURE(point.cure.label);
    CHECK((lab_text(point).find("attached: 2, card: 1}") != std::string::npos) ==
          (point.cure.label == "credits"));
  }
}

TEST_CASE("each leaf has its part of readouts and DCMs; rings and cards have the paper's rates") {
  const auto points = expand(thesis("6.8"), {Tcp::old_tcp}, 0.005);
  const auto two = std::ranges::find_if(points, [](const ExperimentPoint& point) {
    return point.cure.label == "two spines" && point.x == 1.04;
  });
  REQUIRE(two != points.end());
  const std::string lab = lab_text(*two);
  CHECK_THAT(lab,
             ContainsSubstring("leaf_spine: {leaves: 2, spines: 2, link_rate: 50000000bit,") &&
                 ContainsSubstring("{name: r3, nodes: [readout-3], attached: 2, host_rate: 50000000bit}") &&
                 ContainsSubstring("{name: d2, nodes: [dcm-2], attached: 1, nic_rate: 43500000bit}") &&
                 ContainsSubstring("{name: d3, nodes: [dcm-3], attached: 2,"));
  // Eight times 1.04 Gb/s, with preamble and gap.
  CHECK_THAT(lab, ContainsSubstring("ring_packets: 2048\nring_rate: 42148") &&
                      ContainsSubstring("window_segments: 200\n"));
  CHECK_THAT(lab_text(points.front()), ContainsSubstring("spines: 1,"));
}

TEST_CASE("DCMs share hosts, and rings have their rate, where the thesis compares them") {
  const auto hosts = expand(thesis("7.8"), {Tcp::thesis}, 0.003);
  REQUIRE(hosts.size() == 12);
  CHECK_THAT(lab_text(hosts[7]), ContainsSubstring("- {name: d5, nodes: [dcm-15, dcm-16, dcm-17]}") &&
                                     ContainsSubstring("- {name: r5, nodes: [readout-5]}") &&
                                     ContainsSubstring("port_queue: per-dcm\nring_packets: 1024\n"));
  CHECK_THAT(lab_text(hosts.back()),
             ContainsSubstring("- {name: d5, nodes: [dcm-15, dcm-16, dcm-17], nic_rate: 28200000bit}") &&
                 ContainsSubstring("- {name: r5, nodes: [readout-5]}") &&
                 ContainsSubstring("nic_buffer: 64000\nnic_pauses: true\nswitches: software\n"));
  CHECK_THAT(lab_text(hosts.front()), !ContainsSubstring("static_window"));  // Cubic
  const auto uplink = expand(thesis("7.4"), {Tcp::thesis}, 0.02);
  CHECK_THAT(lab_text(uplink.back()), ContainsSubstring("ring_packets: 4096\nring_rate: 27600000bit\n"));
  const auto limited = expand(thesis("6.9"), {Tcp::thesis}, 0.005);
  REQUIRE(limited.size() == 3);
  CHECK_THAT(lab_text(limited[1]), ContainsSubstring("ring_rate: 36879"));
  CHECK_THAT(lab_text(limited[0]), !ContainsSubstring("ring_rate"));
}

TEST_CASE("a software switch is judged by its latency beside pause frames, at each load") {
  const Experiment& figure = thesis("5.13");
  const auto judged = [&](double rings_ms) {
    std::vector<ExperimentResult> results;
    for (ExperimentPoint& point : expand(figure, {Tcp::thesis}, figure.scale)) {
      const bool rings = point.cure.label == "rings";
      ExperimentResult& result = results.emplace_back(result_of(std::move(point), rings ? 0.98 : 0.7, 0));
      result.figures["slow_share"] = 0;
      result.figures["mean_ms"] = rings ? rings_ms * (result.point.x > 0.95 ? 2 : 1) : 20;
    }
    return std::ranges::all_of(verdicts_of(figure, results, figure.scale), &ExpectationVerdict::met);
  };
  CHECK(judged(5));
  CHECK_FALSE(judged(10));  // at 99 % as slow as pause frames
}

TEST_CASE("LCMs with bursts have 25,000 bytes a slice outside of them, at any scale") {
  const auto& all = antares_experiments();
  const auto figure = std::ranges::find(all, "4.3", &Experiment::id);
  REQUIRE(figure != all.end());
  const auto points = expand(*figure, {Tcp::old_tcp}, 0.1);
  const std::string farm = farm_text(points.back(), {2, 6}, 10);
  CHECK_THAT(farm, ContainsSubstring("floors_per_string: 60, modules_per_floor: 3, background_hz: 7060,") &&
                       ContainsSubstring("burst_s_max: 30, burst_factor: 6") &&
                       ContainsSubstring("cut_off_bytes: 60000, cut_off_slices: 4, cut_off_sources: 3"));
  CHECK_THAT(farm_text(points.front(), {2, 6}, 10), ContainsSubstring("size_bytes: 30000"));
}

TEST_CASE("a cure with bit errors has them on all links, and the page has the losses and retransmissions") {
  const auto& all = antares_experiments();
  const auto figure = std::ranges::find(all, "table-4.2-errors", &Experiment::id);
  REQUIRE(figure != all.end());
  const auto points = expand(*figure, {Tcp::old_tcp}, 0.1);
  REQUIRE(points.size() == 2);
  CHECK_THAT(lab_text(points[0]), !ContainsSubstring("bit_errors"));
  CHECK_THAT(lab_text(points[1]), ContainsSubstring("bit_errors: 1e-08\n"));
  ExperimentOptions options;
  options.bench = "antares";
  std::vector<ExperimentResult> results{result_of(points[0], 0.5, 0), result_of(points[1], 0.5, 0)};
  run_record::Summary summary;
  summary.after_1s.emplace();
  summary.after_1s->goodput_bytes_per_s = 999 * 1448.0;
  CHECK(value_of(Quantity::retransmitted, figures_of(summary, 0, false)) == 0);
  summary.after_1s->seconds = 2;
  summary.after_1s->retransmits = 2;
  results[1].figures = figures_of(summary, 0, false);
  CHECK(value_of(Quantity::retransmitted, results[1].figures) == Approx(0.001));
  results[1].figures["bit_error_losses"] = 12;
  CHECK_THAT(experiment_page(*figure, results, options, {}),
             ContainsSubstring("cut-off, bit errors, old TCP | 1e-08 | 12 | 0.100 | 0.0 |"));
}

TEST_CASE("delays grow as the speed shrinks, and a page marks rows with too much jitter") {
  const auto& all = antares_experiments();
  const auto figure = std::ranges::find(all, "table-4.2-sector", &Experiment::id);
  REQUIRE(figure != all.end());
  CHECK(figure->setting.delay_ms == Approx(0.4));
  const auto points = expand(*figure, {Tcp::old_tcp}, 0.1);
  CHECK_THAT(lab_text(points.front()), ContainsSubstring("{name: r4, nodes: [readout-4], delay_ms: 4}") &&
                                           ContainsSubstring("{name: d1, nodes: [dcm-1]}"));
  CHECK_THAT(lab_text(expand(thesis("4.5"), {Tcp::old_tcp}, 0.1).front()), !ContainsSubstring("delay_ms"));
  ExperimentOptions options;
  options.bench = "antares";
  ExperimentResult result = result_of(points.front(), 0.5, 0);
  result.figures["jitter_p99_ms"] = 0.3;
  std::string page = experiment_page(*figure, {result}, options, {});
  CHECK_THAT(page, ContainsSubstring(
                       "a delay of 4 ms in each direction (0.4 ms in the paper's unit), with a p99 jitter of "
                       "0.30 ms") &&
                       !ContainsSubstring("not exact"));
  result.figures["inexact_delay"] = true;
  page = experiment_page(*figure, {result}, options, {});
  CHECK_THAT(page, ContainsSubstring("- Jitter above 10 % of the delay: direct, old TCP at 0, 0.30 ms."));
}

TEST_CASE("a statement about a ratio compares two cures at the same x") {
  Experiment figure = mixed_experiments().front();
  auto points = expand(figure, {Tcp::old_tcp}, 1);
  std::vector<ExperimentResult> results;
  for (ExperimentPoint& point : points) {
    ExperimentResult& result = results.emplace_back(result_of(std::move(point), 0.5, 0));
    result.figures["sustained_hz"] = result.point.cure.units == 4 ? 3000 : 1000;
  }
  const ExpectationVerdict verdict = verdicts_of(figure, results, 1).front();
  CHECK(verdict.met());
  CHECK(verdict.runs.front().most == Approx(3));
  results.erase(results.begin(), results.begin() + 4);  // one event at a time
  CHECK_FALSE(verdicts_of(figure, results, 1).front().measured());
}

TEST_CASE("the largest loss-free load is bisected to a few per cent") {
  LossFreeSearch search;
  int runs = 0;
  for (; !search.done(); ++runs) search.measured(search.load() <= 0.7);
  CHECK(runs == LossFreeSearch::kSteps);
  CHECK(search.best() <= 0.7);
  CHECK(search.best() > 0.66);
  LossFreeSearch always;
  always.measured(true);
  CHECK(always.done());  // the highest load has no losses
  CHECK(always.best() == 1.02);
  LossFreeSearch never;
  while (!never.done()) CHECK(never.measured(false));  // the least load is reported
  CHECK(never.best() == 0);
  LossFreeSearch late;
  CHECK(late.measured(false));
  CHECK(late.measured(true));
  CHECK_FALSE(late.measured(false));  // a lossy load does not take a loss-free one's place
  CHECK(late.measured(true));
}

TEST_CASE("in a lab a dropped frame is a loss, wherever it was, and a retransmission is none") {
  Line figures{{"_knows_drops", true}, {"retransmits_per_s", 3}};  // spurious
  CHECK(is_loss_free(figures));
  figures["other_drops"] = 1;
  CHECK_FALSE(is_loss_free(figures));
  figures["other_drops"] = 0;
  figures["drops"] = 1;
  CHECK_FALSE(is_loss_free(figures));
  CHECK(is_loss_free({}));
  CHECK_FALSE(is_loss_free({{"retransmits_per_s", 3}}));
}

TEST_CASE("a search for the load replaces the loads of a figure, and has files of its own") {
  ExperimentOptions options;
  options.bench = "thesis";
  CHECK(output_name(thesis("4.13"), options) == "thesis-4.13");
  options.loss_free = true;
  CHECK(output_name(thesis("4.13"), options) == "thesis-4.13-loss-free");
  const Experiment search = loss_free_of(thesis("4.13"));
  CHECK(expand(search, {Tcp::old_tcp}, 0.01).size() == search.cures.size());
  CHECK(loss_free_of(thesis("4.5")).x == thesis("4.5").x);  // its quotas still vary
  CHECK(has_loss_free_load(thesis("4.13")));
  CHECK_FALSE(has_loss_free_load(antares_experiments().front()));  // pushes
  CHECK_FALSE(has_loss_free_load(mixed_experiments().back()));     // flows beside an idle farm
}

TEST_CASE("a page names the rows for which no load was free of losses") {
  const Experiment& figure = thesis("4.13");
  ExperimentOptions options;
  options.bench = "thesis";
  options.loss_free = true;
  ExperimentResult result = result_of(expand(figure, {Tcp::old_tcp}, 0.01).front(), 0.2, 0);
  result.figures["_knows_drops"] = true;
  result.figures["retransmits_per_s"] = 0.5;
  const std::string note = "No load without losses: TCP Cubic, old TCP";
  CHECK(experiment_page(figure, {result}, options, {}).find(note) == std::string::npos);
  result.figures["offered_hz"] = 3.2;  // and a fifth of theory at 20 slices/s
  result.figures["sustained_hz"] = 20.0;
  result.figures["other_drops"] = 7;
  std::string page = experiment_page(figure, {result}, options, {});
  CHECK(page.find(note) != std::string::npos);
  CHECK(page.find("3.2 % of theory, with 7 frames dropped where no port counts them.") != std::string::npos);
  result.figures["drops"] = 2;
  page = experiment_page(figure, {result}, options, {});
  CHECK(page.find("3.2 % of theory.") != std::string::npos);
}

TEST_CASE("a statement of the paper holds if all matching runs meet it, and is not judged without a run") {
  const Experiment& figure = thesis("4.13");
  const auto points = expand(figure, {Tcp::old_tcp}, 0.01);
  std::vector<ExperimentResult> results;
  CHECK_FALSE(verdicts_of(figure, results, 1).front().measured());
  for (const ExperimentPoint& point : points)
    results.push_back(result_of(point, point.cure.label == "TCP Cubic" ? 0.2 : 0.8, 0));
  const auto share_verdicts = [&] {
    auto verdicts = verdicts_of(figure, results, 0.01);
    std::erase_if(verdicts, [](const ExpectationVerdict& verdict) {
      return verdict.expectation->quantity != Quantity::share || !verdict.expectation->open.empty();
    });
    return verdicts;
  };
  REQUIRE(share_verdicts().size() == 2);
  for (const ExpectationVerdict& verdict : share_verdicts()) CHECK(verdict.met());
  // Below full load the statement about plain TCP says nothing.
  results.front().figures["share_of_theory"] = 0.9;
  CHECK(share_verdicts().front().met());
  for (ExperimentResult& result : results) result.figures["share_of_theory"] = 0.5;
  for (const ExpectationVerdict& verdict : share_verdicts()) CHECK_FALSE(verdict.met());
  ExperimentOptions options;
  options.bench = "thesis";
  const std::string row =
      "TCP Cubic, old TCP | 4.5.3: switches with TCP Cubic reach less than 20 % of theory | "
      "goodput, "
      "of theory at most 20 % from 1 | 50 % |";
  CHECK_THAT(experiment_page(figure, results, options, kQuiet), ContainsSubstring("| not met | " + row));
  RunConditions busy;
  busy.others = 0.5;
  CHECK_THAT(experiment_page(figure, results, options, busy),
             ContainsSubstring("| no verdict: the machine was busy | " + row));
  busy.withheld = 0.2;
  CHECK_THAT(experiment_page(figure, results, options, busy),
             ContainsSubstring("| no verdict: the machine was busy | " + row));
  // Other programs use the cores, and give way.
  busy.withheld = 0.05;
  const std::string page = experiment_page(figure, results, options, busy);
  CHECK_THAT(page, ContainsSubstring("| not met | " + row));
  CHECK_THAT(page, ContainsSubstring("at most 50 %; cores that they kept from a program of this figure's "
                                     "priority: at most 5 %."));
}

TEST_CASE("a busy run of a figure is named, and the others are judged") {
  const Experiment& figure = thesis("4.13");
  std::vector<ExperimentResult> results;
  for (const ExperimentPoint& point : expand(figure, {Tcp::old_tcp}, 0.003)) {
    if (point.cure.label != "TCP Cubic" || point.x < 1) continue;
    for (std::uint32_t run = 1; run <= 2; ++run)
      results.push_back(
          {point, run,
           Line{{"share_of_theory", run == 1 ? 0.15 : 0.5}, {kWithheldShare, run == 1 ? 0.05 : 0.2}}});
  }
  REQUIRE(results.size() == 2);
  ExperimentOptions options;
  options.bench = "thesis";
  const auto page = [&] {
    Lines lines;
    for (const ExperimentResult& result : results) lines.push_back(result.figures);
    return experiment_page(figure, results, options, conditions_of(lines));
  };
  CHECK_THAT(page(),
             ContainsSubstring("Not judged: run 2, because") && ContainsSubstring("priority: at most 20 %"));
  CHECK_THAT(page(),
             ContainsSubstring("at most 20 % from 1 | 15 % |") && ContainsSubstring("| met | TCP Cubic"));
  results.front().figures[kWithheldShare] = 0.2;
  CHECK_THAT(page(), ContainsSubstring("nothing is judged") &&
                         ContainsSubstring("at most 20 % from 1 | 15 %; 50 % |"));
}

TEST_CASE("nothing is judged without a recorded load, or if all cores were in use") {
  const Experiment& figure = thesis("4.13");
  std::vector<ExperimentResult> results;
  for (const ExperimentPoint& point : expand(figure, {Tcp::old_tcp}, 0.01)) {
    results.push_back(result_of(point, 0.1, 0));
    results.back().figures["cpu_s_per_s"] = 1.8;
  }
  ExperimentOptions options;
  options.bench = "thesis";
  const auto page = [&](const RunConditions& conditions) {
    return experiment_page(figure, results, options, conditions);
  };
  CHECK_THAT(page({}), ContainsSubstring("| no verdict: the load was not recorded | TCP Cubic") &&
                           !ContainsSubstring("met |"));
  CHECK_THAT(page(kQuiet), ContainsSubstring("| met | TCP Cubic"));
  results.back().figures["cpu_s_per_s"] = 1.95;
  CHECK_THAT(page(kQuiet), ContainsSubstring("| no verdict: the machine was busy | TCP Cubic") &&
                               !ContainsSubstring("met |"));
  // Other programs, which gave way.
  results.back().figures[kOtherShare] = 0.9;
  results.back().figures[kWithheldShare] = 0.0;
  CHECK_THAT(page(kQuiet), ContainsSubstring("| met | TCP Cubic"));
  results.back().figures[kWithheldShare] = 0.2;
  CHECK_THAT(page(kQuiet), ContainsSubstring("| no verdict: the machine was busy | TCP Cubic"));
  results.back().figures[kOtherShare] = 0.0;
  results.back().figures[kWithheldShare] = 0.0;
  CHECK_THAT(page(kQuiet), ContainsSubstring("| no verdict: the machine was busy | TCP Cubic"));
  for (ExperimentResult& result : results) result.point.setting.spinners = 2;
  CHECK_THAT(page(kQuiet), ContainsSubstring("| met | TCP Cubic"));
  for (ExperimentResult& result : results) {
    result.point.setting.spinners = 0;
    result.point.cores_limit = true;
  }
  CHECK_THAT(page(kQuiet), ContainsSubstring("| met | TCP Cubic"));
  CHECK(expand(mixed_experiments().front(), {Tcp::old_tcp}, 1).front().cores_limit);
  CHECK_FALSE(expand(figure, {Tcp::old_tcp}, 0.01).front().cores_limit);
  CHECK(RunConditions{.machine = "16 cores, Linux 6.1"}.cores() == 16);
  CHECK(RunConditions{.machine = "Linux"}.cores() == 0);
}

TEST_CASE("a row of a page names its run, the ports' buffers and the drops while the run settled") {
  const auto& all = mixed_experiments();
  const auto figure = std::ranges::find(all, "10", &Experiment::id);
  REQUIRE(figure != all.end());
  std::vector<ExperimentResult> results;
  for (const ExperimentPoint& point : expand(*figure, {Tcp::new_tcp}, 0.2)) {
    for (std::uint32_t run = 1; run <= 2; ++run) {
      results.push_back({point, run, {{"serialisation_ms", point.cure.flows ? 0.2 : 18.0}}});
      results.back().figures["settling_drops"] = 31;
      results.back().figures[kWithheldShare] = run == 2 ? 0.5 : 0.0;
    }
  }
  ExperimentOptions options;
  options.bench = "mixed";
  const std::string page = experiment_page(*figure, results, options, kQuiet);
  CHECK_THAT(page, ContainsSubstring(" The buffer of a port is 100 kB, between switches 400 kB. ") &&
                       ContainsSubstring("| cure, TCP | run | link of the source that sends least") &&
                       ContainsSubstring("| cure, TCP | run | in the paper's unit | pauses of the run") &&
                       ContainsSubstring("| TCP flows, new TCP | 2, not judged | "));
  CHECK_THAT(page, ContainsSubstring("drops while settling | drops | most at | a slice alone, ms |") &&
                       ContainsSubstring("| 31 | 0 |  | 18.0 |") &&
                       !ContainsSubstring("A slice alone takes"));
}

TEST_CASE("the DCMs of figure 5.8 have a ring each, with three of the paper's twelve shares of a port") {
  const auto points = expand(thesis("5.8"), {Tcp::thesis}, 0.004);
  REQUIRE(points.size() == 4);
  CHECK(points.front().setting.dcms == 4);
  CHECK_THAT(lab_text(points.front()), ContainsSubstring("port_rate: 40000000bit\n") &&
                                           ContainsSubstring("port_queue: per-dcm\naddresses: per-dcm\n") &&
                                           ContainsSubstring("ring_rate: 9324000bit\n"));
  CHECK_THAT(lab_text(expand(thesis("5.10"), {Tcp::thesis}, 0.1).front()), !ContainsSubstring("addresses:"));
}

TEST_CASE("spinners are in the lab of a run, and on its page") {
  const Experiment& figure = thesis("5.10");
  ExperimentPoint point = expand(figure, {Tcp::thesis}, 0.1).front();
  CHECK_THAT(lab_text(point), !ContainsSubstring("cpu_load"));
  point.setting.spinners = 3;
  CHECK_THAT(lab_text(point), ContainsSubstring("cpu_load: 3\n"));
  ExperimentOptions options;
  options.bench = "thesis";
  options.spinners = true;
  CHECK(output_name(figure, options) == "thesis-5.10-spinners");
  const ExperimentResult result = result_of(point, 0.8, 0);
  CHECK_THAT(experiment_page(figure, {result}, options, {}),
             ContainsSubstring("Beside each run 3 processes"));
  Line line = line_of(figure, result, options);
  const auto again = results_of(figure, boost::json::serialize(line) + "\n");
  REQUIRE(again.has_value());
  CHECK(again->front().point.setting.spinners == 3);
}

TEST_CASE("two runs of a figure agree or differ, and a difference is not met") {
  const Experiment& figure = thesis("4.13");
  const auto points = expand(figure, {Tcp::old_tcp}, 0.01);
  std::vector<ExperimentResult> results;
  for (const ExperimentPoint& point : points) results.push_back(result_of(point, 0.1, 0));
  for (const ExperimentPoint& point : points) {
    results.push_back(result_of(point, point.x > 1 ? 0.4 : 0.1, 0));
    results.back().run = 2;
  }
  const ExpectationVerdict verdict = verdicts_of(figure, results, 0.01).front();
  REQUIRE(verdict.runs.size() == 2);
  CHECK(verdict.differs());
  CHECK_FALSE(verdict.met());
  ExperimentOptions options;
  options.bench = "thesis";
  CHECK_THAT(experiment_page(figure, results, options, kQuiet),
             ContainsSubstring("The shape differed between the 2 runs: in 1 of") &&
                 ContainsSubstring("| not met: the runs differ | TCP Cubic, old TCP") &&
                 ContainsSubstring("| 10 %; 40 % |"));
}

TEST_CASE("times of a slower figure are compared with the paper's, longer by the scale's inverse") {
  const auto& all = antares_experiments();
  const auto figure = std::ranges::find(all, "table-4.2", &Experiment::id);
  REQUIRE(figure != all.end());
  const auto points = expand(*figure, {Tcp::old_tcp}, 0.1);
  ExperimentResult direct = result_of(points.front(), 0.5, 0);
  CHECK_FALSE(verdicts_of(*figure, {direct}, 0.1).front().measured());  // slices are no fragments
  direct.figures["fragment_mean_ms"] = 2000.0;
  CHECK(verdicts_of(*figure, {direct}, 0.1).front().met());  // 0.248 s, times ten
  direct.figures["fragment_mean_ms"] = 248.0;
  CHECK_FALSE(verdicts_of(*figure, {direct}, 0.1).front().met());
  ExperimentOptions options;
  options.bench = "antares";
  CHECK_THAT(experiment_page(*figure, {direct}, options, kQuiet),
             ContainsSubstring("# Table 4.2 of the ANTARES thesis\n") &&
                 ContainsSubstring("(10 x 248 ms x 3)") &&
                 ContainsSubstring("cannot appear here, because a run of 16 s is 1.6 s of the paper's time"));
}

TEST_CASE("each statement quotes its place, and has a criterion that can fail or a reason for none") {
  std::vector<Experiment> all = thesis_experiments();
  all.insert(all.end(), antares_experiments().begin(), antares_experiments().end());
  all.insert(all.end(), mixed_experiments().begin(), mixed_experiments().end());
  all.insert(all.end(), rcnp_experiments().begin(), rcnp_experiments().end());
  for (const Experiment& experiment : all) {
    CAPTURE(experiment.id);
    for (const Expectation& one : experiment.expectations) {
      CAPTURE(one.paper);
      CHECK_FALSE(one.at.empty());
      CHECK_FALSE(one.paper.empty());
      const bool bounded = std::isfinite(one.least) || std::isfinite(one.most);
      CHECK(bounded == (one.cannot.empty() && one.open.empty()));
      const auto points = expand(experiment, {one.tcp}, experiment.scale);
      CHECK(std::ranges::any_of(points, [&](const ExperimentPoint& point) {
        return (one.cure.empty() || one.cure == point.cure.label) && point.x >= one.x_from &&
               point.x <= one.x_to;
      }));
    }
  }
}

TEST_CASE("earlier lines are judged again as they were measured") {
  const Experiment& figure = thesis("4.13");
  ExperimentOptions options;
  options.bench = "thesis";
  const auto points = expand(figure, {Tcp::old_tcp}, figure.scale);
  std::string text;
  std::vector<ExperimentResult> before;
  for (const ExperimentPoint& point : points) {
    before.push_back(result_of(point, 0.4, 3));
    Line line = line_of(figure, before.back(), options);
    line["runs"] = boost::json::array{{{"share_of_theory", 0.4}}, {{"share_of_theory", 0.1}}};
    text += boost::json::serialize(line) + "\n";
  }
  const auto results = results_of(figure, text);
  REQUIRE(results);
  CHECK(results->size() == 2 * points.size());
  CHECK(verdicts_of(figure, *results, figure.scale).front().differs());
  CHECK(value_of(Quantity::drops, results->front().figures) == 3);
  CHECK_THAT(results_of(thesis("4.5"), text).error(), ContainsSubstring("line 1 is none of figure 4.5"));
}

TEST_CASE("the commit is that of the git tree around a folder") {
  const ScratchFolder folder;
  const std::filesystem::path git = folder.path() / ".git";
  std::filesystem::create_directories(git / "refs/heads");
  std::filesystem::create_directories(folder.path() / "build/bin");
  std::ofstream(git / "HEAD") << "ref: refs/heads/main\n";
  std::ofstream(git / "refs/heads/main") << "0123456789abcdef0123\n";
  CHECK(commit_around((folder.path() / "build/bin").string()) == "0123456789");
  std::filesystem::remove(git / "refs/heads/main");
  std::ofstream(git / "packed-refs") << "# pack-refs\nfedcba9876543210 refs/heads/main\n";
  CHECK(commit_around(folder.path().string()) == "fedcba9876");
}

}  // namespace weir::bench
