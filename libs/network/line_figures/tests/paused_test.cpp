#include "weir_catch.hpp"
#include <weir/line_figures/paused.hpp>

#include <array>

namespace weir::line_figures {
namespace {

// A port that is paused while a sender floods it, and then sends its buffer's frames.
struct ModelledPause {
  PauseTimes pause{0, 100 * kMillisecond};
  std::uint32_t sent = 1000;
  std::uint32_t buffer_frames = 74;
  std::uint32_t passes = 0;  // frames, before the pause works
  DurationNs spacing_ns = 20 * kMicrosecond;
  DurationNs clock_ahead_ns = 5 * kSecond;  // of the sender
  DurationNs transit_ns = 30 * kMicrosecond;

  [[nodiscard]] FloodPart run() const {
    FloodPart part;
    part.sent = sent;
    part.least_transit_ns = transit_ns - clock_ahead_ns;
    part.first_sent_ns = clock_ahead_ns;
    part.last_sent_ns = clock_ahead_ns + (sent - 1) * spacing_ns;
    for (std::uint32_t i = 0; i < std::min(sent, passes + buffer_frames); ++i) {
      const UtcNs sent_ns = i * spacing_ns;
      const UtcNs arrived_ns =
          i < passes ? sent_ns + transit_ns : pause.until_ns + (i - passes) * 120 * kMicrosecond;
      part.arrivals.push_back({i, sent_ns + clock_ahead_ns, arrived_ns, false});
    }
    return part;
  }
  [[nodiscard]] PausedFigures figures() const {
    return paused_figures(std::array{run()}, pause, frame_sizes(1460, 20));
  }
};

TEST_CASE("frames that survive a pause of the port are its buffer, whatever the sender's clock says") {
  const PausedFigures figures = ModelledPause().figures();
  CHECK(figures.outcome == PauseOutcome::measured);
  CHECK(figures.sent == 1000);
  CHECK(figures.held == 74);
  CHECK(figures.passed == 0);
  CHECK(figures.lost == 926);
  CHECK(figures.buffer_bytes == 74 * 1502);
}

TEST_CASE("two senders fill one buffer together") {
  ModelledPause half;
  half.buffer_frames = 37;
  const std::array parts{half.run(), half.run()};
  const PausedFigures figures = paused_figures(parts, half.pause, frame_sizes(1460, 20));
  CHECK(figures.outcome == PauseOutcome::measured);
  CHECK(figures.held == 74);
}

TEST_CASE("a frame that was under way when the pause began does not count, and many show a gap") {
  ModelledPause pause;
  pause.passes = 1;
  CHECK(pause.figures().outcome == PauseOutcome::measured);
  CHECK(pause.figures().held == 74);
  pause.passes = 20;
  CHECK(pause.figures().outcome == PauseOutcome::interrupted);
}

TEST_CASE("a port that does not obey, is not filled, or resumes too early has no buffer") {
  ModelledPause deaf;
  deaf.passes = 800;
  CHECK(deaf.figures().outcome == PauseOutcome::not_obeyed);
  ModelledPause deep;
  deep.buffer_frames = 1000;
  CHECK(deep.figures().outcome == PauseOutcome::not_filled);
  ModelledPause early;
  early.pause.until_ns = 15 * kMillisecond;  // 1000 frames take 20 ms
  CHECK(early.figures().outcome == PauseOutcome::outlasted);
  CHECK_FALSE(largest_buffer(std::array{deaf.figures(), deep.figures(), early.figures()}));
}

TEST_CASE("drops of the sender's and of the receiver's own queues are not the port's") {
  ModelledPause pause;
  FloodPart part = pause.run();
  part.arrivals.resize(70);
  part.dropped_here = 4;
  part.dropped_by_sender = 100;
  const PausedFigures figures = paused_figures(std::array{part}, pause.pause, frame_sizes(1460, 20));
  CHECK(figures.held == 74);
  CHECK(figures.sent == 900);
  CHECK(figures.lost == 826);
}

TEST_CASE("the largest of several tries is taken, because each is a lower bound") {
  ModelledPause first;
  ModelledPause second;
  second.buffer_frames = 73;
  const auto largest = largest_buffer(std::array{second.figures(), first.figures(), second.figures()});
  REQUIRE(largest);
  CHECK(*largest == 74 * 1502);
}

}  // namespace
}  // namespace weir::line_figures
