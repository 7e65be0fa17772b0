// What a program with a skip ends with; support_skip looks at that.
#include "skip.hpp"
#include "weir_catch.hpp"

TEST_CASE("a test passes", "[passes]") { CHECK(true); }
TEST_CASE("a test is skipped", "[.skips]") { weir::skip_test("nothing is needed here"); }
TEST_CASE("a test fails", "[.fails]") { CHECK(false); }
