#include "end.hpp"

#include <algorithm>
#include <utility>

namespace weir::simnet {
namespace {

constexpr DurationNs kHearMax = 50 * kMillisecond;  // until the end of a broken connection is noticed
constexpr UtcNs kBeginUtc = 1'700'000'000 * kSecond;
constexpr DurationNs kMonoOffsetMax = 1'000'000 * kSecond;
constexpr DurationNs kUtcOffsetMax = kMillisecond;

class SimListener final : public ports::Listener {
 public:
  SimListener(std::vector<std::shared_ptr<Listening>>& all, std::shared_ptr<Listening> own)
      : all_(all), own_(std::move(own)) {}
  ~SimListener() override {
    std::erase(all_, own_);
    while (!own_->backlog.empty()) {
      const auto end = own_->backlog.front();
      own_->backlog.pop_front();
      end->close();
    }
  }
  ports::Endpoint endpoint() const override { return own_->at; }

 private:
  std::vector<std::shared_ptr<Listening>>& all_;
  std::shared_ptr<Listening> own_;
};

void add(ports::StreamCounters& to, const ports::StreamCounters& more) {
  to.bytes_received += more.bytes_received;
  to.bytes_sent += more.bytes_sent;
  to.receive_calls += more.receive_calls;
  to.send_calls += more.send_calls;
}

}  // namespace

World::World(std::uint64_t seed, const WorldSettings& settings) : settings_(settings), random_(seed) {}
World::~World() = default;

Host& World::add_host(const std::string& name) {
  hosts_.push_back(std::make_unique<Host>(*this, name, random_.fork(hosts_.size())));
  return *hosts_.back();
}

void World::break_connections(Host& left, Host& right) {
  for (const auto& end : left.ends_) {
    const auto other = end->far.lock();
    if (!other || &other->host != &right || end->state != End::State::open) continue;
    note(left.name_.c_str(), "broken", end->number);
    end->lose(now_ns() + random_.skewed(0, kHearMax));
    other->lose(now_ns() + random_.skewed(0, kHearMax));
  }
}

void World::silence(Host& from, Host& to, TimeNs until_ns) { silences_.push_back({&from, &to, until_ns}); }

void World::partition(Host& left, Host& right, TimeNs until_ns) {
  partitions_.push_back({&left, &right, until_ns});
}

void World::cut(Host& host, const std::string& address, TimeNs until_ns) {
  cuts_.push_back({&host, address, until_ns});
}

TimeNs World::cut_until(const Host* one, const Host* other, const std::string& address) const {
  TimeNs until_ns = 0;
  for (const Cut& cut : cuts_) {
    if ((cut.host == one || cut.host == other) && cut.address == address)
      until_ns = std::max(until_ns, cut.until_ns);
  }
  return until_ns;
}

void World::flip_bits(Host& from, Host& to, TimeNs until_ns, std::uint32_t chunks_permille) {
  flips_.push_back({&from, &to, until_ns, chunks_permille});
}

void World::damage(End& sender, std::vector<std::byte>& bytes) {
  const auto receiver = sender.far.lock();
  std::size_t at = bytes.size();
  for (const Flips& flips : flips_) {
    if (!receiver || flips.from != &sender.host || flips.to != &receiver->host || now_ns() >= flips.until_ns)
      continue;
    if (random_.chance(flips.chunks_permille)) at = random_.below(bytes.size());
  }
  if (!sender.frames.pass(bytes, at)) return;
  constexpr std::uint64_t kBits = 8;
  const auto bit = static_cast<unsigned>(random_.below(kBits));
  bytes[at] ^= std::byte{1} << bit;
  note(sender.host.name_.c_str(), "flipped", sender.number, at);
}

void World::refuse(Host& host, TimeNs until_ns) {
  host.refuses_until_ns_ = std::max(host.refuses_until_ns_, until_ns);
}

TimeNs World::parted_until(const Host* one, const Host* other) const {
  TimeNs until_ns = 0;
  for (const Silence& part : partitions_) {
    const bool these = (part.from == one && part.to == other) || (part.from == other && part.to == one);
    if (these) until_ns = std::max(until_ns, part.until_ns);
  }
  return until_ns;
}

TimeNs World::silent_until(const Host* from, const Host* to) const {
  TimeNs until_ns = parted_until(from, to);
  for (const Silence& silence : silences_) {
    if (silence.from == from && silence.to == to) until_ns = std::max(until_ns, silence.until_ns);
  }
  return until_ns;
}

DurationNs World::draw_delay() {
  if (random_.chance(settings_.tail_permille))
    return random_.between(settings_.delay_max, settings_.tail_max);
  return random_.between(settings_.delay_min, settings_.delay_max);
}

std::shared_ptr<Listening> World::find_listener(std::uint16_t port) const {
  for (const auto& host : hosts_) {
    for (const auto& listening : host->listening_) {
      if (listening->at.port == port) return listening;
    }
  }
  return nullptr;
}

void World::arrive_connect(const std::shared_ptr<End>& near, std::uint16_t port) {
  if (near->state == End::State::ended) return;
  const auto listening = find_listener(port);
  const TimeNs parted_ns = listening ? std::max(parted_until(&near->host, listening->host),
                                                cut_until(&near->host, listening->host, listening->at.host))
                                     : 0;
  if (parted_ns > now_ns()) {
    timeline_.at(parted_ns, [this, near, port] { arrive_connect(near, port); });
    return;
  }
  const TimeNs answer_ns = now_ns() + draw_delay();
  if (!listening || now_ns() < listening->host->refuses_until_ns_) {
    timeline_.at(answer_ns, [near] {
      near->refused = true;
      near->host.schedule(near->world.now_ns());
    });
    return;
  }
  auto far = std::make_shared<End>(*this, *listening->host, near->number,
                                   near->host.name_ + ":" + std::to_string(near->number));
  far->state = End::State::open;
  far->address = near->address = listening->at.host;
  far->far = near;
  near->far = far;
  far->last_arrival_ns = answer_ns;
  listening->backlog.push_back(far);
  listening->host->ends_.push_back(far);
  listening->host->schedule(now_ns());
  timeline_.at(answer_ns, [near] {
    near->connected = true;
    near->host.schedule(near->world.now_ns());
  });
}

Host::Host(World& world, std::string name, Random random)
    : world_(world), name_(std::move(name)), random_(random) {
  mono_offset_ns_ = random_.between(kSecond, kMonoOffsetMax);
  utc_offset_ns_ = random_.between(-kUtcOffsetMax, kUtcOffsetMax);
}
Host::~Host() = default;

void Host::boot(std::function<void(TimeNs)> pass, std::function<TimeNs()> wake_at) {
  up_ = true;
  pass_ = std::move(pass);
  wake_at_ = std::move(wake_at);
  stalled_until_ns_ = busy_until_ns_ = 0;
  awake_ = {};
  world_.note(name_.c_str(), "boot");
  schedule(world_.now_ns());
}

void Host::crash(Death death) {
  world_.note(name_.c_str(), "crash", static_cast<std::uint64_t>(death));
  up_ = scheduled_ = false;
  ++generation_;
  const auto listening = std::exchange(listening_, {});
  for (const auto& each : listening) each->backlog.clear();
  const auto ends = std::exchange(ends_, {});
  for (const auto& end : ends) end->die(death);
  gone_ = {};
}

void Host::shut_down() {
  world_.note(name_.c_str(), "ends");
  up_ = scheduled_ = false;
  ++generation_;
  listening_.clear();
  const auto ends = std::exchange(ends_, {});
  for (const auto& end : ends) end->close();
  gone_ = {};
}

void Host::stall(TimeNs until_ns) {
  stalled_until_ns_ = std::max(stalled_until_ns_, until_ns);
  world_.note(name_.c_str(), "stalls", static_cast<std::uint64_t>(until_ns));
}

void Host::wake() { schedule(world_.now_ns()); }

void Host::schedule(TimeNs when_ns) {
  if (!up_) return;
  when_ns = std::max({when_ns, world_.now_ns(), busy_until_ns_, stalled_until_ns_});
  if (scheduled_ && scheduled_ns_ <= when_ns) return;
  scheduled_ = true;
  scheduled_ns_ = when_ns;
  world_.timeline_.at(when_ns, [this, generation = ++generation_] {
    if (generation == generation_) run();
  });
}

void Host::run() {
  scheduled_ = false;
  const TimeNs now = world_.now_ns();
  if (now < stalled_until_ns_) return schedule(stalled_until_ns_);
  (void)awake_.at(now);
  const WorldSettings& settings = world_.settings_;
  DurationNs takes_ns = random_.skewed(settings.pass_min, settings.pass_max);
  if (settings.slow_permille > 0 && random_.chance(settings.slow_permille))
    takes_ns = random_.between(settings.pass_max, settings.slow_max);
  busy_until_ns_ = now + takes_ns;
  world_.running_ = name_.c_str();
  accept_waiting();
  receive_all();
  const TimeNs begun = now_ns();
  in_pass_ns_ = settings.slow_permille > 0 ? takes_ns : 0;
  pass_(begun);
  in_pass_ns_ = 0;
  world_.running_ = "";
  if (!up_) return;
  flush_all();
  std::erase_if(ends_, [this](const auto& end) {
    if (end->state != End::State::ended) return false;
    add(gone_, end->counters);
    return true;
  });
  const TimeNs wanted = wake_at_();
  const TimeNs idle = now + settings.idle_wait;
  schedule(wanted > now_ns() + settings.idle_wait ? idle : now + std::max<DurationNs>(0, wanted - now_ns()));
}

void Host::accept_waiting() {
  const auto listening = listening_;
  for (const auto& each : listening) {
    while (!each->backlog.empty()) {
      const auto end = each->backlog.front();
      each->backlog.pop_front();
      if (end->state == End::State::ended) continue;
      world_.note(name_.c_str(), "accepts", end->number);
      ports::StreamHandler* handler = each->acceptor->on_accept(std::make_unique<SimStream>(end));
      if (handler == nullptr) {
        end->close();
      } else if (end->state != End::State::ended) {
        end->handler = handler;
      }
    }
  }
}

void Host::receive_all() {
  const auto ends = ends_;
  if (ends.empty()) return;
  const std::size_t first = random_.below(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) ends[(first + i) % ends.size()]->take_events();
}

void Host::flush_all() {
  const auto ends = ends_;
  for (const auto& end : ends) end->flush();
}

void Host::flush_some() {
  const auto ends = ends_;
  for (const auto& end : ends) {
    if (random_.chance(500)) end->flush();
  }
}

std::size_t Host::unsent_bytes() const {
  std::size_t bytes = 0;
  for (const auto& end : ends_) bytes += end->outgoing.size();
  return bytes;
}

ports::StreamCounters Host::stream_totals() const {
  ports::StreamCounters totals = gone_;
  for (const auto& end : ends_) add(totals, end->counters);
  return totals;
}

Expected<std::unique_ptr<ports::Listener>, std::string> Host::listen(const ports::Endpoint& at,
                                                                     ports::Acceptor& acceptor) {
  const ports::Endpoint real{at.host, at.port == 0 ? world_.next_port_++ : at.port};
  if (world_.find_listener(real.port)) {
    return Unexpected<std::string>(real.host + ":" + std::to_string(real.port) + ": address already in use");
  }
  auto listening = std::make_shared<Listening>();
  listening->host = this;
  listening->at = real;
  listening->acceptor = &acceptor;
  listening_.push_back(listening);
  return std::unique_ptr<ports::Listener>(std::make_unique<SimListener>(listening_, std::move(listening)));
}

std::unique_ptr<ports::Stream> Host::connect(const ports::Endpoint& to, ports::StreamHandler& handler) {
  auto end = std::make_shared<End>(world_, *this, world_.next_connection_++,
                                   to.host + ":" + std::to_string(to.port));
  end->handler = &handler;
  ends_.push_back(end);
  world_.note(name_.c_str(), "connects", end->number, to.port);
  world_.timeline_.after(world_.draw_delay(),
                         [world = &world_, end, port = to.port] { world->arrive_connect(end, port); });
  return std::make_unique<SimStream>(std::move(end));
}

TimeNs Host::now_ns() const { return world_.now_ns() + mono_offset_ns_ - awake_.left_out_ns() + in_pass_ns_; }
UtcNs Host::utc_ns() const { return kBeginUtc + world_.now_ns() + utc_offset_ns_ + in_pass_ns_; }

}  // namespace weir::simnet
