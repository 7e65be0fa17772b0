// Accepts every slice. While a file exists at the path `while`, a step takes `seconds` (default 5) and keeps
// reading the slice's bytes; it appends a line to the file when it begins. `made_s`: seconds that its
// constructor takes; `made_while`, `begins_while`: its constructor, or its begin of a run, waits while a file
// exists at this path; `made_signal`: a signal that ends the process in the constructor.
#include <weir/filter.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

// Appends a line to the file when it begins to wait.
void wait_while_exists(const std::filesystem::path& path) {
  if (!path.empty() && std::filesystem::exists(path)) std::ofstream(path, std::ios::app) << "waits\n";
  while (!path.empty() && std::filesystem::exists(path))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

class Dwells : public weir::Filter {
 public:
  explicit Dwells(weir::FilterSetup& setup)
      : Filter(setup),
        while_(setup.parameter("while", std::string())),
        begins_while_(setup.parameter("begins_while", std::string())),
        patience_(setup.parameter("seconds", 5.0, 0.0, 1000.0)) {
    wait_while_exists(setup.parameter("made_while", std::string()));
    const double made_s = setup.parameter("made_s", 0.0, 0.0, 1000.0);
    std::this_thread::sleep_for(std::chrono::duration<double>(made_s));
    if (const auto signal = setup.parameter("made_signal", std::uint64_t{0}); signal > 0)
      std::raise(static_cast<int>(signal));
  }

  void begin_run(const weir_filter_run&) override { wait_while_exists(begins_while_); }

  weir::Decision process(const weir::Slice& slice) override {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience_);
    if (std::filesystem::exists(while_)) std::ofstream(while_, std::ios::app) << "a step begins\n";
    while (Clock::now() < until && std::filesystem::exists(while_)) {
      for (const weir::Fragment fragment : slice) {
        for (const std::byte byte : fragment.bytes()) sum_ = sum_ + std::to_integer<unsigned>(byte);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return accept();
  }

 private:
  std::filesystem::path while_;
  std::filesystem::path begins_while_;
  std::chrono::duration<double> patience_;
  volatile unsigned sum_ = 0;
};

}  // namespace

WEIR_FILTER_PLUGIN(Dwells, "dwells", "1.0", "takes its time while a file is there")
