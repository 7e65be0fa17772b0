#pragma once

#include <weir/farm_view/live_view.hpp>

#include <cstdio>

namespace weir::farm_view {

// True if `out` is a terminal that understands cursor movements: TERM is neither empty nor "dumb".
[[nodiscard]] bool moves_cursor(std::FILE* out);

// Output of the live view: redrawn in place on a terminal, otherwise plain lines at growing intervals.
class LiveScreen {
 public:
  // `quiet`: shows only the lines of say().
  LiveScreen(std::FILE* out, bool quiet);
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  void show(const LiveFrame& frame);
  // Prints a line that stays.
  void say(const std::string& line);

 private:
  void erase();

  std::FILE* out_;
  bool quiet_;
  bool terminal_;
  std::size_t drawn_ = 0;           // lines that the next frame replaces
  std::vector<std::string> lines_;  // the drawn lines
  double next_plain_s_;             // time in the run of the next plain line
  double plain_every_s_;            // interval to the one after it
};

}  // namespace weir::farm_view
