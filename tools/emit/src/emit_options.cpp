#include "emit_options.hpp"

#include <weir/config/farm_file.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/plan.hpp>
#include <weir/node/recordings.hpp>
#include <weir/node/setup.hpp>
#include <weir/readout/source_settings.hpp>

#include <algorithm>
#include <charconv>
#include <random>
#include <stdexcept>

namespace weir::emit {
namespace {

constexpr std::uint32_t kSourcesMax = 1'000'000;

std::uint32_t number_of(const std::string& text, const std::string& where) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || text.empty()) {
    throw std::runtime_error("--sources: '" + where + "' is not like 1-4,7");
  }
  return number;
}

struct Loaded {
  v1::Farm farm;
  config::FarmPlan plan;
};

Loaded load(const EmitOptions& options) {
  config::FarmFile file;
  if (!options.farm_file.empty()) {
    auto read = config::load_farm(options.farm_file);
    if (!read) throw std::runtime_error(config::to_text(read.error()));
    file = std::move(*read);
  }
  for (const std::string& set : options.sets) {
    const auto problems = config::apply_override(file.farm, set, &file.locations);
    if (!problems.empty()) throw std::runtime_error(config::to_text(problems));
  }
  Loaded loaded{file.farm, {}};
  if (options.farm_file.empty()) return loaded;
  auto plan = config::expand(file.farm, file.locations, node::read_recording);
  if (!plan) throw std::runtime_error(config::to_text(plan.error()));
  loaded.plan = std::move(*plan);
  return loaded;
}

std::string parameter(const v1::Farm& farm, const std::string& name, const std::string& fallback) {
  const auto found = farm.source().parameters().find(name);
  return found == farm.source().parameters().end() ? fallback : found->second;
}

bool is_wildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

// The content that a farm file, or the readout's part of it, describes.
ingest::SourceSettings content_of(const EmitOptions& options, const v1::Farm& farm) {
  ingest::SourceSettings content = readout::source_settings(farm);
  content.checksums = false;  // of packets, not of fragments: the readout computes those
  content.kind = ingest::SourceKind::dummy;
  if (options.from == "hits") {
    content.kind = ingest::SourceKind::hits;
  } else if (options.from != "dummy") {
    content.kind = ingest::SourceKind::replay;
    content.replay.path = options.from;
  }
  if (options.size_bytes > 0) {
    content.other_sizes.clear();
    content.dummy.size_bytes = static_cast<std::uint32_t>(options.size_bytes);
    content.dummy.size_bytes_max = std::max(content.dummy.size_bytes_max, content.dummy.size_bytes);
  }
  return content;
}

bool takes_datagrams(const v1::SourceSettings& source) {
  return source.kind() == v1::SourceSettings::KIND_UDP ||
         (source.kind() == v1::SourceSettings::KIND_PLUGIN && source.plugin() == "udp");
}

// Where the plugin `udp` of a readout listens: port + its number.
ports::Endpoint endpoint_of(const config::NodePlan& node, const v1::Farm& farm) {
  const std::string port = parameter(farm, "port", std::to_string(packets::kPortDefault));
  const std::string host = parameter(farm, "host", "");
  ports::Endpoint at = node::parse_endpoint("x:" + port);
  at.port = static_cast<std::uint16_t>(at.port + node.index.value);
  at.host = host.empty() || is_wildcard(host) ? node::parse_endpoint(node.listen).host : host;
  if (!is_wildcard(at.host)) return at;
  throw std::runtime_error("'" + node.name + "' listens at " + at.host +
                           ": set readout.nodes[].listen to its real address, or use --to and --sources");
}

std::vector<Target> targets_of(const EmitOptions& options, const Loaded& loaded) {
  std::vector<Target> targets;
  for (const config::NodeFarms::Kind& kind :
       config::NodeFarms(loaded.farm).kinds(loaded.plan, Role::readout)) {
    const v1::Farm& farm = kind.shared.farm;
    if (!takes_datagrams(farm.source())) continue;
    for (const config::NodePlan* node : kind.nodes) {
      Target target;
      for (const SourceId source : node->sources) {
        const auto& masked = loaded.plan.masked;
        if (!std::binary_search(masked.begin(), masked.end(), source)) target.sources.push_back(source);
      }
      if (node->masked || target.sources.empty()) continue;
      target.at = endpoint_of(*node, farm);
      target.content = content_of(options, farm);
      targets.push_back(std::move(target));
    }
  }
  if (targets.empty())
    throw std::runtime_error("the farm has no sources of kind 'udp': use --to and --sources");
  return targets;
}

