#include "weir_catch.hpp"
#include <weir/filter_setup.hpp>

using Catch::ContainsSubstring;

namespace {

class Setup {
 public:
  explicit Setup(std::vector<weir_filter_parameter> table) : table_(std::move(table)) {
    parameters_.struct_size = sizeof parameters_;
    parameters_.count = static_cast<std::uint32_t>(table_.size());
    parameters_.stride = sizeof(weir_filter_parameter);
    parameters_.table = table_.data();
  }
  weir::FilterSetup& operator*() { return setup_; }
  weir::FilterSetup* operator->() { return &setup_; }

 private:
  std::vector<weir_filter_parameter> table_;
  weir_filter_parameters parameters_{};
  weir::FilterSetup setup_{&parameters_, nullptr};
};

template <class Read>
std::string message(Read read) {
  try {
    (void)read();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("parameters are read as the type of their default") {
  Setup setup(
      {{"minimum", "5"}, {"fraction", "0.25"}, {"name", "two words"}, {"flag", "yes"}, {"shift", "-3"}});
  CHECK(setup->parameter("minimum", 1U) == 5);
  CHECK(setup->parameter("fraction", 0.0) == 0.25);
  CHECK(setup->parameter("name", "one") == "two words");
  CHECK(setup->parameter("flag", false));
  CHECK(setup->parameter("shift", 0) == -3);
  CHECK(setup->parameter("absent", 17) == 17);
  CHECK(setup->required<std::uint64_t>("minimum") == 5);
  CHECK_NOTHROW(setup->refuse_unknown());
}

TEST_CASE("a value that does not fit gives a sentence with the parameter and the value") {
  Setup setup(
      {{"minimum", "abc"}, {"small", "70000"}, {"below", "-1"}, {"empty", ""}, {"half", "1.5"}, {"n", "7"}});
  CHECK(message([&] { return setup->parameter("minimum", 1); }) ==
        "parameter 'minimum': 'abc' is not a whole number");
  CHECK(message([&] { return setup->parameter("minimum", 1.0); }) ==
        "parameter 'minimum': 'abc' is not a number");
  CHECK(message([&] { return setup->parameter("minimum", true); }) ==
        "parameter 'minimum': 'abc' is not true or false");
  CHECK(message([&] { return setup->parameter("small", std::uint16_t{1}); }) ==
        "parameter 'small': '70000' is not between 0 and 65535");
  CHECK(message([&] { return setup->parameter("below", 1U); }) ==
        "parameter 'below': '-1' is not between 0 and 4294967295");
  CHECK_THAT(message([&] { return setup->parameter("empty", 1); }), ContainsSubstring("not a whole number"));
  CHECK_THAT(message([&] { return setup->parameter("half", 1); }), ContainsSubstring("not a whole number"));
  CHECK(message([&] { return setup->parameter("n", 1, 1, 5); }) ==
        "parameter 'n': '7' is not between 1 and 5");
  CHECK(message([&] {
          return setup->choice("minimum", {"x", "y"});
        }) == "parameter 'minimum': 'abc' is not one of: x, y");
  CHECK(message([&] { return setup->required<int>("need"); }) == "parameter 'need' is missing");
}

TEST_CASE("a list of sources has numbers and ranges, sorted and each once") {
  Setup setup(std::vector<weir_filter_parameter>{
      {"first", "9, 2,4-6,5"}, {"back", "6-4"}, {"word", "1,x"}, {"huge", "0-4294967295"}});
  CHECK(setup->sources("first") == std::vector<std::uint32_t>{2, 4, 5, 6, 9});
  CHECK(setup->sources("absent").empty());
  CHECK_THAT(message([&] { return setup->sources("back"); }),
             ContainsSubstring("'6-4' is not a range of sources"));
  CHECK_THAT(message([&] { return setup->sources("word"); }), ContainsSubstring("'x' is not a whole number"));
  CHECK_THAT(message([&] { return setup->sources("huge"); }), ContainsSubstring("not a range of sources"));
}

TEST_CASE("an unused parameter is refused with the known ones") {
  Setup setup(std::vector<weir_filter_parameter>{{"minimun", "5"}});
  (void)setup->parameter("minimum", 1);
  (void)setup->parameter("keep", true);
  CHECK(message([&] {
          setup->refuse_unknown();
          return 0;
        }) == "unknown parameter 'minimun': this filter knows minimum, keep");
}
