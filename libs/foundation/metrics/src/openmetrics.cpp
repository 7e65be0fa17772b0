#include <weir/metrics/openmetrics.hpp>

namespace weir::metrics {
namespace {

constexpr std::string_view kHelp = "# HELP ";
constexpr std::string_view kType = "# TYPE ";
constexpr std::string_view kCounter = " counter";
constexpr std::string_view kTotal = "_total";

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  return line;
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

std::string quoted(std::string_view help) {
  std::string out;
  for (const char one : help) {
    if (one == '"') out += '\\';
    out += one;
  }
  return out;
}

}  // namespace

bool accepts_openmetrics(std::string_view accept) {
  return accept.find("application/openmetrics-text") != std::string_view::npos;
}

std::string to_openmetrics(std::string_view prometheus) {
  std::string out;
  std::string_view help;  // of the next metric
  while (!prometheus.empty()) {
    const std::string_view line = take_line(prometheus);
    if (line.starts_with(kHelp)) {
      help = line.substr(kHelp.size());
    } else if (line.starts_with(kType)) {
      const std::string_view name = first_word(line.substr(kType.size()));
      std::string_view family = name;
      if (line.ends_with(kCounter) && family.ends_with(kTotal)) family.remove_suffix(kTotal.size());
      const std::string_view kind = line.substr(kType.size() + name.size());
      out.append(kType).append(family).append(kind) += '\n';
      if (first_word(help) == name)
        out.append(kHelp).append(family).append(quoted(help.substr(name.size()))) += '\n';
      help = {};
    } else if (!line.empty()) {
      out.append(line) += '\n';
    }
  }
  return out + "# EOF\n";
}

}  // namespace weir::metrics
