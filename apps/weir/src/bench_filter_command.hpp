#pragma once

namespace CLI {
class App;
}

namespace weir::commands {

// `weir bench filter` and `weir bench isolation`.
void add_filter_benches(CLI::App& bench, int& status);

}  // namespace weir::commands
