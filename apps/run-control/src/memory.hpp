#pragma once

#include <weir/base/expected.hpp>
#include <weir/v1/bus.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weir::run_control {

// What run control writes down: text, replaced as a whole. The error is a sentence.
[[nodiscard]] std::string write_memory(const std::string& path, const v1::ControlMemory& memory);
// An empty one where there is no file yet.
[[nodiscard]] Expected<v1::ControlMemory, std::string> read_memory(const std::string& path);

// What outlives this process, for its successor.
class Memory {
 public:
  enum class Extent : std::uint8_t {
    state,  // what this class is given
    farm,   // and the farm that the processes are configured with, in a file beside it
  };
  // With no path nothing outlives it. Throws std::runtime_error: what is there cannot be read.
  explicit Memory(std::string path, Extent extent = Extent::state);

  // Of the process before; null: there was none.
  [[nodiscard]] const v1::ControlMemory* before() const { return before_ ? &*before_ : nullptr; }
  // Writes what is not on disk yet. The error is a sentence, said once.
  [[nodiscard]] std::string keep(const v1::ControlMemory& memory);
  // Writes the farm when its digest is another than before; call before keep().
  [[nodiscard]] std::string keep_farm(const std::string& digest, const v1::Farm& farm);
  // The farm of the process before, YAML; empty: none was kept.
  [[nodiscard]] std::string farm() const;

 private:
  [[nodiscard]] std::string farm_path() const;

  std::string path_;
  Extent extent_;
  std::string kept_farm_;  // its digest
  std::optional<v1::ControlMemory> before_;
  std::string kept_;  // as bytes
  std::string failure_;
};

}  // namespace weir::run_control
