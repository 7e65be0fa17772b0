#pragma once

#include <weir/metrics/histogram.hpp>
#include <weir/page/state.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weir::page::test {

// A simulated farm that changes from second to second like a real one, for the page's tests.
class MadeUpFarm {
 public:
  MadeUpFarm(unsigned readouts, unsigned dcms, unsigned writers, std::uint64_t seed = 1);

  // Advances by one second.
  void step();
  // Responds like run control: commands that are not possible are refused.
  CommandAnswer command(const RequestedCommand& command);
  [[nodiscard]] const Farm& farm() const { return farm_; }
  // Sets the state of these members; all others are well, and no more events occur by themselves.
  void strike(const std::string& role, const std::string& state, const std::string& reason);
  void lose_lately(const std::vector<control::LostLately>& lost) { lost_ = lost; }
  void end_badly();
  void set_alarms(std::vector<control::Alarm> alarms) { farm_.alarms = std::move(alarms); }
  // Returns the log lines of the last step.
  [[nodiscard]] const std::vector<LogLine>& logged() const { return logged_; }

  static constexpr UtcNs kBeginUtcNs = 1'700'000'000 * kSecond;

  // Histograms of a filter, as run control hands them to the page; `seconds` of data.
  [[nodiscard]] static std::string histograms(std::uint32_t run, unsigned seconds);
  // Returns a document of sources: 17 lacks fragments, 18 has sent none.
  [[nodiscard]] static std::string sources(unsigned seconds);
  [[nodiscard]] unsigned seconds() const { return static_cast<unsigned>(seconds_); }

 private:
  struct Counts {
    double slices = 0;
    double bytes = 0;
    double lost = 0;
    metrics::ValueHistogram built_us;
  };
  void add_member(const std::string& name, const std::string& role, const std::string& host);
  void begin_run();
  void end_run(const std::string& reason);
  void count(std::size_t index);
  void make_report(std::size_t index);
  void set_commands();
  void mishaps();
  void judge();
  void say(LogLevel level, const std::string& process, const std::string& text);
  double around(double mean);

  std::mt19937_64 random_;
  Farm farm_;
  std::vector<Counts> counts_;  // by member
  std::vector<LogLine> logged_;
  std::vector<control::LostLately> lost_;
  bool struck_ = false;
  unsigned dcms_;
  std::uint64_t seconds_ = 0;
};

}  // namespace weir::page::test
