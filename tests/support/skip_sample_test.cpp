// Sample for support_skip, which checks the exit status of a program with a skip.
#include "skip.hpp"
#include "weir_catch.hpp"

TEST_CASE("a test passes", "[passes]") { CHECK(true); }
TEST_CASE("a test is skipped", "[.skips]") { weir::skip_test("nothing is needed here"); }
TEST_CASE("a test fails", "[.fails]") { CHECK(false); }
