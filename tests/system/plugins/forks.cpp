// A source that starts a helper process, as drivers do: once in a run, and it holds all that its parent has
// open.
#include <weir/source.hpp>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace {

// Parameters: `pid_file` receives the helper's process number; `leaves`: "true" for a helper in its own
// session.
class Forks : public weir::SyncSource {
 public:
  explicit Forks(weir::SourceSetup& setup)
      : SyncSource(setup),
        pid_file_(setup.parameter("pid_file", "")),
        leaves_(setup.parameter("leaves", "false") == "true") {}

  weir::SourceBytes make(std::uint32_t source, const weir_source_trigger& trigger) override {
    constexpr std::size_t kBytes = 100;
    if (trigger.slice == kAtSlice && !begun_.exchange(true)) begin_helper();
    return weir::SourceBytes(std::vector<std::byte>(kBytes, static_cast<std::byte>(source + trigger.slice)));
  }

 private:
  static constexpr std::uint64_t kAtSlice = 50;
  static constexpr unsigned kHelperSeconds = 300;

  void begin_helper() const {
    if (::fork() != 0) return;
    ::prctl(PR_SET_PDEATHSIG, 0);
    if (leaves_) ::setsid();
    std::ofstream(pid_file_) << ::getpid() << std::endl;
    ::sleep(kHelperSeconds);
    ::_exit(0);
  }

  std::string pid_file_;
  bool leaves_;
  std::atomic<bool> begun_ = false;
};

}  // namespace

WEIR_SOURCE_PLUGIN(Forks, "forks", "1.0", "starts a helper process at slice 50")
