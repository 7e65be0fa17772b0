#include "weir_catch.hpp"
#include <weir/reports/merged_texts.hpp>

using namespace weir::reports;

TEST_CASE("repeated texts are one with their number, where the first was") {
  using Texts = std::vector<std::string>;
  CHECK(merged(Texts{}).empty());
  CHECK(merged(Texts{"a", "b"}) == Texts{"a", "b"});
  CHECK(merged(Texts{"b", "a", "b", "c", "b", "a"}) == Texts{"b (3 times)", "a (2 times)", "c"});
}