std::vector<Target> named_targets(const EmitOptions& options, const v1::Farm& farm) {
  if (options.to.size() != options.sources.size()) {
    throw std::runtime_error("each --to needs its --sources: there are " + std::to_string(options.to.size()) +
                             " and " + std::to_string(options.sources.size()));
  }
  std::vector<Target> targets;
  for (std::size_t i = 0; i < options.to.size(); ++i) {
    targets.push_back(
        {node::parse_endpoint(options.to[i]), parse_sources(options.sources[i]), content_of(options, farm)});
  }
  return targets;
}

// Another one each time, and not 0.
std::uint32_t new_session() {
  std::random_device random;
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(random()));
}

std::optional<ports::Endpoint> trigger_of(const EmitOptions& options, const v1::Farm& farm) {
  if (options.trigger == "none") return std::nullopt;
  if (!options.trigger.empty()) return node::parse_endpoint(options.trigger);
  if (options.farm_file.empty() || farm.trigger().mode() != v1::TriggerSettings::MODE_NETWORK) {
    return std::nullopt;
  }
  const ports::Endpoint at = node::parse_endpoint(farm.trigger().listen());
  if (at.port == 0) {
    throw std::runtime_error(
        "trigger.listen has no fixed port: use --trigger HOST:PORT, as printed by `weir run`");
  }
  return at;
}

}  // namespace

std::vector<SourceId> parse_sources(const std::string& text) {
  std::vector<SourceId> sources;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t dash = item.find('-');
    const std::uint32_t first = number_of(item.substr(0, dash), text);
    const std::uint32_t last = dash == std::string::npos ? first : number_of(item.substr(dash + 1), text);
    if (last < first || last - first >= kSourcesMax) {
      throw std::runtime_error("--sources: '" + item + "' is not a range of sources");
    }
    for (std::uint32_t i = 0; i <= last - first; ++i) sources.emplace_back(first + i);
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  return sources;
}

std::pair<SourceId, emulation::Slip> parse_slip(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::size_t at = std::min(text.find('@', colon), text.size());
  const std::string kind = text.substr(std::min(colon + 1, text.size()), at - std::min(colon + 1, at));
  std::uint32_t source = 0;
  std::uint64_t slice = 0;
  const auto reads = [&](std::size_t from, std::size_t to, auto& number) {
    if (from >= to) return false;
    const auto parsed = std::from_chars(text.data() + from, text.data() + to, number);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + to;
  };
  if (reads(0, colon, source) && reads(at + 1, text.size(), slice)) {
    for (std::size_t i = 1; i < emulation::kSlipKinds; ++i) {
      const auto one = static_cast<emulation::SlipKind>(i);
      if (name(one) == kind) return {SourceId(source), {one, SliceId(slice)}};
    }
  }
  throw std::runtime_error("--slip: '" + text +
                           "' is not like 3:miss@1000; kinds are miss, twice, restart, jump, lag and drift");
}

EmitPlan make_plan(const EmitOptions& options) {
  if (options.farm_file.empty() && options.to.empty()) {
    throw std::runtime_error("no readout given: name a farm file, or use --to HOST:PORT --sources 1-4");
  }
  const Loaded loaded = load(options);
  EmitPlan plan;
  plan.farm = loaded.farm.farm();
  plan.targets = options.to.empty() ? targets_of(options, loaded) : named_targets(options, loaded.farm);
  plan.trigger = trigger_of(options, loaded.farm);
  if (plan.trigger) {
    plan.authenticator = node::make_authenticator(loaded.farm);
    plan.sockets = node::socket_policy(loaded.farm);
  }

  PlayerSettings& player = plan.player;
  player.run =
      RunNumber(options.run > 0 ? static_cast<std::uint32_t>(options.run) : loaded.farm.run().number());
  player.session = options.session.value_or(new_session());
  player.first = SliceId(options.first_slice);
  player.slices = options.slices;
  player.rate_hz = options.rate_hz;
  player.slice_ns = static_cast<DurationNs>(loaded.farm.trigger().slice_ms() * 1e6);
  player.packet_bytes = options.packet_bytes;
  player.drop_every = options.drop_every;
  player.stamps = options.stamps || !options.slip.empty() || loaded.farm.has_build();
  player.progress = loaded.farm.build().by() == v1::BuildSettings::BY_TIME;
  if (player.progress && player.rate_hz <= 0)
    throw std::runtime_error("--rate 0: front-ends with clocks (build.by: time) need a rate");
  // A piece of dummy data is of a moment, others last until the next one.
  if (player.progress)
    player.slice_ns = options.from == "dummy" ? 0 : static_cast<DurationNs>(1e9 / player.rate_hz);
  if (player.stamps && player.packet_bytes <= packets::kStampedHeaderBytes)
    throw std::runtime_error("--packet-bytes: a header with counter and time has " +
                             std::to_string(packets::kStampedHeaderBytes) + " bytes");
  if (!options.slip.empty()) plan.slip = parse_slip(options.slip);
  return plan;
}

}  // namespace weir::emit
