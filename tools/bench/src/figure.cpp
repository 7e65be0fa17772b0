// Measures a figure's points, and writes their lines and page.
#include "output.hpp"
#include "units.hpp"
#include <weir/bench/conditions.hpp>
#include <weir/bench/figure.hpp>
#include <weir/lab/network.hpp>
#include <weir/run_record/json.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>

namespace weir::bench {
namespace {

namespace json = boost::json;

const json::value* value_at(const Line& line, std::string_view key) {
  const json::value* value = line.if_contains(key);
  const std::size_t dot = key.find('.');
  if (value != nullptr || dot == key.npos) return value;
  const json::value* const part = line.if_contains(key.substr(0, dot));
  return part == nullptr || !part->is_object() ? nullptr : value_at(part->get_object(), key.substr(dot + 1));
}

std::string written(Line line) {
  for (auto at = line.begin(); at != line.end();)
    at = at->key().starts_with('_') ? line.erase(at) : std::next(at);
  return run_record::one_line(line) + "\n";
}

Expected<Lines, std::string> measured(const FigurePoint& point) {
  try {
    return point.measure();
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
}

// One figure on its way.
class FigureRun {
 public:
  FigureRun(const Figure& figure, const Output& output, std::FILE* out, std::FILE* err)
      : figure_(figure), output_(output), out_(out), err_(err) {}

  void measure(const std::vector<FigurePoint>& group) {
    std::vector<std::vector<Lines>> rounds(group.size());
    for (std::uint32_t round = 0; round < figure_.rounds && !stopped_; ++round) {
      for (std::size_t i = 0; i < group.size() && !stopped_; ++i) measure(group[i], rounds[i]);
    }
    for (const std::vector<Lines>& point : rounds) take_medians(point);
  }

  [[nodiscard]] bool stopped() const { return stopped_; }

  int finish() {
    if (stopped_ && figure_.needs_all) return figure_.failure_status;
    if (figure_.summary && !lines_.empty()) print(figure_.summary(lines_));
    const std::string page = figure_.page && !lines_.empty() ? figure_.page(lines_) : std::string();
    if (!page.empty() && output_.out.empty()) fmt::print(err_, "\n{}", page);
    if (!output_.json.empty() && !write(output_.json, text_)) {
      fmt::print(err_, "weir bench: cannot write '{}'\n", output_.json);
      return figure_.failure_status;
    }
    if (!output_.out.empty() && !lines_.empty() &&
        write_output(output_.out, output_.name, text_, page, err_) != 0)
      return figure_.failure_status;
    return failed_ ? figure_.failure_status : good_ ? 0 : 1;
  }

 private:
  void measure(const FigurePoint& point, std::vector<Lines>& rounds) {
    auto lines = measured(point);
    if (!lines) {
      failed_ = true;
      fmt::print(err_, "weir bench {}: {}: {}\n", figure_.bench, point.label, lines.error());
      stopped_ = figure_.needs_all || lines.error().starts_with("SIG");
    } else if (figure_.line_per_round) {
      for (Line& line : *lines) take(std::move(line));
    } else {
      rounds.push_back(std::move(*lines));
    }
  }

  // Each round has the same lines, in the same order.
  void take_medians(const std::vector<Lines>& rounds) {
    if (rounds.empty()) return;
    for (std::size_t i = 0; i < rounds.front().size(); ++i) {
      Lines same;
      for (const Lines& round : rounds) same.push_back(round.at(i));
      take(medians_of(same));
    }
  }

  void print(const Line& line) {
    const std::string text = written(line);
    if (output_.json.empty()) fmt::print(out_, "{}", text);
    std::fflush(out_);
    text_ += text;
  }

  void take(Line line) {
    print(line);
    if (figure_.sentence) fmt::print(err_, "{}\n", figure_.sentence(line));
    good_ = good_ && (!figure_.is_good || figure_.is_good(line));
    lines_.push_back(std::move(line));
  }

  const Figure& figure_;
  const Output& output_;
  std::FILE* out_;
  std::FILE* err_;
  Lines lines_;
  std::string text_;
  bool failed_ = false;
  bool good_ = true;
  bool stopped_ = false;
};

}  // namespace

double number_of(const Line& line, std::string_view key) {
  const json::value* const value = value_at(line, key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

std::string text_of(const Line& line, std::string_view key) {
  const json::value* const value = value_at(line, key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool is_set(const Line& line, std::string_view key) {
  const json::value* const value = value_at(line, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Line medians_of(const Lines& rounds) {
  Line line = rounds.back();
  for (auto& [key, value] : line) {
    const auto differs = [&, &name = key, &last = value](const Line& round) {
      return round.at(name) != last;
    };
    if (key.starts_with('_')) continue;
    if (value.is_object()) {
      Lines parts;
      for (const Line& round : rounds) parts.push_back(round.at(key).as_object());
      value = medians_of(parts);
    } else if (value.is_number() && (value.is_double() || std::ranges::any_of(rounds, differs))) {
      std::vector<double> values;
      for (const Line& round : rounds) values.push_back(round.at(key).to_number<double>());
      if (key == kOtherShare || key == kWithheldShare) {  // a busy round counts
        value = std::ranges::max(values);
        continue;
      }
      value = rounds.size() % 2 == 1 ? median(std::move(values)) : four_digits(median(std::move(values)));
    }
  }
  if (line.contains("rounds")) line["rounds"] = rounds.size();
  return line;
}

Column text_column(std::string head, std::string key) {
  return {std::move(head), [key = std::move(key)](const Line& line) { return text_of(line, key); }};
}

Column number_column(std::string head, std::string key, int digits, double factor) {
  return {std::move(head), [key = std::move(key), digits, factor](const Line& line) {
            return fmt::format("{:.{}f}", factor * number_of(line, key), digits);
          }};
}

Column paper_column(std::string head, std::string key) {
  return {std::move(head), [key = std::move(key)](const Line& line) {
            const double value = number_of(line, key);
            return value > 0 ? fmt::format("{:g}", value) : std::string("-");
          }};
}

std::string table_of(const Lines& lines, const std::vector<Column>& columns) {
  std::string text = "|";
  for (const Column& column : columns) text += " " + column.head + " |";
  text += "\n|";
  for (std::size_t i = 0; i < columns.size(); ++i) text += " --- |";
  for (const Line& line : lines) {
    text += "\n|";
    for (const Column& column : columns) text += " " + column.cell(line) + " |";
  }
  return text + "\n";
}

std::string page_head(const std::string& title, const Output& output, const std::string& introduction) {
  const std::string command =
      output.command.empty() ? std::string() : fmt::format("```sh\n{}\n```\n", output.command);
  return fmt::format("# {}\n\n{}{}\n\n", title, command, introduction);
}

int run_figure(const Figure& figure, const Output& output, std::FILE* out, std::FILE* err) {
  if (const std::string why = figure.needs_lab ? lab::LabNetwork::refusal() : std::string(); !why.empty()) {
    fmt::print(err, "weir bench {}: {}\n", figure.bench, why);
    return 2;
  }
  if (!output.out.empty() && !make_folder(output.out, err)) return figure.failure_status;
  FigureRun run(figure, output, out, err);
  for (const auto& group : figure.groups) {
    if (!run.stopped()) run.measure(group);
  }
  return run.finish();
}

}  // namespace weir::bench
