#include "end.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/bytes.hpp>

#include <algorithm>
#include <utility>

namespace weir::simnet {
namespace {

constexpr int kReceivesPerTurn = 8;
constexpr std::size_t kLengthAt = 4;                     // in a frame's head (libs/network/wire/FORMAT.md)
constexpr std::size_t kGather = 4096;                    // small appends share a piece up to this size
constexpr DurationNs kHearDeadMachineMax = 2 * kSecond;  // until the end of a dead machine is noticed

}  // namespace

Bytes Outgoing::reserve(std::size_t size) {
  Piece& piece = pieces_.emplace_back();
  piece.own.resize(size);
  size_ += size;
  return piece.own;
}

void Outgoing::append(ConstBytes bytes) {
  if (bytes.empty()) return;
  const bool shares = !pieces_.empty() && !pieces_.back().own.empty() && pieces_.back().own.size() < kGather;
  if (!shares) pieces_.emplace_back();
  std::vector<std::byte>& own = pieces_.back().own;
  own.insert(own.end(), bytes.begin(), bytes.end());
  size_ += bytes.size();
}

void Outgoing::append_reference(ConstBytes bytes, std::shared_ptr<const void> owner) {
  if (bytes.empty()) return;
  Piece& piece = pieces_.emplace_back();
  piece.referred = bytes;
  piece.owner = std::move(owner);
  size_ += bytes.size();
}

std::vector<std::byte> Outgoing::take(std::size_t size) {
  std::vector<std::byte> out;
  out.reserve(size);
  while (out.size() < size) {
    const ConstBytes rest = pieces_.front().bytes().subspan(taken_);
    const std::size_t n = std::min(rest.size(), size - out.size());
    out.insert(out.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(n));
    taken_ += n;
    size_ -= n;
    if (n < rest.size()) break;
    const Piece done = std::move(pieces_.front());
    pieces_.pop_front();
    taken_ = 0;
  }
  return out;
}

void Outgoing::clear() {
  std::deque<Piece> gone;
  gone.swap(pieces_);
  taken_ = size_ = 0;
}

bool FrameTracker::pass(ConstBytes bytes, std::size_t at) {
  bool checked = false;
  for (std::size_t done = 0; done < bytes.size();) {
    std::size_t n = 0;
    if (payload_ > 0) {
      n = static_cast<std::size_t>(std::min<std::uint64_t>(payload_, bytes.size() - done));
      payload_ -= n;
      checked = checked || (at >= done && at < done + n);
    } else {
      n = std::min(head_.size() - in_head_, bytes.size() - done);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(done), n,
                  head_.begin() + static_cast<std::ptrdiff_t>(in_head_));
      if (at >= done && at < done + n) checked = is_checked(in_head_ + at - done);
      in_head_ += n;
      if (in_head_ == head_.size()) {
        payload_ = load_le<std::uint32_t>(head_.data() + kLengthAt);
        in_head_ = 0;
      }
    }
    done += n;
  }
  return checked;
}

bool FrameTracker::is_checked(std::size_t in_head) const {
  using wire::FrameType;
  const auto type = static_cast<FrameType>(head_[0]);
  const bool data = type == FrameType::fragment || type == FrameType::block || type == FrameType::data;
  return in_head == 0 || (data && in_head >= kLengthAt && in_head < kLengthAt + 4);
}

End::End(World& world_, Host& host_, std::uint64_t number_, std::string peer_name_)
    : world(world_), host(host_), number(number_), peer_name(std::move(peer_name_)) {
  const WorldSettings& settings = world.settings_;
  window = static_cast<std::size_t>(world.random_.skewed(static_cast<std::int64_t>(settings.window_min),
                                                         static_cast<std::int64_t>(settings.window_max)));
}

// ---- the process

void End::close() {
  if (state == State::ended) return;
  handler = nullptr;
  const bool was_open = state == State::open;
  if (was_open) {
    const std::size_t room = window - std::min(window, unread);
    if (const std::size_t n = std::min(room, outgoing.size()); n > 0)  // sends as much as fits before closing
      send(Chunk::Kind::data, outgoing.take(n));
    const bool rude = has_unread() && world.random_.chance(500);
    send(rude ? Chunk::Kind::reset : Chunk::Kind::end, {});
  }
  state = State::ended;
  outgoing.clear();
  received.clear();
  read = 0;
}

void End::take_events() {
  const auto self = shared_from_this();
  if (state == State::ended || handler == nullptr) return;
  if (state == State::connecting) {
    if (refused) return finish(ports::CloseReason::refused);
    if (!connected) return;
    state = State::open;
    world.note(host.name_.c_str(), "connected", number);
    handler->on_connected();
  }
  for (int i = 0; i < kReceivesPerTurn && state == State::open && !paused && has_unread(); ++i)
    receive_once();
  if (state != State::open) return;
  if (reset && (!has_unread() || paused)) return finish(ports::CloseReason::reset);
  if (ended_by_far && !has_unread() && !paused) return finish(ports::CloseReason::peer_closed);
  if (has_unread() && !paused) host.wake();
}

void End::receive_once() {
  const ports::ReceiveSpace space = handler->receive_space();
  std::size_t limit = received.size() - read;
  if (world.random_.chance(world.settings_.cut_permille)) limit = 1 + world.random_.below(limit);
  std::size_t taken = 0;
  for (const Bytes part : space) {
    const std::size_t n = std::min(part.size(), limit - taken);
    std::copy_n(received.begin() + static_cast<std::ptrdiff_t>(read), n, part.begin());
    read += n;
    taken += n;
  }
  WEIR_ASSERT(taken > 0);
  if (read == received.size()) {
    received.clear();
    read = 0;
  }
  if (const auto sender = far.lock()) {
    const bool was_full = sender->unread >= sender->window;
    sender->unread -= std::min(sender->unread, taken);
    if (was_full && sender->outgoing.size() > 0) sender->host.schedule(world.now_ns() + world.draw_delay());
  }
  counters.bytes_received += taken;
  ++counters.receive_calls;
  world.note(host.name_.c_str(), "received", number, taken);
  const bool good = handler->on_received(taken);
  if (!good && state != State::ended) finish(ports::CloseReason::protocol_error);
}

