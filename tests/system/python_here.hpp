#pragma once

#include "skip.hpp"

#include <cstdlib>

namespace weir::system_test {

// False, and the test program counts as skipped: filters in Python cannot run here.
[[nodiscard]] inline bool has_python() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip_test("an interpreter without a sanitizer cannot load a library with one");
  return false;
#else
  static const bool found =
      std::system(
          "python3 -c 'import numpy' 2> /dev/null || /usr/bin/python3 -c 'import numpy' 2> /dev/null") == 0;
  if (!found) skip_test("no python3 with NumPy here");
  return found;
#endif
}

}  // namespace weir::system_test
