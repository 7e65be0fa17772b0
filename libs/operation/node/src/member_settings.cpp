#include <weir/config/durations.hpp>
#include <weir/node/member_settings.hpp>

namespace weir::node {

MemberSettings member_settings(const Setup& setup) {
  return {.identity = setup.identity,
          .limits = setup.limits,
          .listen = setup.listen,
          .planes = setup.planes,
          .supervisor = setup.supervisor,
          .reconnect_ns = config::from_ms(setup.farm.network().reconnect_ms()),
          .status_interval_ns = config::from_ms(setup.farm.supervisor().status_interval_ms()),
          .ran = setup.ran,
          .reports = setup.reports};
}

}  // namespace weir::node
