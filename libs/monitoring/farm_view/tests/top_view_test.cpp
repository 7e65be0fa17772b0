#include "weir_catch.hpp"
#include <weir/farm_view/top_view.hpp>

using namespace weir;
using namespace weir::farm_view;
using Catch::ContainsSubstring;

namespace {

std::string dcm_metrics(int assigned, int bytes, double cpu_s, int fast, int slow, double age_s = 0) {
  const std::string labels = "farm=\"f\",node=\"dcm-0\",role=\"dcm\",run=\"1\"";
  const auto line = [&](const std::string& name, const std::string& more, double value) {
    return name + "{" + labels + more + "} " + std::to_string(value) + "\n";
  };
  return "# HELP weir_node_state a\n# TYPE weir_node_state gauge\n" +
         line("weir_node_state", ",state=\"running\"", 1) + line("weir_report_age_seconds", "", age_s) +
         line("weir_dcm_assigned_total", "", assigned) +
         line("weir_fragments_received_bytes_total", "", bytes) +
         line("weir_process_cpu_seconds_total", "", cpu_s) + line("weir_slices_in_flight", "", 7) +
         line("weir_fragments_missing_total", ",reason=\"deadline\"", 2) +
         line("weir_fragments_missing_total", ",reason=\"a\\\"b,c\"", 3) +
         line("weir_slice_build_seconds_bucket", ",le=\"0.001\"", fast) +
         line("weir_slice_build_seconds_bucket", ",le=\"0.01\"", fast + slow) +
         line("weir_slice_build_seconds_bucket", ",le=\"+Inf\"", fast + slow);
}

constexpr const char* kState = R"({"farm": "lab", "state": "running", "run": 12, "now": 1000,
  "health": [{"gravity": "warning", "word": "DCM lost", "reason": "dcm-1 is dead"},
             {"gravity": "good", "word": "running", "reason": ""}], "counts": {"triggered": 10, "stored": 1, "rejected": 9, "discarded": 0},
  "members": [{"name": "dcm-0", "role": "dcm", "state": "running", "reason": "", "slices_per_s": 12.5,
    "bytes_per_s": 2000000, "p99_us": 1500, "in_flight": 3, "lost": 4, "cpu_s": 1.0, "cpu_percent": 42},
    {"name": "dcm-1", "role": "dcm", "state": "dead", "reason": "signal 9", "in_flight": null}]})";

}  // namespace

TEST_CASE("the page's state becomes a frame, with the page's rates") {
  const auto frame = TopRates::of_state(kState);
  REQUIRE(frame.has_value());
  CHECK(frame->title == "farm lab: running, run 12: 10 triggered, 1 stored, 9 rejected, 0 discarded");
  REQUIRE(frame->rows.size() == 2);
  CHECK(frame->rows[0].slices_per_s == 12.5);
  CHECK(frame->rows[0].cpu_percent == 42);
  CHECK(!frame->rows[1].cpu_percent);
  CHECK(!frame->rows[1].slices_per_s);
  const auto lines = format_top(*frame, TopSort::plan, 200, 100);
  REQUIRE(lines.size() == 5);
  CHECK_THAT(lines[1], ContainsSubstring("dcm-1 is dead"));
  CHECK_THAT(lines[3],
             ContainsSubstring("12.5") && ContainsSubstring("2.00 MB/s") && ContainsSubstring("1.50 ms"));
  CHECK_THAT(lines[4], ContainsSubstring("signal 9"));
}

TEST_CASE("a document that is not a farm's state is rejected") {
  for (const char* text : {"", "[]", "{}", "{\"members\": 5}", "<html>"}) CHECK(!TopRates::of_state(text));
  CHECK(TopRates::of_state(R"({"members": [5, {}, {"name": 7, "in_flight": "x"}]})").has_value());
}

