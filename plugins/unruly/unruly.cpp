// Accepts every slice, and does something bad over every n-th: `what` is
//   crash     writes where no memory is      abort     std::abort()
//   exit      std::exit(0)                   hang      sleeps forever
//   spin      computes forever              memory    allocates until nothing is left
//   overflow  more output than allowed       wild      writes into the slice's bytes
//   fork      leaves a child behind          twice     forks, and both come back from process()
//   scribble  writes over its lane           throw     throws
//   leak      loses 1 MiB, over every slice  none
// Parameters: what, every (1000), offset (0: slices n, 2n, ...).
#include <weir/filter.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

class Unruly : public weir::Filter {
 public:
  explicit Unruly(weir::FilterSetup& setup)
      : Filter(setup),
        what_(setup.parameter("what", std::string("none"))),
        every_(setup.parameter("every", std::uint64_t{1000}, std::uint64_t{1}, std::uint64_t{1} << 40U)),
        offset_(setup.parameter("offset", std::uint64_t{0})),
        processed_(counter("processed")),
        misdeeds_(counter("misdeeds")),
        ids_(book_histogram("ids", 100, 0, 100)) {}

  weir::Decision process(const weir::Slice& slice) override {
    processed_.add();
    ids_.fill(static_cast<double>(slice.id() % 100));
    if (what_ == "leak") leak();
    if (slice.id() % every_ == offset_ % every_ && slice.id() > 0) misbehave(slice);
    return accept();
  }

 private:
  void misbehave(const weir::Slice& slice) {
    misdeeds_.add();
    if (what_ == "crash") *nowhere_ = 1;
    if (what_ == "abort") std::abort();
    if (what_ == "exit") std::exit(0);
    if (what_ == "hang") {
      while (true) ::pause();
    }
    if (what_ == "spin") {
      while (true) spun_ = spun_ + 1;
    }
    if (what_ == "memory") {
      while (true) leak();
    }
    if (what_ == "overflow") {
      const std::vector<std::byte> much(std::size_t{1} << 20U);
      for (int i = 0; i < 100; ++i) add_event(1, much);
    }
    if (what_ == "wild") {
      for (const weir::Fragment fragment : slice) {
        if (!fragment.bytes().empty())
          std::memset(const_cast<std::byte*>(fragment.bytes().data()), 0xee, fragment.bytes().size());
      }
    }
    if (what_ == "fork" && ::fork() == 0) {
      while (true) ::pause();
    }
    if (what_ == "twice") (void)::fork();
    if (what_ == "scribble") scribble();
    if (what_ == "throw") throw std::runtime_error("slice " + std::to_string(slice.id()));
  }
  void leak() {
    leaked_.push_back(new char[std::size_t{1} << 20U]);
    std::memset(leaked_.back(), 1, std::size_t{1} << 20U);
  }
  static void scribble() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("weir-lane") == std::string::npos) continue;
      auto* from = reinterpret_cast<unsigned char*>(std::stoull(line, nullptr, 16));
      std::memset(from, 0xff, 4096);
    }
  }

  std::string what_;
  std::uint64_t every_;
  std::uint64_t offset_;
  weir::Counter processed_;
  weir::Counter misdeeds_;
  weir::Histogram1D ids_;
  volatile int* nowhere_ = reinterpret_cast<volatile int*>(8);
  volatile std::uint64_t spun_ = 0;
  std::vector<char*> leaked_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Unruly, "unruly", "1.0", "crashes, hangs, leaks and scribbles")