void End::flush() {
  const auto self = shared_from_this();
  while (state == State::open && outgoing.size() > 0) {
    const std::size_t room = window - std::min(window, unread);
    std::size_t n = std::min({room, outgoing.size(), world.settings_.chunk_max});
    if (n == 0) return;
    const bool cut = world.random_.chance(world.settings_.cut_permille);
    if (cut) n = 1 + world.random_.below(n);
    ++counters.send_calls;
    counters.bytes_sent += n;
    world.note(host.name_.c_str(), "sent", number, n);
    send(Chunk::Kind::data, outgoing.take(n));
    if (cut) {
      host.wake();
      break;
    }
  }
  if (state == State::open && outgoing.size() == 0 && std::exchange(dirty, false) && handler != nullptr) {
    handler->on_drained();
  }
}

void End::finish(ports::CloseReason reason) {
  ports::StreamHandler* const last = handler;
  world.note(host.name_.c_str(), "closed", number, static_cast<std::uint64_t>(reason));
  if (reason == ports::CloseReason::peer_closed || reason == ports::CloseReason::protocol_error) {
    close();
  } else {
    handler = nullptr;
    state = State::ended;
    outgoing.clear();
  }
  if (last != nullptr) last->on_closed(reason);
}

void End::die(Death death) {
  if (state == State::ended) return;
  const bool was_open = state == State::open;
  handler = nullptr;
  state = State::ended;
  outgoing.clear();
  const auto other = far.lock();
  if (!was_open || !other || lost) return;
  Random& random = world.random_;
  if (death == Death::machine) {
    pipe.clear();
    lost = true;
    other->hear_reset(world.now_ns() + random.between(0, kHearDeadMachineMax));
    return;
  }
  if (random.chance(500)) {
    const std::size_t kept = random.below(pipe.size() + 1);
    while (pipe.size() > kept) pipe.pop_back();
    send(Chunk::Kind::reset, {});
  } else {
    send(Chunk::Kind::end, {});
  }
}

void End::lose(TimeNs hears_ns) {
  lost = true;
  pipe.clear();
  hear_reset(hears_ns);
}

// ---- the kernel

void End::send(Chunk::Kind kind, std::vector<std::byte> bytes) {
  if (lost) return;
  if (world.settings_.flips && kind == Chunk::Kind::data) world.damage(*this, bytes);
  unread += bytes.size();
  Chunk chunk;
  chunk.kind = kind;
  chunk.arrive_ns = last_arrival_ns = std::max(last_arrival_ns, world.now_ns() + world.draw_delay());
  chunk.bytes = std::move(bytes);
  pipe.push_back(std::move(chunk));
  if (!std::exchange(pumping, true)) pump();
}

void End::pump() {
  while (!pipe.empty()) {
    const auto other = far.lock();
    const TimeNs silent_ns = other ? std::max(world.silent_until(&host, &other->host),
                                              world.cut_until(&host, &other->host, address))
                                   : 0;
    const TimeNs when_ns = std::max(pipe.front().arrive_ns, silent_ns);
    if (when_ns > world.now_ns()) {
      world.timeline_.at(when_ns, [self = shared_from_this()] { self->pump(); });
      return;
    }
    Chunk chunk = std::move(pipe.front());
    pipe.pop_front();
    arrive(std::move(chunk));
  }
  pumping = false;
}

void End::arrive(Chunk chunk) {
  const auto other = far.lock();
  const bool somebody = other && other->state != State::ended;
  if (!somebody) {
    if (chunk.kind == Chunk::Kind::data) hear_reset(world.now_ns() + world.draw_delay());
    return;
  }
  switch (chunk.kind) {
    case Chunk::Kind::data:
      other->received.insert(other->received.end(), chunk.bytes.begin(), chunk.bytes.end());
      break;
    case Chunk::Kind::end:
      other->ended_by_far = true;
      break;
    case Chunk::Kind::reset:
      other->hear_reset(world.now_ns());
      break;
  }
  other->host.schedule(world.now_ns());
}

void End::hear_reset(TimeNs when_ns) {
  if (state == State::ended) return;
  world.timeline_.at(when_ns, [self = shared_from_this()] {
    if (self->state == State::ended) return;
    self->reset = true;
    if (self->world.random_.chance(500)) {  // bytes that the process had not read may be lost as well
      self->received.clear();
      self->read = 0;
    }
    self->host.schedule(self->world.now_ns());
  });
}

// ---- the stream

Bytes SimStream::reserve(std::size_t size) {
  if (end_->state == End::State::ended) {
    discarded_.resize(size);
    return discarded_;
  }
  end_->dirty = true;
  return end_->outgoing.reserve(size);
}

void SimStream::append(ConstBytes bytes) {
  if (end_->state == End::State::ended) return;
  end_->dirty = true;
  end_->outgoing.append(bytes);
}

void SimStream::append_reference(ConstBytes bytes, std::shared_ptr<const void> owner) {
  if (end_->state == End::State::ended) return;
  end_->dirty = true;
  end_->outgoing.append_reference(bytes, std::move(owner));
}

}  // namespace weir::simnet
