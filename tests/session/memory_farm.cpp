#include "memory_farm.hpp"

#include <weir/config/plan.hpp>
#include <weir/dcm/node.hpp>
#include <weir/readout/node.hpp>
#include <weir/supervisor/node.hpp>
#include <weir/writer/node.hpp>

#include <stdexcept>

namespace weir::session_test {
namespace {

constexpr std::uint16_t kSupervisorPort = 19'000;
constexpr std::uint16_t kTriggerPort = 19'001;

ports::StreamCounters no_totals() { return {}; }

}  // namespace

MemoryFarm::MemoryFarm(const std::string& settings, std::uint64_t slices) {
  const bool has_run = settings.find("run: {") != std::string::npos;
  auto file = config::read_farm(
      std::string("farm: session\n") + (has_run ? std::string() : "run: {out: out}\n") + settings, "test");
  if (!file) throw std::runtime_error(config::to_text(file.error()));
  auto plan = config::expand(file->farm, file->locations);
  if (!plan) throw std::runtime_error(config::to_text(plan.error()));
  file_ = file->farm;
  if (slices > 0) file_.mutable_run()->set_slices(slices);
  // The filter runs inside the DCM's own pass.
  file_.mutable_dcm()->set_processing_units(0);
  file_.mutable_trigger()->set_listen("memory:" + std::to_string(kTriggerPort));
  trigger_port_ = kTriggerPort;
  plan_ = *plan;
}

void MemoryFarm::start(const std::string& name) {
  nodes_.erase(name);
  auto hosted = std::make_unique<Hosted>();
  hosted->setup = node::make_setup(file_, plan_, name, {"memory", kSupervisorPort});
  hosted->setup.listen = {"memory", next_port_++};
  ports_[name] = name == "supervisor" ? kSupervisorPort : hosted->setup.listen.port;
  make(*hosted);
  nodes_[name] = std::move(hosted);
}

void MemoryFarm::make(Hosted& hosted) {
  switch (hosted.setup.identity.role) {
    case Role::supervisor:
      hosted.node = supervisor::make_node(hosted.setup,
                                          {network_, clock_, [](const auto&...) {}, no_totals, &journal_});
      break;
    case Role::readout:
      hosted.node = readout::make_node(hosted.setup, {network_, clock_, no_totals});
      break;
    case Role::dcm:
      hosted.node = dcm::make_node(hosted.setup, {network_, clock_, [] {}, no_totals, {WEIR_PLUGIN_DIR}});
      break;
    default:
      hosted.node = writer::make_node(
          hosted.setup, {network_,
                         clock_,
                         hosted.disk,
                         [&disk = hosted.disk](ports::DiskHandler& handler) { disk.run(handler); },
                         no_totals,
                         [](const std::string&, std::uint32_t) {},
                         {}});
      break;
  }
}

void MemoryFarm::turn(int times) {
  for (int i = 0; i < times; ++i) {
    clock_.now += kMillisecond;
    for (const auto& [name, hosted] : nodes_) {
      if (!hosted->node->finished() && !halted_.contains(name)) hosted->node->pass(clock_.now);
    }
    network_.run();
  }
}

std::uint64_t MemoryFarm::bytes_stored() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, hosted] : nodes_) bytes += hosted->disk.bytes_used();
  return bytes;
}

}  // namespace weir::session_test
