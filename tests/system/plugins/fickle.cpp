// A source that fails as it is told to. Parameters:
//   what  nothing (default), or: make (no fragment can be made), absent (no data exist), end (the run cannot
//   be
//         ended)
//   refuses_while  a path: no run can begin while such a file is there (default: none)
#include <weir/source.hpp>

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

class Fickle : public weir::SyncSource {
 public:
  explicit Fickle(weir::SourceSetup& setup)
      : SyncSource(setup),
        what_(setup.parameter("what", std::string())),
        refuses_while_(setup.parameter("refuses_while", std::string())) {}

  void begin_run(const weir_source_run& /*run*/) override {
    if (!refuses_while_.empty() && std::filesystem::exists(refuses_while_))
      throw std::runtime_error(refuses_while_ + " is there");
  }
  void end_run() override {
    if (what_ == "end") throw std::runtime_error("the crate does not answer");
  }
  weir::SourceBytes make(std::uint32_t /*source*/, const weir_source_trigger& /*trigger*/) override {
    if (what_ == "make") throw std::runtime_error("the crate is off");
    if (what_ == "absent") return weir::SourceBytes::not_produced();
    return weir::SourceBytes(std::vector<std::byte>(kBytes));
  }

 private:
  static constexpr std::size_t kBytes = 100;
  std::string what_;
  std::string refuses_while_;
};

}  // namespace

WEIR_SOURCE_PLUGIN(Fickle, "fickle", "1.0", "fails as it is told to")
