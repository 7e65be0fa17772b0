#include "weir_catch.hpp"
#include <weir/run_record/run_fields.hpp>

#include <string>

namespace weir::run_record {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("names, lengths, qualities and types of fields are checked") {
  CHECK(check_fields({}, {}).empty());
  CHECK(check_fields(
            {{"comment", "HV 1200 V: 2 channels off"}, {"type", "physics"}, {"hv.module-3_V", "1200"}}, {})
            .empty());
  CHECK_THAT(check_fields({{"a b", "1"}}, {}), ContainsSubstring("'a b' is not a name of a field"));
  CHECK_THAT(check_fields({{"", "1"}}, {}), ContainsSubstring("is not a name of a field"));
  CHECK_THAT(check_fields({{std::string(65, 'x'), "1"}}, {}), ContainsSubstring("at most 64"));
  CHECK_THAT(check_fields({{"comment", std::string(2001, 'x')}}, {}),
             ContainsSubstring("more than 2000 bytes"));
  CHECK_THAT(check_fields({{"quality", "fine"}}, {}),
             ContainsSubstring("'fine' is not a quality: use good, questionable, bad"));
  CHECK(check_fields({{"quality", ""}}, {}).empty());
  CHECK(check_fields({{"type", "laser"}}, {"physics", "laser"}).empty());
  CHECK_THAT(check_fields({{"type", "lasre"}}, {"physics", "laser"}),
             ContainsSubstring("'lasre' is not a type of run here: use physics, laser"));
  RunFields many;
  for (int i = 0; i < 33; ++i) many["f" + std::to_string(i)] = "1";
  CHECK_THAT(check_fields(many, {}), ContainsSubstring("at most 32 fields"));
}

TEST_CASE("missing required fields are named, an empty one is missing") {
  CHECK(missing_fields({{"type", "physics"}, {"shifter", "Ann"}}, {"type", "shifter"}).empty());
  CHECK_THAT(missing_fields({{"type", ""}, {"comment", "x"}}, {"type", "shifter"}),
             ContainsSubstring("starts no run without type, shifter (control.required_fields)"));
}

TEST_CASE("an annotation replaces a field, adds to the comment, and removes a field by an empty value") {
  RunFields fields{{"comment", "laser on"}, {"quality", "good"}, {"hv", "1200"}};
  annotate({{"comment", "trip at 12:03"}, {"quality", "bad"}, {"hv", ""}, {"shifter", "Bob"}}, fields);
  CHECK(fields == RunFields{{"comment", "laser on; trip at 12:03"}, {"quality", "bad"}, {"shifter", "Bob"}});
  CHECK(inherited(fields) == RunFields{{"shifter", "Bob"}});
  CHECK(cleaned({{"a", ""}, {"b", "one\ntwo"}}) == RunFields{{"b", "one\\ntwo"}});
}

}  // namespace
}  // namespace weir::run_record
