// Manual pages, from the table of the commands' help.
#include "commands.hpp"
#include "help_table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace weir::commands {
namespace {

// The bytes of a UTF-8 character after its first one.
std::size_t following(unsigned char first) {
  return first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
}

// Text for troff: a line that begins with '.' or an apostrophe would be a request; characters beyond ASCII
// have names.
std::string escaped(const std::string& text) {
  std::string out;
  bool begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (begins && (first == '.' || first == '\'')) out += "\\&";
    begins = first == '\n';
    const std::size_t more = std::min(following(first), text.size() - i - 1);
    std::uint32_t code = more == 0 ? first : first & (0x3fU >> more);
    for (std::size_t k = 0; k < more; ++k) code = code << 6 | (static_cast<unsigned char>(text[++i]) & 0x3fU);
    if (code > 0x7f) {
      out += fmt::format("\\[u{:04X}]", code);
    } else {
      out += first == '\\' ? "\\e" : first == '-' ? "\\-" : std::string(1, static_cast<char>(first));
    }
  }
  return out;
}

// Lines as they are, without the empty ones at both ends.
std::string verbatim(std::string text) {
  text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? std::string() : ".nf\n" + escaped(text) + "\n.fi\n";
}

std::string options(const HelpCommand& command) {
  std::string out;
  for (const HelpOption& option : command.options) {
    std::string head;
    for (const std::string& name : option.names)
      head +=
          (head.empty() ? "" : ", ") + ((option.is_positional ? "\\fI" : "\\fB") + escaped(name) + "\\fR");
    if (!option.is_positional && !option.value.empty()) head += " \\fI" + escaped(option.value) + "\\fR";
    std::string text = option.text;
    if (!option.choices.empty() && text.find(option.choices.back()) == text.npos)
      text += fmt::format(" ({})", fmt::join(option.choices, ", "));
    out += ".TP\n" + head + "\n" + escaped(text) + "\n";
  }
  return out;
}

std::string page(const CLI::App& app) {
  const std::vector<HelpCommand> table = help_table(app);
  std::string out =
      ".TH WEIR 1 \"\" \"Weir\" \"User commands\"\n.SH NAME\n"
      "weir \\- run, check and look into an event\\-building farm\n.SH SYNOPSIS\n"
      ".B weir\n\\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\n" +
      escaped(table.front().text) + "\n.SH COMMANDS\n";
  for (const HelpCommand& command : table) {
    if (command.words.empty()) continue;
    out += fmt::format(".SS \"weir {}\"\n{}.\n", escaped(fmt::format("{}", fmt::join(command.words, " "))),
                       escaped(command.text));
    out += options(command) + (command.footer.empty() ? "" : ".PP\n" + verbatim(command.footer));
  }
  out +=
      ".SH ENVIRONMENT\n.TP\n\\fBWEIR_CONNECT\\fR\nHOST:PORT of run control, for \\fBweir ctl\\fR and "
      "\\fBweir "
      "tap\\fR, without \\-\\-connect and \\-\\-farm.\n.SH EXAMPLES\n";
  return out + verbatim(table.front().footer) +
         ".SH SEE ALSO\n.BR weir\\-readout (1),\n.BR weir\\-supervisor (1)\n";
}

}  // namespace

void add_manual(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("manual", "Print the manual page weir(1), made from the help of each command");
  command->footer("\nweir manual | man -l -");
  command->callback([&app, &status] {
    std::fputs(page(app).c_str(), stdout);
    status = 0;
  });
}

}  // namespace weir::commands
