#pragma once

#include <weir/base/expected.hpp>

#include <boost/json/object.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// The engine of all figures of `weir bench`: it measures points round after round, writes a JSON line for
// each, and makes table and page from the lines.
namespace weir::bench {

// Settings and results of a point. Keys that begin with '_' are for sentence and page only.
using Line = boost::json::object;
using Lines = std::vector<Line>;

// Returns the number at a key, or at keys inside of each other ("after_1s.p99_us"); 0: none is there.
[[nodiscard]] double number_of(const Line& line, std::string_view key);
// Returns the text at a key; empty: none is there.
[[nodiscard]] std::string text_of(const Line& line, std::string_view key);
[[nodiscard]] bool is_set(const Line& line, std::string_view key);  // true

[[nodiscard]] double median(std::vector<double> values);
// Returns the median of each number by itself, and the largest of the shares of other programs. Other values,
// and keys that begin with '_', are those of the last round. Requires: a round.
[[nodiscard]] Line medians_of(const Lines& rounds);

// A column of a table.
struct Column {
  std::string head;
  std::function<std::string(const Line&)> cell;
};
[[nodiscard]] Column text_column(std::string head, std::string key);
[[nodiscard]] Column number_column(std::string head, std::string key, int digits, double factor = 1);
// As number_column(), with "-" for a value that is not above zero.
[[nodiscard]] Column paper_column(std::string head, std::string key);
[[nodiscard]] std::string table_of(const Lines& lines, const std::vector<Column>& columns);

// Where the results go.
struct Output {
  std::string out = {};      // folder for NAME.md and NAME.jsonl; empty: neither, the page is printed
  std::string name = {};     // NAME
  std::string command = {};  // as typed, for the page: it repeats the figure
  std::string json = {};     // file for the lines, instead of standard output
};
// Returns the begin of a page: title, command, introduction.
[[nodiscard]] std::string page_head(const std::string& title, const Output& output,
                                    const std::string& introduction);

// A measurement that gives one line or more. Throws std::exception, or returns a message, if it failed; a
// message that begins with "SIG" ends the figure.
struct FigurePoint {
  std::string label;
  std::function<Expected<Lines, std::string>()> measure;
};

struct Figure {
  std::string bench;  // named in messages
  // The points of a group are measured in turn, so that other load on the machine affects all of them alike.
  std::vector<std::vector<FigurePoint>> groups;
  std::uint32_t rounds = 1;
  bool line_per_round = false;  // instead of medians over the rounds
  bool needs_lab = false;       // refused once, with status 2, where no virtual network can be made
  bool needs_all = false;       // a failed point ends the figure without a page
  int failure_status = 1;
  std::function<std::string(const Line&)> sentence;  // printed for each line
  std::function<bool(const Line&)> is_good;          // missing: each line is
  std::function<Line(const Lines&)> summary;         // the last line; missing: none
  std::function<std::string(const Lines&)> page;     // missing: no page
};

// Returns the exit status: 0, 1 if a line is not good, failure_status if a measurement failed.
[[nodiscard]] int run_figure(const Figure& figure, const Output& output, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
