#include "weir_catch.hpp"
#include <weir/run/run_news.hpp>

using namespace weir;
using namespace weir::run;

namespace {

v1::FarmView status(const std::string& state, TimeNs at, DurationNs run = 0) {
  v1::FarmView view;
  v1::Report& report = *view.add_nodes()->mutable_report();
  report.set_role(v1::ROLE_SUPERVISOR);
  report.set_now_ns(at);
  (*report.mutable_notes())["run"] = state;
  (*report.mutable_notes())["run_ns"] = std::to_string(run);
  return view;
}

}  // namespace

TEST_CASE("a run gathers, runs, drains and is over, and never goes back") {
  RunNews news;
  CHECK(news.phase() == RunNews::Phase::gathering);
  CHECK(news.take(status("gathering", 1)));
  CHECK(news.phase() == RunNews::Phase::gathering);
  CHECK(news.take(status("running", 2)));
  CHECK(news.take(status("paused", 3)));
  CHECK(news.phase() == RunNews::Phase::running);
  CHECK(news.take(status("draining", 4)));
  CHECK(news.phase() == RunNews::Phase::draining);
  CHECK(news.take(status("reporting", 5)));
  CHECK(news.take(status("gathering", 6)));  // the supervisor was restarted
  CHECK(news.phase() == RunNews::Phase::over);
}

TEST_CASE("a status counts once, and from when its supervisor made it") {
  RunNews news;
  CHECK_FALSE(news.take(v1::FarmView()));
  CHECK(news.run_ns(6 * kSecond) == 0);
  CHECK(news.take(status("running", 5 * kSecond, 2 * kSecond)));
  CHECK_FALSE(news.take(status("running", 5 * kSecond, 2 * kSecond)));
  CHECK(news.told_ns() == 5 * kSecond);
  CHECK(news.status().nodes(0).notes().empty());  // the status itself has the state
  CHECK(news.run_ns(6 * kSecond) == 3 * kSecond);
}

TEST_CASE("with its account a run is over, and a run's end without one is none") {
  RunNews news;
  v1::RunOver over;
  over.set_failure("stopped before the run began");
  news.take(over);
  CHECK_FALSE(news.account());
  CHECK(news.phase() == RunNews::Phase::gathering);
  over.mutable_summary()->set_run(4);
  news.take(over);
  REQUIRE(news.account());
  CHECK(news.account()->run() == 4);
  CHECK(news.phase() == RunNews::Phase::over);
}

TEST_CASE("a removed process is reported as such, and one without a report is not in the status") {
  RunNews news;
  v1::FarmView view = status("running", 5);
  for (const bool live : {true, false}) {
    v1::FarmView::Node& node = *view.add_nodes();
    node.set_excluded(true);
    node.set_live(live);
    node.mutable_report()->set_role(v1::ROLE_DCM);
    node.mutable_report()->set_state("running");
  }
  view.add_nodes()->set_name("writer-0");
  REQUIRE(news.take(view));
  REQUIRE(news.status().nodes_size() == 3);
  CHECK(news.status().nodes(1).state() == "draining");
  CHECK(news.status().nodes(2).state() == "removed");
}
