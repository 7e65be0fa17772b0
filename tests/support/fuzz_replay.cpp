// Replaces libFuzzer in builds without it: feeds LLVMFuzzerTestOneInput with every file of the corpus and
// with mutations of each, the same ones on every machine. A crash, a sanitizer's report or an exception is
// the failure; its input is left in the working directory as fuzz_crash_input.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Present when a sanitizer is linked in, which ends the process without a signal.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kMutationsPerInput = 4000;
constexpr int kEditsMax = 6;
constexpr std::size_t kInputBytesMax = 1 << 16;

// Never destroyed: a sanitizer may end the process after the static objects are gone.
Bytes& current_input = *new Bytes;

// Called when the process is about to die: restricted to async-signal-safe calls.
void keep_input() {
  const int file = open("fuzz_crash_input", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file >= 0 && write(file, current_input.data(), current_input.size()) >= 0) {
    static constexpr char kMessage[] = "\nthis input is in fuzz_crash_input\n";
    if (write(STDERR_FILENO, kMessage, sizeof kMessage - 1) < 0) _exit(1);
  }
}

void on_signal(int signal) {
  keep_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void keep_input_on_death() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_input);
    return;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, on_signal);
}

// splitmix64 (Steele, Lea, Flood 2014): a standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }

 private:
  std::uint64_t state_;
};

// Values at which lengths and counters go wrong, written over 1 to 8 bytes.
void write_interesting(Bytes& bytes, Random& random) {
  static constexpr std::uint64_t kValues[] = {0,
                                              1,
                                              0x7f,
                                              0x80,
                                              0xff,
                                              0x7fff,
                                              0xffff,
                                              0x10000,
                                              0x7fffffff,
                                              0x80000000,
                                              0xffffffff,
                                              0x7fffffffffffffff,
                                              ~std::uint64_t{0}};
  const std::uint64_t value = kValues[random.below(std::size(kValues))];
  const std::size_t width = std::size_t{1} << random.below(4);
  const std::size_t start = random.below(bytes.size());
  for (std::size_t i = 0; i < width && start + i < bytes.size(); ++i) {
    bytes[start + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

void edit(Bytes& bytes, const Bytes& other, Random& random) {
  if (bytes.empty()) {
    bytes.push_back(static_cast<std::uint8_t>(random.next()));
    return;
  }
  const auto at = static_cast<std::ptrdiff_t>(random.below(bytes.size()));
  switch (random.below(6)) {
    case 0:  // flip a bit
      bytes[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << random.below(8));
      break;
    case 1:
      write_interesting(bytes, random);
      break;
    case 2:  // truncate
      bytes.resize(static_cast<std::size_t>(at));
      break;
    case 3: {  // insert a few bytes
      Bytes extra(1 + random.below(16));
      for (auto& byte : extra) byte = static_cast<std::uint8_t>(random.next());
      bytes.insert(bytes.begin() + at, extra.begin(), extra.end());
      break;
    }
    case 4: {  // erase a few bytes
      const auto count = std::min<std::ptrdiff_t>(1 + static_cast<std::ptrdiff_t>(random.below(16)),
                                                  static_cast<std::ptrdiff_t>(bytes.size()) - at);
      bytes.erase(bytes.begin() + at, bytes.begin() + at + count);
      break;
    }
    default:  // splice: the rest comes from another input
      bytes.resize(static_cast<std::size_t>(at));
      if (!other.empty()) {
        bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(random.below(other.size())),
                     other.end());
      }
  }
}

void run(const Bytes& input) {
  current_input = input;
  current_input.resize(std::min(current_input.size(), kInputBytesMax));
  // A copy of exactly the input's size, so that a read past its end is a heap error a sanitizer sees.
  const Bytes exact(current_input.begin(), current_input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::vector<Bytes> read_corpus(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  keep_input_on_death();
  std::vector<Bytes> corpus = {Bytes{}};
  for (int i = 1; i < argc; ++i) {
    const auto files = read_corpus(argv[i]);
    if (files.empty()) {
      std::fprintf(stderr, "%s: the corpus is empty\n", argv[i]);
      return EXIT_FAILURE;
    }
    corpus.insert(corpus.end(), files.begin(), files.end());
  }

  Random random(1);
  std::size_t runs = 0;
  for (const auto& input : corpus) {
    run(input);
    ++runs;
    for (int i = 0; i < kMutationsPerInput; ++i, ++runs) {
      Bytes mutant = input;
      const std::size_t edits = 1 + random.below(kEditsMax);
      for (std::size_t e = 0; e < edits; ++e) edit(mutant, corpus[random.below(corpus.size())], random);
      run(mutant);
    }
  }
  std::printf("%zu inputs from %zu files, none failed\n", runs, corpus.size() - 1);
  return EXIT_SUCCESS;
}
