#include "weir_catch.hpp"
#include <weir/metrics/openmetrics.hpp>

using namespace weir::metrics;

TEST_CASE("OpenMetrics is given to clients that accept it") {
  CHECK(accepts_openmetrics(
      "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5"));
  CHECK_FALSE(accepts_openmetrics("text/plain;version=0.0.4"));
  CHECK_FALSE(accepts_openmetrics(""));
}

TEST_CASE("counters are announced without their suffix, help has no bare quote, and the text ends") {
  CHECK(to_openmetrics("# HELP a_total All \"a\".\n# TYPE a_total counter\na_total{x=\"y\"} 3\n\n"
                       "# HELP g Now.\n# TYPE g gauge\ng 1\n# TYPE h histogram\nh_count 0\n") ==
        "# TYPE a counter\n# HELP a All \\\"a\\\".\na_total{x=\"y\"} 3\n"
        "# TYPE g gauge\n# HELP g Now.\ng 1\n# TYPE h histogram\nh_count 0\n# EOF\n");
  CHECK(to_openmetrics("") == "# EOF\n");
  CHECK(to_openmetrics("last 1") == "last 1\n# EOF\n");
}
