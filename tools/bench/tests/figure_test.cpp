#include "weir_catch.hpp"
#include "written_text.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/figure.hpp>

#include <boost/json.hpp>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

namespace weir::bench {
namespace {

using Catch::ContainsSubstring;

// Runs the figure, and returns its exit status and its output.
struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};
Ran run(const Figure& figure, const Output& output = {}) {
  std::FILE* const out = std::tmpfile();
  std::FILE* const err = std::tmpfile();
  REQUIRE(out != nullptr);
  REQUIRE(err != nullptr);
  const int status = run_figure(figure, output, out, err);
  return {status, written_text(out), written_text(err)};
}

// A point that gives its name and the next of these numbers.
FigurePoint counting(const std::string& name, std::vector<double> values) {
  return {name, [name, values, turn = std::size_t{0}]() mutable -> Expected<Lines, std::string> {
            const double value = values.at(turn++);
            if (value < 0) return Unexpected<std::string>(value < -1 ? "SIGINT" : "no luck");
            return Lines{{{"name", name}, {"value", value}, {"rounds", 1}, {"_note", name + "!"}}};
          }};
}

Figure figure_of(std::vector<FigurePoint> group, std::uint32_t rounds) {
  Figure figure;
  figure.bench = "test";
  figure.groups = {std::move(group)};
  figure.rounds = rounds;
  figure.page = [](const Lines& lines) {
    return page_head("test", {.command = "weir bench test"}, "On a machine.") +
           table_of(lines, {text_column("name", "_note"), number_column("value, %", "value", 1, 100)});
  };
  return figure;
}

TEST_CASE("numbers and texts of a line are found by key, also inside of a part") {
  const Line line{{"a", 1}, {"b", {{"c", 2.5}}}, {"d", "text"}, {"e", true}};
  CHECK(number_of(line, "a") == 1);
  CHECK(number_of(line, "b.c") == 2.5);
  CHECK(number_of(line, "b.d") == 0);
  CHECK(number_of(line, "a.c") == 0);
  CHECK(text_of(line, "d") == "text");
  CHECK(text_of(line, "a").empty());
  CHECK(is_set(line, "e"));
  CHECK_FALSE(is_set(line, "a"));
}

TEST_CASE("the median does not depend on the order of the values") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
}

TEST_CASE("figures are medians over the rounds, each on its own; other values are those of the last") {
  Lines rounds;
  for (const double value : {3.0, 1.0, 2.0})
    rounds.push_back({{"part", {{"up", value}, {"down", 10 - value}}},
                      {"bytes", 36'000},
                      {"name", "x"},
                      {"_most", value},
                      {"withheld_share", value / 10},
                      {"rounds", 1}});
  const Line line = medians_of(rounds);
  CHECK(number_of(line, "part.up") == 2);
  CHECK(number_of(line, "part.down") == 8);
  CHECK(line.at("bytes").is_int64());
  CHECK(number_of(line, "rounds") == 3);
  CHECK(number_of(line, "_most") == 2);             // of the last round
  CHECK(number_of(line, "withheld_share") == 0.3);  // a busy round counts
  rounds.pop_back();
  CHECK(number_of(medians_of(rounds), "part.up") == 2);  // between 3 and 1
}

TEST_CASE("the points of a group are measured in turn, and a failed run costs its round only") {
  const Ran ran = run(figure_of({counting("a", {0.1, -1, 0.3}), counting("b", {0.4, 0.5, 0.6})}, 3));
  CHECK(ran.status == 1);
  CHECK(ran.out ==
        "{\"name\": \"a\", \"value\": 0.2, \"rounds\": 2}\n"
        "{\"name\": \"b\", \"value\": 0.5, \"rounds\": 3}\n");
  CHECK_THAT(ran.err, ContainsSubstring("weir bench test: a: no luck\n") &&
                          ContainsSubstring("| name | value, % |\n| --- | --- |\n| a! | 20.0 |\n"));
}

TEST_CASE(
    "a signal ends a figure after the points so far; a failure ends one that needs all points, without a "
    "page") {
  Figure figure = figure_of({counting("a", {0.1, -2}), counting("b", {0.4, 0.5})}, 2);
  CHECK_THAT(run(figure).out, ContainsSubstring("\"b\", \"value\": 0.4, \"rounds\": 1"));
  figure = figure_of({counting("a", {0.1}), counting("b", {-1}), counting("c", {0.4})}, 1);
  figure.needs_all = true;
  figure.failure_status = 2;
  const Ran ran = run(figure);
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, !ContainsSubstring("| name |"));
  CHECK_THAT(ran.out, !ContainsSubstring("\"c\""));
  figure.groups = {{{"d", []() -> Expected<Lines, std::string> { throw std::runtime_error("thrown"); }}}};
  CHECK_THAT(run(figure).err, ContainsSubstring("weir bench test: d: thrown"));
}

TEST_CASE("a line for each round is judged by itself, and the folder has page and lines") {
  const ScratchFolder folder;
  Figure figure = figure_of({counting("a", {0.1, 0.2})}, 2);
  figure.line_per_round = true;
  figure.is_good = [](const Line& line) { return number_of(line, "value") < 0.2; };
  figure.sentence = [](const Line& line) { return "measured " + text_of(line, "name"); };
  const Output output{.out = folder.path() / "new", .name = "it", .command = {}, .json = {}};
  const Ran ran = run(figure, output);
  CHECK(ran.status == 1);
  CHECK(ran.err == "measured a\nmeasured a\n");
  const auto text = [&](const char* file) {
    std::ifstream in(folder.path() / "new" / file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  CHECK(text("it.jsonl") == ran.out);
  CHECK_THAT(text("it.md"),
             ContainsSubstring("# test\n\n```sh\nweir bench test\n```\nOn a machine.\n\n| name"));
}

}  // namespace
}  // namespace weir::bench
