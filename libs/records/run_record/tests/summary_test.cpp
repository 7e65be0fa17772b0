#include "weir_catch.hpp"
#include <weir/metrics/histogram.hpp>
#include <weir/reports/fragment_totals.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/run_record/summary.hpp>

#include <boost/json.hpp>

namespace weir::run_record {
namespace {

using Catch::Matchers::ContainsSubstring;
namespace json = boost::json;

void add_latency(v1::Report& report, std::uint64_t microseconds, std::uint64_t times) {
  metrics::ValueHistogram histogram;
  histogram.record(microseconds, times);
  reports::add_histogram(report, "latency_us", histogram);
}

v1::Report& add_dcm(v1::RunSummary& account, std::uint64_t received) {
  v1::Report& dcm = *account.add_nodes();
  dcm.set_role(v1::ROLE_DCM);
  auto& counters = *dcm.mutable_counters();
  counters["fragments.requested"] = received + 1;
  counters["fragments.received"] = received;
  counters["fragments.missing.deadline"] = 1;
  counters["fragments.missing.not_produced"] = 7;  // all of them in discarded attempts
  counters["fragments.overtaken.not_produced"] = 7;
  counters["fragments.bytes"] = received * 10;
  counters["dcm.output_events"] = 3;
  counters["filter.tracks"] = 2;
  counters["net.retransmits"] = 1;
  (*dcm.mutable_notes())["filter"] = "coincidence 1.0";
  return dcm;
}

// The supervisor's sums of all last reports; one of the DCMs is lost.
void add_supervisor(v1::RunSummary& account, bool dcm_lost = false) {
  reports::FragmentTotals totals;
  for (const v1::Report& report : account.nodes()) totals.add(report, false);
  totals.dcms_lost = dcm_lost ? 1 : 0;
  v1::Report& supervisor = *account.add_nodes();
  supervisor.set_role(v1::ROLE_SUPERVISOR);
  reports::add_totals(supervisor, totals);
}

v1::RunSummary hand_made() {
  v1::RunSummary account;
  account.set_run(9);
  account.set_balanced(true);
  account.set_reason("all triggers made");
  account.set_duration_ns(2'000'000'000);
  account.set_running_ns(44'800'000'000);
  account.set_ledger_text("slices  100 = 100  ok\nThe ledger balances.\n");
  auto& counters = *account.mutable_counters();
  counters["offered"] = 103;
  counters["vetoed.in_flight"] = 3;
  counters["triggered"] = 100;
  counters["stored"] = 60;
  counters["stored_incomplete"] = 1;
  counters["rejected"] = 38;
  counters["discarded.no_buffer"] = 2;
  add_latency(add_dcm(account, 300), 10, 50);
  add_latency(add_dcm(account, 100), 1000, 50);
  v1::Report& readout = *account.add_nodes();
  readout.set_role(v1::ROLE_READOUT);
  (*readout.mutable_counters())["fragments.produced"] = 402;
  (*readout.mutable_counters())["fragments.cleared"] = 400;
  (*readout.mutable_counters())["fragments.dropped.run_ended"] = 2;
  v1::Report& writer = *account.add_nodes();
  writer.set_role(v1::ROLE_WRITER);
  (*writer.mutable_counters())["writer.bytes_stored"] = 5000;
  v1::Report::File& file = *writer.add_files();
  file.set_path("out/run-000009-writer-0-0000.weir");
  file.set_bytes(5000);
  file.set_slices(60);
  file.set_crc32c(0xabc);
  auto& equation = *account.add_equations();
  equation.set_name("slices");
  equation.set_left("100 #7");
  equation.set_right("100 #7");
  equation.set_good(true);
  account.add_faults_text("dcm-1 was lost");
  add_supervisor(account);
  return account;
}

TEST_CASE("outcomes of triggers and slices are taken from the supervisor, reasons apart") {
  const Summary summary = summarize(hand_made());
  CHECK(summary.run == 9);
  CHECK(summary.offered == 103);
  CHECK(summary.vetoed == Counts{{"in_flight", 3}});
  CHECK(summary.triggered == 100);
  CHECK(summary.stored == 60);
  CHECK(summary.stored_incomplete == 1);
  CHECK(summary.rejected == 38);
  CHECK(summary.discarded == Counts{{"no_buffer", 2}});
}

TEST_CASE("the switches of a run are in its text and in its JSON, also one that never connected") {
  v1::RunSummary account = hand_made();
  CHECK_THAT(to_text(summarize(account)), !ContainsSubstring("Switches"));
  v1::SwitchAccount& daq = *account.add_switches();
  daq.set_name("daq");
  daq.set_host("sw-1");
  daq.set_received(12);
  daq.set_sent(9);
  (*daq.mutable_dropped())["queue_full"] = 3;
  daq.set_tables_changed(2);
  v1::SwitchAccount::Ring& ring = *daq.add_rings();
  ring.set_name("dcm-0");
  ring.set_dropped(3);
  ring.set_waiting_most(8);
  ring.set_waiting_bytes_most(4'000);
  ring.set_room(8);
  account.add_switches()->set_name("spare");
  const Summary summary = summarize(account);
  CHECK_THAT(
      to_text(summary),
      ContainsSubstring("\nSwitches\n  daq          on sw-1: 12 frames received, 9 forwarded, 3 dropped: "
                        "queue_full 3; deepest ring dcm-0: 8 of 8 frames, 4.00 kB; table changed 2 "
                        "times\n  spare        not connected\n"));
  const json::value switches = json::parse(to_json(summary)).at("switches");
  REQUIRE(switches.as_array().size() == 2);
  CHECK(switches.at(0).at("received") == json::value(12));
  CHECK(switches.at(0).at("forwarded") == json::value(9));
  CHECK(switches.at(0).at("dropped") == json::value{{"queue_full", 3}});
  CHECK(switches.at(0).at("tables_changed") == json::value(2));
  CHECK(switches.at(0).at("rings").at(0).at("waiting_bytes_most") == json::value(4'000));
  CHECK(switches.at(1).at("host") == json::value(""));
}

TEST_CASE("if a DCM was lost, the summary gives its fragments as a lower bound") {
  v1::RunSummary account = hand_made();
  CHECK(summarize(account).dcms_lost == 0);
  CHECK(to_text(summarize(account)).find("at least") == std::string::npos);
  account.mutable_nodes()->RemoveLast();
  add_supervisor(account, true);
  const Summary summary = summarize(account);
  CHECK(summary.dcms_lost == 1);
  CHECK_THAT(to_text(summary),
             ContainsSubstring("400 received, at least 2 missing") && ContainsSubstring("1 DCM lost"));
}

TEST_CASE("fragments, bytes and filter counters are the sums over the processes") {
  const Summary summary = summarize(hand_made());
  CHECK(summary.fragments.at("requested") == 402);
  CHECK(summary.fragments.at("received") == 400);
  CHECK(summary.fragments.at("produced") == 402);
  CHECK(summary.fragments.at("late") == 0);
  CHECK(summary.fragments_missing == Counts{{"deadline", 2}});
  CHECK(summary.fragments_overtaken == 14);
  CHECK(summary.fragments_dropped == Counts{{"run_ended", 2}});
  CHECK(summary.bytes_in == 4000);
  CHECK(summary.bytes_stored == 5000);
  CHECK(summary.output_events == 6);
  CHECK(summary.retransmits == 2);
  CHECK(summary.filter == Counts{{"tracks", 4}});
  CHECK(summary.filter_plugin == "coincidence 1.0");
}

TEST_CASE("rates are over the time from the first trigger to the last settled slice") {
  const Summary summary = summarize(hand_made());
  CHECK(summary.slices_per_s == 50);
  CHECK(summary.fragments_per_s == 200);
  CHECK(summary.goodput_bytes_per_s == 2000);
  v1::RunSummary no_time = hand_made();
  no_time.set_duration_ns(0);
  CHECK(summarize(no_time).slices_per_s == 0);
}

TEST_CASE("latencies of all DCMs are merged before percentiles are taken") {
  const Summary summary = summarize(hand_made());
  CHECK(summary.latency_us.count == 100);
  CHECK(summary.latency_us.p50 == 10);
  CHECK(summary.latency_us.p90 == 1000);
  CHECK(summary.latency_us.max == 1000);
  CHECK(summary.build_latency_us.count == 0);
}

TEST_CASE("groups are in the order of the farm file, with the decision times of their own DCMs") {
  v1::RunSummary account = hand_made();
  auto& counters = *account.mutable_counters();
  // Everything is forwarded, so that both groups have the same counts, and the second name sorts first.
  counters["groups.arrived.selection"] = counters["groups.forwarded.selection"] = 100;
  counters["groups.arrived.building"] = counters["groups.stored.building"] = 100;
  (*account.mutable_nodes(account.nodes_size() - 1)->mutable_notes())["groups"] = "selection\nbuilding";
  for (const auto& [name, us] : {std::pair("building", 3000), std::pair("selection", 10)}) {
    v1::Report& dcm = add_dcm(account, 0);
    (*dcm.mutable_notes())["group"] = name;
    metrics::ValueHistogram histogram;
    histogram.record(static_cast<std::uint64_t>(us), 100);
    reports::add_histogram(dcm, "decision_latency_us", histogram);
  }
  const Summary summary = summarize(account);
  REQUIRE(summary.groups.size() == 2);
  CHECK(summary.groups[0].name == "selection");
  CHECK(summary.groups[0].forwarded == 100);
  CHECK(summary.groups[1].name == "building");
  CHECK(summary.groups[0].decision_times.mean_us == 10);
  REQUIRE(summary.groups[1].decision_times.above.size() == 1);
  CHECK(summary.groups[1].decision_times.above[0].us == 3000);
  CHECK(summary.groups[1].decision_times.above[0].share == 0);
}

TEST_CASE("each group of DCMs has its own steps, summed over its DCMs") {
  v1::RunSummary account = hand_made();
  (*account.mutable_nodes(account.nodes_size() - 1)->mutable_notes())["groups"] = "selection\nbuilding";
  for (const char* name : {"building", "selection", "selection"}) {
    v1::Report& dcm = add_dcm(account, 0);
    (*dcm.mutable_notes())["group"] = name;
    auto& counters = *dcm.mutable_counters();
    counters["steps.slices.0"] = 10;
    if (std::string(name) == "selection") counters["steps.slices.1"] = 2;
    counters["steps.wait_us.0"] = 50;
  }
  const Summary summary = summarize(account);
  REQUIRE(summary.steps.size() == 3);
  CHECK(summary.steps[0].group == "selection");
  CHECK(summary.steps[0].slices == 20);
  CHECK(summary.steps[0].wait_us == 5);
  CHECK(summary.steps[1].step == 1);
  CHECK(summary.steps[1].slices == 4);
  CHECK(summary.steps[2].group == "building");
  CHECK(summary.steps[2].slices == 10);
  CHECK_THAT(to_text(summary), ContainsSubstring("selection\n  step 0"));
  CHECK_THAT(to_text(summary), ContainsSubstring("building\n  step 0"));
}

TEST_CASE("a file named by two reports of one writer is listed once, as in the later one") {
  v1::RunSummary account = hand_made();
  v1::Report& again = *account.add_nodes();
  again.set_role(v1::ROLE_WRITER);
  v1::Report::File& file = *again.add_files();
  file.set_path("out/run-000009-writer-0-0000.weir");
  file.set_bytes(6000);
  const Summary summary = summarize(account);
  REQUIRE(summary.files.size() == 1);
  CHECK(summary.files[0].bytes == 6000);
}

TEST_CASE("the JSON has every documented key") {
  Summary summary = summarize(hand_made());
  summary.farm = "test";
  summary.processes.push_back({"dcm-1", "dcm", {-9, 1.5, 4096}});
  const json::object object = json::parse(to_json(summary)).as_object();
  for (const char* key : {"farm",
                          "run",
                          "begin",
                          "end",
                          "running_s",
                          "duration_s",
                          "reason",
                          "failure",
                          "outcome",
                          "exit_status",
                          "offered",
                          "vetoed",
                          "triggered",
                          "stored",
                          "stored_incomplete",
                          "rejected",
                          "discarded",
                          "fragments",
                          "ledger_balanced",
                          "ledger",
                          "faults",
                          "slices_per_s",
                          "fragments_per_s",
                          "goodput_bytes_per_s",
                          "latency_us",
                          "build_latency_us",
                          "decision_latency_us",
                          "retransmits",
                          "output_events",
                          "bytes_in",
                          "bytes_stored",
                          "filter_plugin",
                          "filter",
                          "filter_workers",
                          "truth",
                          "files",
                          "processes"}) {
    CAPTURE(key);
    CHECK(object.contains(key));
  }
  const auto& fragments = object.at("fragments").as_object();
  for (const std::string& key : fragment_outcomes()) CHECK(fragments.contains(key));
  CHECK(fragments.at("missing").at("deadline").to_number<int>() == 2);
  CHECK(fragments.at("overtaken").to_number<int>() == 14);
  CHECK(object.at("latency_us").at("p999").to_number<int>() == 1000);
  CHECK(object.at("files").at(0).at("crc32c").as_string() == "00000abc");
  CHECK(object.at("ledger").at(0).at("good").as_bool());
  CHECK(object.at("faults").at(0).as_string() == "dcm-1 was lost");
  CHECK(object.at("processes").at(0).at("exit_status").to_number<int>() == -9);
  CHECK(object.at("processes").at(0).at("rss_max_bytes").to_number<int>() == 4096);
  CHECK(object.at("truth").is_null());
}

TEST_CASE("a run without an account has no beginning") {
  CHECK(json::parse(to_json(Summary{})).at("begin").as_string().empty());
  Summary summary;
  summary.begin_utc_ns = 1'000'000'000;
  CHECK(json::parse(to_json(summary)).at("begin").as_string() == "1970-01-01T00:00:01.000Z");
}

TEST_CASE("a file that was not closed has no checksum") {
  Summary summary;
  summary.files.push_back({"out/run-000009-writer-0-0000.weir.part", 5000, 60, 0});
  CHECK(json::parse(to_json(summary)).at("files").at(0).at("crc32c").as_string().empty());
  CHECK_THAT(to_text(summary), ContainsSubstring("weir.part   5.00 kB  60 slices  not closed\n"));
}

TEST_CASE("the JSON keeps numbers exactly") {
  Summary summary;
  summary.triggered = UINT64_MAX;
  summary.slices_per_s = 0.1;
  CHECK_THAT(to_json(summary), ContainsSubstring("\"triggered\": 18446744073709551615"));
  CHECK_THAT(to_json(summary), ContainsSubstring("\"slices_per_s\": 0.1,"));
}

TEST_CASE("text that would break JSON is escaped") {
  Summary summary;
  summary.reason = "a \"b\"\n";
  CHECK(json::parse(to_json(summary)).at("reason").as_string() == "a \"b\"\n");
}

TEST_CASE("the printed summary has the outcomes of the slices, ledger and faults included") {
  Summary summary = summarize(hand_made());
  summary.farm = "test";
  const std::string text = to_text(summary);
  CHECK_THAT(text, ContainsSubstring("Run 9 of farm test: 44.8 s, ended: all triggers made\n"));
  CHECK_THAT(text, ContainsSubstring("  vetoed        3  (in_flight 3)\n"));
  CHECK_THAT(text, ContainsSubstring("  stored       60  60 %, 1 of them incomplete\n"));
  CHECK_THAT(text, ContainsSubstring("  discarded     2  (no_buffer 2)\n"));
  CHECK_THAT(text, ContainsSubstring("\nLedger\n  slices  100 = 100  ok\n  The ledger balances.\n"));
  CHECK_THAT(text, ContainsSubstring("\nFaults\n  dcm-1 was lost\n"));
  CHECK_THAT(text,
             ContainsSubstring("out/run-000009-writer-0-0000.weir   5.00 kB  60 slices  crc32c 00000abc\n"));
  CHECK_THAT(text, ContainsSubstring("Filter coincidence 1.0\n  tracks        4  0.04 a slice\n"));
}

}  // namespace
}  // namespace weir::run_record
