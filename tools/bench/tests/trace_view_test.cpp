#include "weir_catch.hpp"
#include <weir/bench/trace_view.hpp>

#include <array>

namespace weir::bench {
namespace {

// A port of 8 Mb/s to the DCM's host: 1,000 bytes a millisecond, a sample each millisecond.
class Tracing {
 public:
  Tracing() : trace_({lab::Port{"switch>d0", lab::kSwitches, "d0", 8'000'000, 100'000, true, {}}}, {"d0"}) {
    sample(0, 0, 0);
  }
  void sample(std::uint64_t sent, std::uint64_t queue, std::uint64_t requests) {
    count_.bytes += sent;
    count_.backlog_bytes = queue;
    requests_ += requests;
    trace_.take(now_ns_, std::array<lab::PortCount, 1>{count_}, std::array<std::uint64_t, 1>{requests_});
    now_ns_ += kMillisecond;
  }
  void idle(int ms) {
    for (int i = 0; i < ms; ++i) sample(0, 0, 0);
  }
  // Ten milliseconds at the full rate.
  void slice(std::uint64_t first_requests, std::uint64_t later_requests) {
    sample(0, 0, first_requests);
    for (int i = 0; i < 10; ++i) sample(1000, 500, i == 5 ? later_requests : 0);
  }
  [[nodiscard]] TraceView view(double settle_s = 0) const { return view_of(trace_, "d0", settle_s, 9000); }

 private:
  lab::NetworkTrace trace_;
  lab::PortCount count_;
  std::uint64_t requests_ = 0;
  TimeNs now_ns_ = 0;
};

TEST_CASE("the collection of a slice begins with requests at an idle port and ends with its last response") {
  Tracing tracing;
  tracing.idle(20);
  tracing.slice(600, 200);
  tracing.idle(9);
  tracing.slice(600, 200);
  tracing.idle(9);
  const TraceView view = tracing.view();
  CHECK(view.collection_ms == Approx(11));
  CHECK(view.early_requests == Approx(0.75));  // the later ones are sent in the middle
  REQUIRE(view.responses.size() == 11);
  CHECK(view.responses.back() == std::pair{11.0, 10.0});
  CHECK(view.requests.front() == std::pair{1.0, 0.6});
  CHECK(view.requests.back().second == Approx(0.8));
  CHECK(view.most_queue_kb == Approx(0.5));
  REQUIRE(view.queues.size() == 1);
  CHECK(view.queues.front().port == "switch>d0");
  CHECK(view.idle_gaps == 0);
}

TEST_CASE("two slices without a pause between them are not taken for one") {
  Tracing tracing;
  tracing.idle(20);
  tracing.slice(600, 0);
  tracing.slice(600, 0);
  tracing.idle(20);
  CHECK(tracing.view().collection_ms == 0);
}

TEST_CASE("idle times of a timeout are counted, and the use is in bins of 10 ms") {
  Tracing tracing;
  tracing.slice(600, 0);
  tracing.idle(250);
  tracing.slice(600, 0);
  tracing.idle(100);
  tracing.slice(600, 0);
  const TraceView view = tracing.view();
  CHECK(view.idle_gaps == 1);
  REQUIRE(view.use.size() == 39);
  CHECK(view.use[0].second == Approx(0.8).margin(0.11));
  CHECK(view.use[10] == std::pair{0.1, 0.0});
  CHECK(tracing.view(0.3).idle_gaps == 0);
}

TEST_CASE("a host that the trace does not have gives an empty view") {
  Tracing tracing;
  const TraceView view = view_of(lab::NetworkTrace({}, {}), "d0", 0, 9000);
  CHECK(view.use.empty());
  CHECK(view.collection_ms == 0);
}

}  // namespace
}  // namespace weir::bench
