#include <weir/base/assert.hpp>
#include <weir/base/scratch_folder.hpp>
#include <weir/base/time.hpp>
#include <weir/clock/clock.hpp>
#include <weir/node/paths.hpp>
#include <weir/run/static_window.hpp>
#include <weir/transport/loop.hpp>

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace weir::run {
namespace {

constexpr DurationNs kPatience = 10 * kSecond;  // loading takes some ms
constexpr DurationNs kLook = 2 * kMillisecond;

}  // namespace

Expected<StaticWindow, std::string> StaticWindow::start(std::uint32_t segments, const std::string& program) {
  WEIR_ASSERT(segments > 0);
  const ScratchFolder folder;
  launch::ChildSettings settings;
  settings.program = program.empty() ? node::program_folder() + "/weir-static-window" : program;
  settings.arguments = {std::to_string(segments)};
  settings.log_file = (folder.path() / "static-window.log").string();
  settings.read_output = true;
  auto process = launch::Child::start(settings);
  if (!process) return Unexpected<std::string>(process.error());
  StaticWindow window;
  transport::Loop loop{transport::SocketPolicy{}};
  window.process_ = std::move(*process);
  const TimeNs until_ns = awake_now_ns() + kPatience;
  while (!window.name_.ends_with('\n')) {
    window.name_ += window.process_.take_output();
    const bool ended = window.process_.poll().has_value();
    if (ended || awake_now_ns() > until_ns) {
      std::ifstream log(settings.log_file);
      const std::string why(std::istreambuf_iterator<char>(log), {});
      return Unexpected<std::string>(
          fmt::format("no static window: {}",
                      why.empty() ? "weir-static-window does not answer" : why.substr(0, why.find('\n'))));
    }
    loop.run_once([](TimeNs) {}, kLook);
  }
  window.name_.pop_back();
  WEIR_ASSERT(!window.name_.empty());
  return window;
}

}  // namespace weir::run
