#include "search.hpp"

#include "cpu_limit.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::session_test {
namespace {

constexpr std::uint32_t kJobsMax = 64;
constexpr int kSecondsMax = 120;  // CPU seconds per conversation; more means an endless loop

using Clock = std::chrono::steady_clock;
using Count = unsigned long long;

// Memory through which the processes that run conversations report to the parent. Turns go seed by seed, and
// role by role.
struct Shared {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> failures{0};
  struct Sum {
    std::atomic<std::uint64_t> conversations{0};
    std::atomic<std::uint64_t> sequences{0};
    std::atomic<std::uint64_t> failed{0};
  };
  Sum sums[kParts];
  std::atomic<std::uint64_t> at[kJobsMax];  // the turn that each works on
};

Shared& make_shared_memory() {
  void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("mmap");
  return *new (at) Shared;
}

class Search {
 public:
  explicit Search(const SearchOptions& options) : options_(options), shared_(make_shared_memory()) {}
  int run();

 private:
  [[nodiscard]] Part role_of(std::uint64_t turn) const {
    return options_.roles[turn % options_.roles.size()];
  }
  [[nodiscard]] std::uint64_t seed_of(std::uint64_t turn) const {
    return options_.first + turn / options_.roles.size();
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begun_).count();
  }
  void failed(std::uint64_t turn, const std::string& how);
  void work(std::uint32_t job);
  pid_t start_worker(std::uint32_t job);
  void print_sums() const;

  const SearchOptions& options_;
  Shared& shared_;
  Clock::time_point begun_ = Clock::now();
};

void Search::failed(std::uint64_t turn, const std::string& how) {
  ++shared_.failures;
  ++shared_.sums[static_cast<std::size_t>(role_of(turn))].failed;
  std::printf("FAILED --role %s --seed %llu: %s\n", std::string(name(role_of(turn))).c_str(),
              Count{seed_of(turn)}, how.c_str());
  std::fflush(stdout);
}

void Search::work(std::uint32_t job) {
  while (shared_.failures < options_.failures_max) {
    if (options_.seconds_max > 0 && seconds() > options_.seconds_max) return;
    const std::uint64_t turn = shared_.next++;
    if (seed_of(turn) > options_.last) return;
    shared_.at[job] = turn;
    test::limit_cpu(kSecondsMax);
    const Outcome outcome = converse(role_of(turn), seed_of(turn));
    Shared::Sum& sum = shared_.sums[static_cast<std::size_t>(role_of(turn))];
    ++sum.conversations;
    sum.sequences += outcome.sequences;
    if (!outcome.problem.empty()) failed(turn, outcome.problem);
  }
}

pid_t Search::start_worker(std::uint32_t job) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child > 0) return child;
  work(job);
  std::fflush(stdout);
  ::_exit(0);
}

void Search::print_sums() const {
  for (const Part role : options_.roles) {
    const Shared::Sum& sum = shared_.sums[static_cast<std::size_t>(role)];
    std::printf("%s: %llu conversations from seed %llu, %llu sequences, %llu failed\n",
                std::string(name(role)).c_str(), Count{sum.conversations}, Count{options_.first},
                Count{sum.sequences}, Count{sum.failed});
  }
  const std::uint64_t next = seed_of(shared_.next);
  std::printf("%.1f s; the next seed is %llu\n", seconds(), Count{std::min(next, options_.last + 1)});
}

int Search::run() {
  std::map<pid_t, std::uint32_t> workers;
  for (std::uint32_t job = 0; job < options_.jobs; ++job) workers.emplace(start_worker(job), job);
  while (!workers.empty()) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, 0);
    const auto found = workers.find(child);
    if (found == workers.end()) continue;
    const std::uint32_t job = found->second;
    workers.erase(found);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const std::uint64_t turn = shared_.at[job];
    ++shared_.sums[static_cast<std::size_t>(role_of(turn))].conversations;
    failed(turn, WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "its process ended with an error");
    if (shared_.failures < options_.failures_max) workers.emplace(start_worker(job), job);
  }
  print_sums();
  return shared_.failures > 0 ? 1 : 0;
}

}  // namespace

int search(const SearchOptions& options) { return Search(options).run(); }

}  // namespace weir::session_test