TEST_CASE("metrics give rates, percentiles and processor time between two frames") {
  TopRates rates;
  const auto first = rates.of_metrics(dcm_metrics(100, 1000, 1, 1000, 0), 10 * kSecond);
  REQUIRE(first.has_value());
  CHECK(!first->slices_per_s);
  CHECK(first->lost == 5);
  CHECK(first->in_flight == 7);
  const auto second = rates.of_metrics(dcm_metrics(300, 5000, 2, 1000, 50, 1), 13 * kSecond);
  REQUIRE(second.has_value());
  CHECK(*second->slices_per_s == Approx(100));
  CHECK(*second->bytes_per_s == Approx(2000));
  CHECK(*second->cpu_percent == Approx(50));
  CHECK(*second->p99_us == Approx(10'000));
  // The same report again: the same rates, until it is too old.
  CHECK(*rates.of_metrics(dcm_metrics(300, 5000, 2, 1000, 50, 1.5), 13'500 * kMillisecond)->slices_per_s ==
        Approx(100));
  CHECK(!rates.of_metrics(dcm_metrics(300, 5000, 2, 1000, 50, 9), 21 * kSecond)->slices_per_s);
  // A new run counts from zero.
  CHECK(!rates.of_metrics(dcm_metrics(5, 10, 3, 2, 0), 30 * kSecond)->slices_per_s);
}

TEST_CASE("text that is not a node's metrics is rejected, whatever it is") {
  TopRates rates;
  for (const char* text : {"", "weir_node_state", "weir_node_state{ 1", "weir_node_state{node=\"} 1",
                           "weir_node_state{node} 1", "go_goroutines 5\n\n#\n", "a{b=\"c\\", "} 1", "{} 1"}) {
    INFO(text);
    CHECK(!rates.of_metrics(text, kSecond));
  }
}

TEST_CASE("rows are sorted by the wanted column, the largest first, and cut to the screen") {
  TopFrame frame;
  frame.title = "t";
  for (const int i : {2, 3, 1}) {
    TopRow row;
    row.name = "n" + std::to_string(i);
    row.slices_per_s = i;
    row.lost = static_cast<std::uint64_t>(10 - i);
    frame.rows.push_back(row);
  }
  const auto order = [&](TopSort sort) {
    std::string names;
    for (const auto& line : format_top(frame, sort, 100, 100)) {
      if (line.front() == 'n') names += line.substr(1, 1);
    }
    return names;
  };
  CHECK(order(TopSort::plan) == "231");
  CHECK(order(TopSort::name) == "123");
  CHECK(order(TopSort::slices) == "321");
  CHECK(order(TopSort::lost) == "123");
  const auto cut = format_top(frame, TopSort::plan, 20, 4);
  REQUIRE(cut.size() == 4);
  CHECK(cut.back() == "… 3 more");  // title, the line on columns, heads
  for (const auto& line : cut) CHECK(line.size() <= 20);
  CHECK(top_sort("p99") == TopSort::p99);
  CHECK(!top_sort("speed"));
}

TEST_CASE("a narrow screen keeps state, lost, CPU and some of the reason, and names the other columns") {
  TopFrame frame;
  frame.title = "farm";
  TopRow row;
  row.name = "readout-0";
  row.state = "throttled";
  row.lost = 12345;
  row.cpu_percent = 87;
  row.pid = 4711;
  row.reason = "SLICES_PENDING: slices wait for a DCM with a credit free";
  frame.rows.push_back(row);
  const auto wide = format_top(frame, TopSort::plan, 200, 100);
  REQUIRE(wide.size() == 3);
  CHECK(wide[1].find("pid") != std::string::npos);
  const auto narrow = format_top(frame, TopSort::plan, 80, 24);
  REQUIRE(narrow.size() == 4);
  CHECK(narrow[1] == "  no room for: pid, data, p99, in flight; a wider terminal shows them");
  CHECK(narrow[2].find("lost") != std::string::npos);
  CHECK(narrow[2].find("CPU %") != std::string::npos);
  CHECK(narrow[3].find("12345") != std::string::npos);
  CHECK(narrow[3].find("87") != std::string::npos);
  CHECK(narrow[3].find("SLICES") != std::string::npos);
  CHECK(narrow[3].ends_with("…"));
  for (const auto& line : narrow) CHECK(line.size() <= 80);
}

TEST_CASE("each group of DCMs has a row with the sums of its DCMs below the processes") {
  const auto frame = TopRates::of_state(R"({"farm": "f", "state": "running", "run": 1, "members": [
    {"name": "readout-0", "role": "readout", "state": "running", "slices_per_s": 500},
    {"name": "near-0", "role": "dcm", "group": "near", "state": "running", "slices_per_s": 100, "bytes_per_s": 1000000,
     "p99_us": 1500, "in_flight": 3, "lost": 1, "cpu_percent": 40},
    {"name": "far", "role": "dcm", "group": "far", "state": "running", "slices_per_s": 20},
    {"name": "near-1", "role": "dcm", "group": "near", "state": "running", "slices_per_s": 150.5, "bytes_per_s": 500000,
     "p99_us": 2500, "in_flight": 4, "lost": 0, "cpu_percent": 2}]})");
  REQUIRE(frame.has_value());
  const auto groups = group_rows(frame->rows);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "group near");
  CHECK(groups[0].state == "2 DCMs");
  CHECK(*groups[0].slices_per_s == Approx(250.5));
  CHECK(*groups[0].bytes_per_s == Approx(1'500'000));
  CHECK(*groups[0].p99_us == Approx(2500));
  CHECK(*groups[0].cpu_percent == Approx(42));
  CHECK(groups[0].in_flight == 7);
  CHECK(groups[0].lost == 1);
  CHECK(groups[1].name == "group far");
  CHECK_FALSE(groups[1].p99_us);
  const auto lines = format_top(*frame, TopSort::slices, 200, 100);
  REQUIRE(lines.size() == 8);
  CHECK_THAT(lines[6], ContainsSubstring("group near") && ContainsSubstring("250.5"));
  CHECK_THAT(lines[7], ContainsSubstring("group far"));
}

TEST_CASE("long health lines are folded where the table leaves room, and cut where it does not") {
  TopFrame frame;
  frame.title = "farm";
  frame.reasons = {
      "error: no writer: no accepted slice is stored: writer-0 (removed 40 s ago by mark on daq-1, pid "
      "4711): weir ctl add writer-0"};
  TopRow row;
  row.name = "supervisor";
  frame.rows.push_back(row);
  const auto lines = format_top(frame, TopSort::plan, 80, 24);
  for (const auto& line : lines) CHECK(line.size() <= 80);
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  CHECK_THAT(text, ContainsSubstring("weir ctl add writer-0"));
  const auto tight = format_top(frame, TopSort::plan, 80, 4);
  REQUIRE(tight.size() == 4);
  CHECK(tight[1].ends_with("…"));
}
