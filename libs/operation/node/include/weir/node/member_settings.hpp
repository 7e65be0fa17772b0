#pragma once

#include <weir/node/setup.hpp>

namespace weir::node {

// The settings with which readouts, DCMs and writers take part in a run.
struct MemberSettings {
  sessions::PeerInfo identity;  // with the address in the farm file; port 0: any
  sessions::PeerLimits limits;
  ports::Endpoint listen;
  std::vector<ports::Endpoint> planes;  // readout: likewise in the planes after the first
  ports::Endpoint supervisor;
  DurationNs reconnect_ns;
  DurationNs status_interval_ns;
  v1::RunIdentity ran;
  ReportSink* reports;  // may be null
};
[[nodiscard]] MemberSettings member_settings(const Setup& setup);

}  // namespace weir::node
