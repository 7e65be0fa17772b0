#include "plain_farm.hpp"

#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/node/paths.hpp>

#include <fstream>
#include <utility>

namespace weir::bench {

Expected<run::FarmRunResult, std::string> run_plain_farm(const std::string& text, const std::string& folder) {
  const std::string path = folder + "/farm.yaml";
  std::ofstream(path) << text;
  const auto loaded = config::load_farm(path);
  if (!loaded) return Unexpected<std::string>(config::to_text(loaded.error()));
  const auto plan = config::expand(loaded->farm, loaded->locations);
  if (!plan) return Unexpected<std::string>(config::to_text(plan.error()));
  const config::PlannedFarm planned{loaded->farm, *plan};
  run::FarmRun farm(planned, {node::program_folder(), path, folder, "warning"},
                    {[](const farm_view::LiveFrame&) {}, [](const std::string&) {}});
  run::FarmRunResult result = farm.run();
  if (!result.failure.empty()) return Unexpected<std::string>(result.failure);
  if (!result.account) return Unexpected<std::string>("the supervisor gave no account");
  if (!result.account->balanced()) return Unexpected<std::string>("the ledger does not balance");
  if (result.account->reason().starts_with("SIG")) return Unexpected<std::string>(result.account->reason());
  return result;
}

}  // namespace weir::bench
