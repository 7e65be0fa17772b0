#pragma once

#include <weir/base/time.hpp>
#include <weir/source/fragment_buffer.hpp>

#include <string>
#include <vector>

namespace weir::readout {

// Finds sources that have stopped: no fragment, though slices were announced and their wait is over. Late
// fragments count as a sign of their source. Pure; one thread.
class SilentSources {
 public:
  static constexpr std::uint64_t kSlicesMin = 3;         // in a row without the source's fragment,
  static constexpr DurationNs kSilentMin = 1 * kSecond;  // the first of them announced so long ago
  static constexpr std::size_t kNamed = 4;

  // Returns log lines: sources that have stopped since the last call, and those that deliver again.
  [[nodiscard]] std::vector<std::string> update(const source::FragmentBuffer& buffer, TimeNs now_ns);
  // Returns "source 3, source 4", without growing numbers; empty: none is silent.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::vector<bool> silent_;  // by place of the source
  std::string text_;
};

}  // namespace weir::readout
