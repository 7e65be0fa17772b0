#include "model.hpp"

#include "farm_metrics.hpp"
#include "made_up_farm.hpp"
#include "weir_catch.hpp"
#include <weir/farm_view/top_view.hpp>
#include <weir/page/view.hpp>
#include <weir/v1/bus.pb.h>
#include <weir/v1/control.pb.h>

#include <boost/json.hpp>

using namespace weir;
using namespace weir::page;
namespace json = boost::json;

namespace {

json::object state_of(const Model& model) { return json::parse(model.state_json(true)).as_object(); }

Farm farm_of(const v1::Report& report) {
  Farm farm;
  farm.members.push_back({"dcm-0", "dcm", "", "", "running", "", 0.1, std::make_shared<v1::Report>(report)});
  return farm;
}

v1::Report dcm_report(std::int64_t second, std::uint64_t slices, std::uint64_t bytes) {
  v1::Report report;
  report.set_name("dcm-0");
  report.set_role(v1::ROLE_DCM);
  report.set_incarnation(1);
  report.set_now_ns(second * kSecond);
  (*report.mutable_counters())["dcm.assigned"] = slices;
  (*report.mutable_counters())["fragments.bytes"] = bytes;
  return report;
}

json::value member(const Model& model, const char* key) {
  const json::object state = state_of(model);
  const json::object& object = state.at("members").at(0).as_object();
  return object.contains(key) ? object.at(key) : json::value("none");
}

}  // namespace

