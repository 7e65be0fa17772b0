#include "sim_process.hpp"

#include "sim_scratch.hpp"
#include "sim_workers.hpp"
#include <weir/burst/alert.hpp>
#include <weir/dcm/node.hpp>
#include <weir/readout/node.hpp>
#include <weir/storage/earlier_life.hpp>
#include <weir/supervisor/node.hpp>
#include <weir/writer/node.hpp>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::sim {
namespace {

constexpr DurationNs kFlushMax = 2 * kSecond;  // as an executable gives its last words
constexpr DurationNs kRestart = 500 * kMillisecond;
const std::string kOut = "/sim";  // the farm's run.out: no real folder

// A filter has ended its process in this pass, and with it all that the pass said.
bool filter_killed = false;

class SimCarriers final : public ports::Carriers {
 public:
  explicit SimCarriers(std::vector<std::size_t>& lost) : lost_(lost) {}
  std::vector<std::size_t> lost() override { return std::exchange(lost_, {}); }

 private:
  std::vector<std::size_t>& lost_;
};

// Returns a name of `folder` that has the same length in every checkout: nodes tell each other the paths of
// their plugins, and the bytes of a message decide when it arrives.
std::string by_descriptor(const char* folder, int descriptor) {
  const int open = ::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (open < 0 || ::dup3(open, descriptor, O_CLOEXEC) < 0)
    throw std::system_error(errno, std::generic_category(), folder);
  ::close(open);
  return "/proc/self/fd/" + std::to_string(descriptor);
}

const std::vector<std::string>& plugin_path() {
  static const std::vector<std::string> folders{by_descriptor(WEIR_PLUGIN_DIR, 1000)};
  return folders;
}

}  // namespace

// The plugin `stumbles` looks for this name, and calls it instead of dying.
extern "C" __attribute__((visibility("default"))) void weir_sim_filter_dies() { filter_killed = true; }

SimProcess::SimProcess(simnet::World& world, const FarmFile& farm, const Scenario& scenario,
                       const std::string& name, const std::string& scratch)
    : world_(world),
      farm_(farm),
      scenario_(scenario),
      name_(name),
      scratch_(scratch),
      host_(world.add_host(name)),
      random_(scenario.seed ^ std::hash<std::string>()(name)) {
  for (const config::NodePlan& node : farm.plan.nodes) {
    if (node.name == name) role_ = node.role;
  }
}

SimProcess::~SimProcess() {
  if (host_.up()) host_.crash(simnet::Death::process);
  node_.reset();
  disk_.reset();
}

void SimProcess::boot() {
  if (running() || ended_) return;
  ++life_;
  lost_carriers_.clear();
  leaving_ = false;
  failure_.clear();
  setup_ = node::make_setup(farm_.farm, farm_.plan, name_, {"127.0.0.1", 7000});
  setup_.identity.incarnation = Incarnation(random_.next() | 1);
  host_.boot([this](TimeNs now_ns) { pass(now_ns); }, [this] { return node_->wake_at_ns(); });
  make_node();
}

void SimProcess::boot_again(std::function<bool()> may) {
  again_ = std::move(may);
  if (ended_well()) follow();
}

void SimProcess::follow() {
  if (!again_ || !again_()) return;
  ended_ = false;
  boot();
}

void SimProcess::make_node() {
  const auto totals = [this] { return host_.stream_totals(); };
  const auto wake = [this] { host_.wake(); };
  switch (role_) {
    case Role::supervisor:
      node_ = supervisor::make_node(setup_, {host_, host_, [](const auto&...) {}, totals, &journal_});
      break;
    case Role::readout:
      node_ = readout::make_node(setup_, {host_, host_, totals, nullptr, wake, plugin_path()});
      break;
    case Role::dcm:
      node_ =
          dcm::make_node(setup_, {host_, host_, wake, totals, plugin_path(),
                                  [this, wake](int slice_memory) { return make_workers(slice_memory, wake); },
                                  [this, wake] { return make_scratch(wake); },
                                  [this] { return std::make_unique<SimCarriers>(lost_carriers_); }});
      break;
    case Role::writer:
      make_writer();
      break;
    default:
      throw std::logic_error(name_ + " has no role");
  }
}

std::unique_ptr<filter_host::WorkerHost> SimProcess::make_workers(int slice_memory,
                                                                  const std::function<void()>& wake) {
  const auto take_death = [] { return std::exchange(filter_killed, false); };
  constexpr std::uint64_t kTag = 0x776f726b;
  simnet::Random random(scenario_.seed ^ std::hash<std::string>()(name_) ^ (kTag + life_));
  return std::make_unique<SimWorkers>(
      SimWorkers::Surroundings{world_, scenario_, plugin_path(), wake, take_death}, slice_memory, random);
}

