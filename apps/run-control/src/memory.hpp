#pragma once

#include "farm_setup.hpp"
#include <weir/base/expected.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weir::run_control {

// Writes the state, replacing the file as a whole. Errors are messages.
[[nodiscard]] std::string write_memory(const std::string& path, const v1::ControlMemory& memory);
// Returns an empty state if the file does not exist.
[[nodiscard]] Expected<v1::ControlMemory, std::string> read_memory(const std::string& path);

// The state that outlives this process, for its successor.
class Memory {
 public:
  enum class Extent : std::uint8_t {
    state,  // the state passed to keep()
    farm,   // also the configured farm, in a file beside it
  };
  // Without a path nothing is kept. Errors: std::runtime_error if an existing file cannot be read.
  explicit Memory(std::string path, Extent extent = Extent::state);

  // State of the previous process; null: none.
  [[nodiscard]] const v1::ControlMemory* before() const { return before_ ? &*before_ : nullptr; }
  // Writes the state if it has changed. Returns an error message, once per failure.
  [[nodiscard]] std::string keep(const v1::ControlMemory& memory);
  // Writes the configured farm if its digest has changed; call before keep().
  [[nodiscard]] std::string keep_farm(const FarmSetup& setup);
  // Why the state or the farm is not on the disk; empty: both are.
  [[nodiscard]] const std::string& failure() const { return failure_.empty() ? farm_failure_ : failure_; }
  // Farm of the previous process, YAML; empty: none was kept.
  [[nodiscard]] std::string farm() const;

 private:
  [[nodiscard]] std::string farm_path() const;

  std::string path_;
  Extent extent_;
  std::string kept_farm_;  // its digest
  std::optional<v1::ControlMemory> before_;
  std::string kept_;  // as bytes
  std::string failure_;
  std::string farm_failure_;
};

}  // namespace weir::run_control
