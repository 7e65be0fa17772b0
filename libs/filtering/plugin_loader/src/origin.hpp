#pragma once

#include <string>

namespace weir::plugin_loader {

// Loads the libraries that the one in `file` needs and finds by $ORIGIN in its RUNPATH or RPATH, with
// `origin` for it: the dynamic linker would take the folder of the copy. It finds them loaded then, by their
// names. They stay loaded. Requires: `file` is a shared library for this processor.
void load_needed_from(const std::string& origin, const std::string& file);

}  // namespace weir::plugin_loader
