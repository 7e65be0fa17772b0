#include "exit_status.hpp"
#include "message_socket.hpp"
#include "report.hpp"
#include <weir/probe/probe.hpp>

#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <stdexcept>

namespace weir::probe {

int probe(const ProbeOptions& options, std::FILE* out, std::FILE* err) {
  try {
    std::ofstream samples;
    if (!options.out.empty()) {
      samples.open(options.out);
      if (!samples) throw std::invalid_argument("--out " + options.out + ": cannot be written");
    }
    const Measurement measurement = measure(options);
    fmt::print(out, "{}", report_of(measurement, options));
    if (options.out.empty()) return 0;
    samples << samples_of(measurement);
    samples.flush();
    if (!samples) throw std::runtime_error("--out " + options.out + ": cannot be written");
    return 0;
  } catch (const PeerError& error) {
    fmt::print(err, "weir probe: {}\n", error.what());
    return kUnreachable;
  } catch (const std::invalid_argument& error) {
    fmt::print(err, "weir probe: {}\n", error.what());
    return kUsage;
  } catch (const std::runtime_error& error) {
    fmt::print(err, "weir probe: {}\n", error.what());
    return kFailed;
  }
}

}  // namespace weir::probe
