#pragma once

#include <weir/farm_view/live_view.hpp>

#include <cstdio>

namespace weir::farm_view {

// Where the live view goes: redrawn in place on a terminal, plain lines at growing intervals elsewhere.
class LiveScreen {
 public:
  // `quiet`: nothing is shown but what say() is given.
  LiveScreen(std::FILE* out, bool quiet);
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  void show(const LiveFrame& frame);
  // A line that stays.
  void say(const std::string& line);

 private:
  void erase();

  std::FILE* out_;
  bool quiet_;
  bool terminal_;
  std::size_t drawn_ = 0;           // lines that the next frame replaces
  std::vector<std::string> lines_;  // they
  double next_plain_s_;             // of the run, not on a terminal
  double plain_every_s_;            // from then to the one after it
};

}  // namespace weir::farm_view