TEST_CASE("the page of a farm that is over shows the counts of the last run's account") {
  v1::FarmView view;
  view.set_run(7);
  view.set_run_begin_utc_ns(1);  // `weir run`: the farm ends with its run
  v1::FarmView::Node& node = *view.add_nodes();
  node.set_name("supervisor");
  node.set_live(true);
  v1::Report& report = *node.mutable_report();
  report.set_name("supervisor");
  report.set_role(v1::ROLE_SUPERVISOR);
  (*report.mutable_counters())["farm.fragments.requested"] = 11'940;
  v1::RunSummary account;
  account.set_run(7);
  *account.add_nodes() = report;
  (*account.mutable_nodes(0)->mutable_counters())["farm.fragments.requested"] = 12'000;
  const auto requested = [&] {
    Model model({});
    model.update(page::farm_of(view, &account));
    return state_of(model).at("counts").at("fragments_requested").to_number<int>();
  };
  CHECK(requested() == 11'940);
  view.set_over(true);
  CHECK(requested() == 12'000);
}

TEST_CASE("the counts of a dead process stay in the farm's totals") {
  v1::Report supervisor;
  supervisor.set_name("supervisor");
  supervisor.set_role(v1::ROLE_SUPERVISOR);
  auto& counters = *supervisor.mutable_counters();
  counters["farm.fragments.requested"] = 10'000;
  counters["farm.fragments.received"] = 7912;
  counters["farm.fragments.missing.source_down"] = 2000;
  counters["farm.fragments.missing.deadline"] = 88;
  counters["farm.dcms_lost"] = 1;
  Farm farm = farm_of(dcm_report(1, 0, 0));  // restarted: it has not reported any
  farm.members.push_back(
      {"supervisor", "supervisor", "", "", "running", "", 0.1, std::make_shared<v1::Report>(supervisor)});
  Model model({});
  model.update(farm);
  const json::object counts = state_of(model).at("counts").as_object();
  CHECK(counts.at("fragments_requested") == 10'000);
  CHECK(counts.at("fragments_received") == 7912);
  CHECK(counts.at("fragments_missing") == 2088);
  CHECK(counts.at("dcms_lost") == 1);
}

TEST_CASE("the state has the counts of each group of DCMs, except in a farm without groups") {
  v1::Report supervisor;
  supervisor.set_name("supervisor");
  supervisor.set_role(v1::ROLE_SUPERVISOR);
  Farm farm;
  Model model({});
  const auto groups = [&] {
    farm.members = {
        {"supervisor", "supervisor", "", "", "running", "", 0.1, std::make_shared<v1::Report>(supervisor)}};
    model.update(farm);
    return state_of(model).at("groups").as_object();
  };
  CHECK(groups().empty());
  (*supervisor.mutable_counters())["groups.arrived.selection"] = 20;
  (*supervisor.mutable_counters())["groups.forwarded.selection"] = 5;
  (*supervisor.mutable_counters())["groups.arrived.building"] = 5;
  const json::object split = groups();
  REQUIRE(split.size() == 2);
  CHECK(split.at("selection").at("arrived") == 20);
  CHECK(split.at("selection").at("forwarded") == 5);
  CHECK(split.at("building").at("arrived") == 5);
}

TEST_CASE("the state has the sums of the DCMs for each step of the filter, in the order of steps") {
  v1::Report first = dcm_report(1, 100, 5000);
  v1::Report second = first;
  second.set_name("dcm-1");
  Farm farm;
  Model model({});
  const auto steps = [&] {
    farm.members = {{"dcm-0", "dcm", "", "", "running", "", 0.1, std::make_shared<v1::Report>(first)},
                    {"dcm-1", "dcm", "", "", "running", "", 0.1, std::make_shared<v1::Report>(second)}};
    model.update(farm);
    return state_of(model).at("steps").as_array();
  };
  CHECK(steps().empty());
  (*first.mutable_counters())["steps.slices.0"] = 20;
  (*second.mutable_counters())["steps.slices.0"] = 10;
  (*second.mutable_counters())["steps.rejected.0"] = 9;
  (*first.mutable_counters())["steps.slices.10"] = 1;
  const json::array two = steps();
  REQUIRE(two.size() == 2);
  CHECK(two[0].at("slices") == 30);
  CHECK(two[0].at("rejected") == 9);
  CHECK(two[1].at("step") == 10);
  CHECK(two[1].at("bytes") == 0);
  // Groups of DCMs have their own steps.
  (*first.mutable_notes())["group"] = "selection";
  (*second.mutable_notes())["group"] = "building";
  const json::array apart = steps();
  REQUIRE(apart.size() == 3);
  CHECK(apart[0].at("group") == "building");
  CHECK(apart[0].at("slices") == 10);
  CHECK(apart[1].at("group") == "selection");
  CHECK(apart[1].at("slices") == 20);
}

TEST_CASE("the state has the true tracks and those in stored slices, by the least number of modules") {
  v1::Report report;
  report.set_name("readout-0");
  report.set_role(v1::ROLE_READOUT);
  Farm farm;
  Model model({});
  const auto truth = [&] {
    farm.members = {
        {"readout-0", "readout", "", "", "running", "", 0.1, std::make_shared<v1::Report>(report)}};
    model.update(farm);
    return state_of(model).at("truth").as_array();
  };
  CHECK(truth().empty());
  (*report.mutable_counters())["truth.tracks.10"] = 4;
  (*report.mutable_counters())["truth.stored.10"] = 3;
  (*report.mutable_counters())["truth.tracks.5"] = 8;
  (*report.mutable_counters())["truth.tracks.x"] = 1;
  const json::array bins = truth();
  REQUIRE(bins.size() == 2);
  CHECK(bins[0].at("modules_min") == 5);
  CHECK(bins[0].at("tracks") == 8);
  CHECK(bins[0].at("stored") == 0);
  CHECK(bins[1].at("stored") == 3);
}

TEST_CASE("a member's rates are taken from one report to the next") {
  Model model({});
  model.update(farm_of(dcm_report(1, 100, 5000)));
  CHECK(member(model, "slices_per_s") == "none");
  model.update(farm_of(dcm_report(3, 300, 25000)));
  CHECK(member(model, "slices_per_s").as_double() == 100);
  CHECK(member(model, "bytes_per_s").as_double() == 10000);
  // The same report again gives the same rates, until it is too old.
  Farm later = farm_of(dcm_report(3, 300, 25000));
  later.now_utc_ns = kSecond;
  model.update(later);
  CHECK(member(model, "slices_per_s").as_double() == 100);
  later.now_utc_ns = 8 * kSecond;
  model.update(later);
  CHECK(member(model, "slices_per_s") == "none");
}

TEST_CASE("a dead process has no rate, and assigned slices are those that DCMs received") {
  Model model({});
  model.update(farm_of(dcm_report(1, 100, 5000)));
  model.update(farm_of(dcm_report(2, 300, 25000)));
  CHECK(state_of(model).at("point").at("assigned").as_double() == 200);
  Farm farm = farm_of(dcm_report(2, 300, 25000));
  for (const char* out : {"dead", "ready"}) {
    farm.members[0].state = out;
    model.update(farm);
    CHECK(member(model, "slices_per_s") == "none");
  }
  CHECK(!state_of(model).at("point").as_object().contains("assigned"));
}

TEST_CASE("a restarted process counts from zero, and has no rate from before") {
  Model model({});
  model.update(farm_of(dcm_report(1, 1000, 5000)));
  model.update(farm_of(dcm_report(2, 1100, 6000)));
  v1::Report restarted = dcm_report(1, 40, 100);
  restarted.set_incarnation(2);
  model.update(farm_of(restarted));
  CHECK(member(model, "slices_per_s") == "none");
  v1::Report next_run = dcm_report(5, 3, 10);
  next_run.set_incarnation(2);
  model.update(farm_of(next_run));
  CHECK(member(model, "slices_per_s") == "none");
}

TEST_CASE("percentiles are of the slices built since the report before, of all DCMs together") {
  Model model({});
  const auto with = [](std::int64_t second, std::uint64_t fast, std::uint64_t slow) {
    v1::Report report = dcm_report(second, fast + slow, 0);
    metrics::ValueHistogram built;
    built.record(10, fast);
    built.record(60, slow);
    v1::Histogram& out = *report.add_histograms();
    out.set_name("build_latency_us");
    for (const auto& bucket : built.encode().buckets)
      out.add_bucket(bucket.index), out.add_count(bucket.count);
    out.set_min(built.min());
    out.set_max(built.max());
    out.set_sum(built.sum());
    return farm_of(report);
  };
  model.update(with(1, 1000, 1));
  model.update(with(2, 1001, 101));
  const auto point = state_of(model).at("point").as_object();
  CHECK(point.at("built").to_number<int>() == 101);
  CHECK(point.at("p50_us").to_number<int>() == 60);
}

TEST_CASE("the state describes the farm, and text from processes cannot break it") {
  Model model({});
  Farm farm;
  farm.name = "lab";
  farm.state = control::State::error;
  farm.health = {{control::Gravity::error, "error", "dcm-0: \"</script>\xff\""}};
  farm.under_way = control::Command::stop;
  farm.run = 12;
  farm.overrides = {{"dcm.credits", "8", "set", false, false}};
  farm.commands = {control::Command::reset};
  farm.ledger = {{"a = b", "1", "2", false, ""}};
  model.update(farm);
  const auto state = state_of(model);
  CHECK(state.at("state") == "error");
  CHECK(state.at("health").at(0).at("gravity") == "error");
  CHECK(state.at("health").at(0).at("reason") == "dcm-0: \"</script>\\xff\"");
  CHECK(state.at("under_way") == "stop");
  CHECK(state.at("run_begin").is_null());
  CHECK(state.at("commands").at(0) == "reset");
  CHECK(state.at("overrides").at(0).at("key") == "dcm.credits");
  CHECK(state.at("overrides").at(0).at("origin") == "set");
  CHECK(state.at("overrides").at(0).at("in_force") == false);
  CHECK(state.at("ledger").at(0).at("good") == false);
}

TEST_CASE("the plots' history and the runs are bounded, the latest are kept") {
  Model model({.history_max = 10, .runs_max = 2});
  weir::page::test::MadeUpFarm farm(3, 2, 1);
  for (int i = 0; i < 30; ++i) {
    farm.step();
    model.update(farm.farm());
  }
  const auto points = json::parse(model.history_json()).at("points").as_array();
  CHECK(points.size() == 10);
  CHECK(points.back().at("triggered").as_double() > 500);
  CHECK(points.back().at("p99_us").to_number<int>() > points.back().at("p50_us").to_number<int>());
  const auto runs = json::parse(model.runs_json()).as_object();
  CHECK(runs.at("runs").as_array().size() == 2);
  CHECK(runs.at("matching") == 4);
  CHECK(runs.at("runs").at(0).at("number") == 41);
}

TEST_CASE("a member that left is forgotten") {
  Model model({});
  model.update(farm_of(dcm_report(1, 0, 0)));
  model.update(farm_of(dcm_report(2, 10, 0)));
  model.update({});
  model.update(farm_of(dcm_report(3, 30, 0)));
  CHECK(member(model, "slices_per_s") == "none");
}

TEST_CASE("the state has the rings of the farm's switches, as they reported them") {
  v1::FarmView view;
  v1::SwitchReport& report = *view.add_switches()->mutable_report();
  report.set_name("daq");
  for (const char* name : {"dcm-0", "dcm-1"}) {
    v1::SwitchReport::Ring& ring = *report.add_rings();
    ring.set_name(name);
    ring.set_waiting(7);
    ring.set_waiting_bytes(700);
    ring.set_waiting_most(9);
    ring.set_waiting_bytes_most(900);
    ring.set_room(4096);
    ring.set_dropped(1);
  }
  view.add_switches()->mutable_report()->set_name("silent");
  Model model({10, 10});
  model.update(page::farm_of(view, nullptr));
  const json::object state = state_of(model);
  REQUIRE(state.at("switch_rings").as_array().size() == 2);
  CHECK(state.at("switch_rings").at(1).at("switch") == json::value("daq"));
  CHECK(state.at("switch_rings").at(1).at("ring") == json::value("dcm-1"));
  CHECK(state.at("switch_rings").at(1).at("waiting") == json::value(7));
  CHECK(state.at("switch_rings").at(1).at("waiting_bytes") == json::value(700));
  CHECK(state.at("switch_rings").at(1).at("waiting_most") == json::value(9));
  CHECK(state.at("switch_rings").at(1).at("waiting_bytes_most") == json::value(900));
  CHECK(state.at("switch_rings").at(1).at("room") == json::value(4096));
  CHECK(state.at("switch_rings").at(1).at("dropped") == json::value(1));
}

TEST_CASE(
    "the state has the farm's disks, and `weir top` shows the one that is full first, of state and view") {
  v1::FarmView view;
  for (const double left_s : {0.0, 7'000.0}) {
    v1::FarmView::Disk& disk = *view.add_disks();
    disk.add_processes("writer-" + std::to_string(view.disks_size() - 1));
    disk.set_host("daq-3");
    disk.set_folder("/data/out");
    disk.set_free_bytes(45'000'000'000);
    disk.set_total_bytes(500'000'000'000);
    disk.set_left_s(left_s);
    disk.set_fill_per_s(left_s > 0 ? 6.4e6 : 0);
    disk.set_is_short(left_s > 0);
  }
  view.add_disks()->set_host("daq-4");  // unknown space
  Model model({10, 10});
  model.update(page::farm_of(view, nullptr));
  const json::object state = state_of(model);
  REQUIRE(state.at("disks").as_array().size() == 2);
  CHECK(state.at("disks").at(0).at("left_s").is_null());
  CHECK(state.at("disks").at(1).at("left_s") == json::value(7'000));
  CHECK(state.at("disks").at(1).at("short") == json::value(true));
  const std::string shown =
      "daq-3 '/data/out' (writer-1): 45.0 GB free (9 %), full in 1 h 56 min at 6.40 MB/s";
  farm_view::TopRates rates;
  CHECK(rates.of_view(view).disk == shown);
  CHECK(rates.of_state(model.state_json(true))->disk == shown);
  CHECK(farm_view::format_top(rates.of_view(view), farm_view::TopSort::plan, 120, 10).at(1) ==
        "  disk: " + shown);
}

TEST_CASE("`weir top` shows the same of run control's view as of the page's state") {
  Model model({});
  farm_view::TopRates rates;
  Expected<farm_view::TopFrame, std::string> of_page = Unexpected(std::string("no state"));
  farm_view::TopFrame of_view;
  for (int second = 1; second <= 3; ++second) {
    v1::FarmView view;
    view.set_farm("f");
    view.set_state("running");
    view.set_run(7);
    view.set_utc_ns(second * kSecond);
    v1::FarmView::Finding& finding = *view.add_health();
    finding.set_gravity("warning");
    finding.set_word("DCM lost");
    finding.set_reason("dcm-1 is dead");
    for (const char* name : {"supervisor", "dcm-0", "dcm-1", "dcm-2"}) {
      v1::FarmView::Node& node = *view.add_nodes();
      node.set_name(name);
      node.set_live(std::string(name) != "dcm-1");
      node.set_pid(5);
      node.mutable_state()->set_state("running");
      node.set_excluded(std::string(name) == "dcm-2");
      v1::Report report = dcm_report(second, static_cast<std::uint64_t>(100 * second), 2000);
      report.set_name(name);
      if (node.name() == "supervisor") report.set_role(v1::ROLE_SUPERVISOR);
      (*report.mutable_notes())["group"] = "near";
      (*report.mutable_counters())["triggered"] = 40;
      *node.mutable_report() = report;
    }
    model.update(weir::page::farm_of(view, nullptr));
    of_page = farm_view::TopRates::of_state(model.state_json(false));
    of_view = rates.of_view(view);
  }
  REQUIRE(of_page);
  CHECK(of_view.title == of_page->title);
  CHECK(of_view.reasons == of_page->reasons);
  CHECK(of_view.rows.at(1).slices_per_s == Approx(100));
  CHECK(format_top(of_view, farm_view::TopSort::plan, 200, 100) ==
        format_top(*of_page, farm_view::TopSort::plan, 200, 100));
}

TEST_CASE(
    "alarms of the view are in the state, and the farm's metrics have state, findings, alarms and disks") {
  v1::FarmView view;
  view.set_state("running");
  view.set_run(7);
  v1::Alarm& alarm = *view.add_alarms();
  alarm.set_name("disk \"fills\"");
  alarm.set_gravity("warning");
  alarm.set_acked_by("Ada");
  v1::AlarmShelf& shelf = *view.add_shelves();
  shelf.set_name(alarm.name());
  shelf.set_by("Bob");
  v1::FarmView::AlarmChannel& channel = *view.add_alarm_channels();
  channel.set_name("chat");
  channel.set_error("refused");
  v1::FarmView::Disk& disk = *view.add_disks();
  disk.set_host("daq-3");
  disk.set_folder("/data");
  disk.set_free_bytes(1);
  disk.set_total_bytes(4);
  disk.set_left_s(60);
  v1::FarmView::Finding& finding = *view.add_health();
  finding.set_gravity("error");
  finding.set_word("blocked");
  view.set_utc_ns(110 * kSecond);
  view.set_run_begin_utc_ns(10 * kSecond);
  v1::FarmView::Node& supervisor = *view.add_nodes();
  supervisor.set_role("supervisor");
  supervisor.mutable_report()->set_name("supervisor");
  (*supervisor.mutable_report()->mutable_counters())["lost_livetime_ms"] = 25'000;
  v1::FarmView::Run& last = *view.add_runs();
  last.set_run(6);
  last.set_outcome("faults");
  v1::Sequence& scan = *view.mutable_sequence();
  scan.set_name("scan.yaml");
  scan.set_runs(10);
  scan.set_utc_ns(view.utc_ns());
  Model model({10, 10});
  model.update(page::farm_of(view, nullptr));
  const json::object state = state_of(model);
  CHECK(state.at("alarms").at(0).at("acked_by") == json::value("Ada"));
  CHECK(state.at("alarms").at(0).at("shelved_by") == json::value("Bob"));
  CHECK(state.at("alarm_channels").at(0).at("error") == json::value("refused"));
  CHECK(state.at("sequence") == json::value("scan.yaml: 0 of 10 runs"));
  const std::string metrics = farm_metrics(model.farm());
  for (const char* line :
       {"weir_farm_state{state=\"running\"} 1\n", "weir_farm_state{state=\"idle\"} 0\n", "weir_farm_run 7\n",
        "weir_farm_finding{severity=\"error\",finding=\"blocked\"} 1\n",
        "weir_farm_alarm{severity=\"warning\",alarm=\"disk \\\"fills\\\"\"} 0\n",
        "weir_farm_disk_free_ratio{host=\"daq-3\",folder=\"/data\"} 0.250000\n",
        "weir_farm_disk_left_seconds{host=\"daq-3\",folder=\"/data\"} 60\n",
        "weir_farm_livetime_ratio 0.750000\n", "weir_farm_last_run_outcome{outcome=\"faults\"} 1\n",
        "weir_farm_last_run_outcome{outcome=\"good\"} 0\n"}) {
    CAPTURE(line);
    CHECK(metrics.find(line) != std::string::npos);
  }
  view.set_run_begin_utc_ns(0);
  CHECK(farm_metrics(page::farm_of(view, nullptr)).find("livetime") == std::string::npos);
}
