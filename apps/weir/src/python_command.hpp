#pragma once

#include <string>
#include <vector>

namespace weir::commands {

// Replaces this process by `python3 -m weir_daq VERB ARGUMENTS...`. Interpreters are tried in this order:
// WEIR_PYTHON, python3 on PATH, /usr/bin/python3; the first one with the packages for `needs` (a format, or
// "npz" for the package alone) is used. Python modules come from this installation or build, unless the
// interpreter's own come first in PYTHONPATH. Returns only on failure: 1, with a message on stderr that names
// the package to install.
[[nodiscard]] int run_python(const std::string& verb, const std::string& needs,
                             const std::vector<std::string>& arguments);

}  // namespace weir::commands