std::unique_ptr<ports::ScratchDisk> SimProcess::make_scratch(const std::function<void()>& wake) {
  constexpr std::uint64_t kTag = 0x72696e67;
  const simnet::Random random(scenario_.seed ^ std::hash<std::string>()(name_) ^ (kTag + life_));
  return std::make_unique<SimScratch>(scenario_, world_.timeline(), random, setup_.farm.burst().disk_bytes(),
                                      wake);
}

// Reads the machine's remaining data from real files, as the executable does.
void SimProcess::make_writer() {
  storage::EarlierLife earlier;
  std::map<std::uint32_t, storage::EarlierLife> earlier_bursts;
  if (!image_.files().empty()) {
    write_files(scratch_);
    earlier = read_files({});
    for (std::uint32_t alert = 1; alert <= burst::kAlertsMax; ++alert) {
      const std::string folder = writer::burst_folder_name(setup_.run, alert);
      if (!std::filesystem::is_directory(scratch_ + "/" + folder)) continue;
      storage::EarlierLife life = read_files(folder);
      if (!life.files.empty()) earlier_bursts.emplace(alert, std::move(life));
    }
    image_.settle();
  }
  disk_ = std::make_unique<simnet::SimDisk>(image_, world_.timeline(), random_.fork(life_), scenario_.disk,
                                            [this] { host_.wake(); });
  node_ = writer::make_node(setup_, {host_,
                                     host_,
                                     *disk_,
                                     [this](ports::DiskHandler& handler) { disk_->deliver(handler); },
                                     [this] { return host_.stream_totals(); },
                                     [](const std::string&, std::uint32_t) {},
                                     std::move(earlier),
                                     {},
                                     {},
                                     std::move(earlier_bursts)});
}

storage::EarlierLife SimProcess::read_files(const std::string& folder) const {
  auto read = storage::read_earlier_life(scratch_ + "/" + folder, setup_.run, name_);
  if (!read) throw std::runtime_error("run.out: " + read.error().detail);
  const std::string at = folder.empty() ? kOut : kOut + "/" + folder;
  for (storage::EarlierLife::File& file : read->files)
    file.path = at + "/" + std::filesystem::path(file.path).filename().string();
  return std::move(*read);
}

void SimProcess::write_files(const std::string& folder) const {
  for (const auto& [path, file] : image_.files()) {
    const std::string name = std::filesystem::path(path).lexically_relative(kOut).string();
    std::filesystem::create_directories(std::filesystem::path(folder + "/" + name).parent_path());
    const std::string closed = name.ends_with(".part") ? name.substr(0, name.size() - 5) : name;
    std::filesystem::remove(folder + "/" + closed + ".part");
    std::filesystem::remove(folder + "/" + closed);
    std::ofstream out(folder + "/" + name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(file.bytes.data()),
              static_cast<std::streamsize>(file.bytes.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + folder + "/" + name);
  }
}

void SimProcess::pass(TimeNs now_ns) {
  if (leaving_) return;
  node_->pass(now_ns);
  if (scenario_.journal_checked && role_ == Role::supervisor && broken_.empty())
    broken_ = supervisor::journal_lacks(*node_);
  if (std::exchange(filter_killed, false)) return kill(simnet::Death::process, kRestart);
  if (doom_) {
    const Doom doom = *doom_;
    host_.flush_some();
    return kill(doom.death, doom.down_ns);
  }
  if (!node_->finished()) return;
  leaving_ = true;
  failure_ = node_->failure();
  flush_until_ns_ = world_.now_ns() + kFlushMax;
  end_when_flushed();
}

void SimProcess::end_when_flushed() {
  world_.timeline().after(kMillisecond, [this, life = life_] {
    if (life != life_ || !running()) return;
    if (host_.unsent_bytes() > 0 && world_.now_ns() < flush_until_ns_) return end_when_flushed();
    host_.shut_down();
    node_.reset();
    disk_.reset();
    if (failure_.empty() || role_ == Role::supervisor) {
      ended_ = true;
      follow();
      return;
    }
    if (failure_.find(ports::name(ports::DiskError::no_space)) != failure_.npos)
      broken_ = "gives up on a full disk: " + failure_;
    ++deaths_;
    world_.timeline().after(kRestart, [this, again = life_] {
      if (again == life_) boot();
    });
  });
}

void SimProcess::kill(simnet::Death death, DurationNs down_ns, bool in_pass) {
  if (!running()) return;
  if (in_pass && !leaving_) {
    doom_ = Doom{death, down_ns};
    return;
  }
  doom_.reset();
  ++deaths_;
  ++life_;
  host_.crash(death);
  node_.reset();
  disk_.reset();
  if (death == simnet::Death::machine) image_.lose_power(random_);
  world_.timeline().after(down_ns, [this, life = life_] {
    if (life == life_) boot();
  });
}

std::string SimProcess::broken_invariant() {
  if (!broken_.empty()) return broken_;
  return running() && !leaving_ ? node_->broken_invariant() : std::string();
}

}  // namespace weir::sim
