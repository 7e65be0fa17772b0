// Accepts every slice. Over slice 100 (n + 1) it does `what` to the descriptor n of its process, for n up to
// 15; or `what` is
//   daemon   leaves a child with a session of its own, over slices 100, 200, ...; its number is a line of
//   `file` print    prints over every slice, and half a line at its end destroy  its destructor adds a line
//   to `file`    linger  the same, and then it does not return
#include <weir/filter.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr int kDescriptors = 16;
constexpr std::size_t kPage = 4096;

class Meddler : public weir::Filter {
 public:
  explicit Meddler(weir::FilterSetup& setup)
      : Filter(setup),
        what_(setup.parameter("what", std::string("none"))),
        file_(setup.parameter("file", std::string())) {}
  ~Meddler() override {
    if (what_ == "print") std::fputs("end", stdout);
    if (what_ == "destroy" || what_ == "linger") note("destroyed");
    while (what_ == "linger") ::pause();
  }

  weir::Decision process(const weir::Slice& slice) override {
    const auto number = static_cast<int>(slice.id() / 100) - 1;
    if (slice.id() % 100 == 0 && number >= 0 && number < kDescriptors) meddle(number);
    if (what_ == "print") std::puts("a line");
    return accept();
  }

 private:
  void note(const std::string& line) { std::ofstream(file_, std::ios::app) << line + "\n"; }
  void leave_daemon() {
    const pid_t daemon = ::fork();
    if (daemon == 0) {
      ::setsid();
      while (true) ::pause();
    }
    note(std::to_string(daemon));
  }
  void meddle(int descriptor) {
    if (what_ == "daemon") leave_daemon();
    if (what_ == "truncate") (void)!::ftruncate(descriptor, 0);
    if (what_ == "grow") (void)!::ftruncate(descriptor, std::int64_t{1} << 40U);
    if (what_ == "punch")
      (void)::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
    if (what_ == "seal") ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE);
    if (what_ == "close") ::close(descriptor);
    if (what_ == "replace") ::dup2(::open("/dev/zero", O_RDWR), descriptor);
    if (what_ == "shut") ::shutdown(descriptor, SHUT_RDWR);
    if (what_ == "block") ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    if (what_ == "unblock") ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    if (what_ == "seek") ::lseek(descriptor, std::int64_t{1} << 40U, SEEK_SET);
    if (what_ == "scribble") scribble(descriptor);
    if (what_ == "fill" && descriptor > STDERR_FILENO) fill(descriptor);
    if (what_ == "drain") drain(descriptor);
  }
  static void scribble(int descriptor) {
    void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page != MAP_FAILED) std::memset(page, 0xff, kPage);
  }
  // Writes until nothing more fits, also into the end of a pipe that it has for reading.
  static void fill(int descriptor) {
    std::string junk(kPage, '\xff');
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    const int again = ::open(path.c_str(), O_WRONLY | O_NONBLOCK);
    ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
    for (const int to : {again, descriptor}) {
      for (int i = 0; i < 100 && ::write(to, junk.data(), junk.size()) > 0; ++i) {
      }
    }
    ::fcntl(descriptor, F_SETFL, 0);
  }
  static void drain(int descriptor) {
    std::array<char, kPage> bytes;
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    const int again = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    for (int i = 0; i < 100 && ::read(again, bytes.data(), bytes.size()) > 0; ++i) {
    }
    for (int i = 0; i < 100 && ::recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0; ++i) {
    }
  }

  std::string what_;
  std::string file_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Meddler, "meddler", "1.0", "does one thing to each of its descriptors")
