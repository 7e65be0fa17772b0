#include <weir/farm_view/live_screen.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace weir::farm_view {
namespace {

constexpr double kPlainFirst_s = 2;  // rates are known from a process' second report on
constexpr double kPlainEvery_s = 5;  // the interval doubles each time
constexpr double kPlainEveryMax_s = 60;
constexpr std::size_t kPlainColumns = 240;
constexpr std::size_t kPlainRowsMax = 32;
constexpr std::size_t kColumnsUnknown = 80;
constexpr std::size_t kRowsUnknown = 24;
constexpr std::size_t kOtherLines = 4;  // heading, the run's line, the prompt

}  // namespace

bool moves_cursor(std::FILE* out) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(out)) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

LiveScreen::LiveScreen(std::FILE* out, bool quiet)
    : out_(out),
      quiet_(quiet),
      terminal_(moves_cursor(out)),
      next_plain_s_(kPlainFirst_s),
      plain_every_s_(kPlainEvery_s) {}

void LiveScreen::erase() {
  if (drawn_ > 0) std::fprintf(out_, "\x1b[%zuA\x1b[J", drawn_);
  drawn_ = 0;
}

void LiveScreen::show(const LiveFrame& frame) {
  if (quiet_) return;
  if (!terminal_) {
    if (frame.run_s < next_plain_s_) return;
    next_plain_s_ = frame.run_s + plain_every_s_;
    plain_every_s_ = std::min(2 * plain_every_s_, kPlainEveryMax_s);
    for (const std::string& line : format_live(frame, kPlainColumns, kPlainRowsMax)) {
      std::fprintf(out_, "%s\n", line.c_str());
    }
    std::fflush(out_);
    return;
  }
  winsize size{};
  const bool known = ::ioctl(::fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
  const std::size_t rows = known ? size.ws_row : kRowsUnknown;
  lines_ =
      format_live(frame, known ? size.ws_col : kColumnsUnknown, rows > kOtherLines ? rows - kOtherLines : 1);
  erase();
  for (const std::string& line : lines_) std::fprintf(out_, "%s\n", line.c_str());
  drawn_ = lines_.size();
  std::fflush(out_);
}

void LiveScreen::say(const std::string& line) {
  const std::size_t drawn = drawn_;
  erase();
  std::fprintf(out_, "%s\n", line.c_str());
  if (drawn > 0) {
    for (const std::string& live : lines_) std::fprintf(out_, "%s\n", live.c_str());
  }
  drawn_ = drawn;
  std::fflush(out_);
}

}  // namespace weir::farm_view
