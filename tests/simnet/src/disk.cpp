#include <weir/base/crc32c.hpp>
#include <weir/simnet/disk.hpp>

#include <algorithm>
#include <utility>

namespace weir::simnet {
namespace {

using ports::DiskError;

constexpr std::size_t kBlock = 512;

}  // namespace

std::uint64_t DiskImage::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [path, file] : files_) bytes += file.bytes.size();
  return bytes;
}

void DiskImage::lose_power(Random& random) {
  for (auto& [path, file] : files_) {
    const std::size_t loose = file.bytes.size() - file.synced;
    file.bytes.resize(file.synced + random.below(loose + 1));
    for (std::size_t at = file.synced; at < file.bytes.size();) {
      const std::size_t end = std::min(file.bytes.size(), (at / kBlock + 1) * kBlock);
      if (random.chance(300)) {
        std::fill(file.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  file.bytes.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
      }
      at = end;
    }
    file.synced = file.bytes.size();
  }
}

void DiskImage::settle() {
  for (auto& [path, file] : files_) file.synced = file.bytes.size();
}

SimDisk::SimDisk(DiskImage& image, Timeline& timeline, Random random, const DiskSettings& settings,
                 std::function<void()> wake)
    : image_(image), timeline_(timeline), random_(random), settings_(settings), wake_(std::move(wake)) {}

SimDisk::~SimDisk() {
  *alive_ = false;
  if (!queue_.empty()) leave_half_done(queue_.front());
}

void SimDisk::create(ports::FileId file, const std::string& path, std::uint64_t token) {
  ask({Kind::create, file, token, path, {}, {}, 0});
}
void SimDisk::append(ports::FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
                     std::uint64_t token) {
  ask({Kind::append, file, token, {}, std::move(pieces), std::move(owner), 0});
}
void SimDisk::sync(ports::FileId file, std::uint64_t token) { ask({Kind::sync, file, token, {}, {}, {}, 0}); }
void SimDisk::truncate(ports::FileId file, std::uint64_t size, std::uint64_t token) {
  ask({Kind::truncate, file, token, {}, {}, {}, size});
}
void SimDisk::publish(ports::FileId file, const std::string& final_path, std::uint64_t token) {
  ask({Kind::publish, file, token, final_path, {}, {}, 0});
}
void SimDisk::restore(ports::FileId file, std::uint64_t token) {
  ask({Kind::restore, file, token, {}, {}, {}, 0});
}
void SimDisk::look(ports::FileId file, const std::string& path, std::vector<ports::FileRange> ranges,
                   std::uint64_t token) {
  ask({Kind::look, file, token, path, {}, {}, 0, std::move(ranges)});
}
void SimDisk::read(ports::FileId file, const std::string& path, std::uint64_t token) {
  ask({Kind::read, file, token, path, {}, {}, 0});
}

void SimDisk::deliver(ports::DiskHandler& handler) {
  for (const ports::DiskEvent& event : std::exchange(done_, {})) handler.on_disk_event(event);
}

void SimDisk::slow(DurationNs each_ns, TimeNs until_ns) {
  slow_ns_ = each_ns;
  slow_until_ns_ = until_ns;
}

void SimDisk::ask(Operation operation) {
  queue_.push_back(std::move(operation));
  if (queue_.size() == 1) begin();
}

void SimDisk::begin() {
  DurationNs takes = random_.skewed(settings_.operation_min, settings_.operation_max);
  if (timeline_.now_ns() < slow_until_ns_) takes = std::max(takes, slow_ns_);
  timeline_.after(takes, [this, alive = alive_] {
    if (*alive) end();
  });
}

void SimDisk::end() {
  const Operation operation = std::move(queue_.front());
  queue_.pop_front();
  ports::DiskEvent event{operation.file, operation.token, DiskError::none, {}, {}, {}, {}};
  event.error = carry_out(operation, event);
  if (event.error != DiskError::none)
    event.detail = operation.path + ": simulated disk: " + std::string(name(event.error));
  done_.push_back(std::move(event));
  if (!queue_.empty()) begin();
  wake_();
}

DiskError SimDisk::carry_out(const Operation& operation, ports::DiskEvent& event) {
  const auto failure = std::exchange(fail_next_, std::nullopt);
  if (operation.kind == Kind::look) return failure ? *failure : look_at(operation, event.view);
  if (operation.kind == Kind::read) return failure ? *failure : read_whole(operation, event);
  if (operation.kind == Kind::create) {
    if (failure) return *failure;
    const auto [at, fresh] = image_.files().try_emplace(operation.path);
    if (!fresh) return DiskError::exists;
    at->second.inode = image_.next_inode();
    open_[operation.file] = {operation.path, DiskError::none, 0, std::nullopt};
    return DiskError::none;
  }
  const auto found = open_.find(operation.file);
  if (found == open_.end()) return DiskError::not_found;
  Open& open = found->second;
  if (operation.kind == Kind::truncate) open.error = DiskError::none;
  if (failure) open.error = *failure;
  if (operation.kind == Kind::restore && !failure) return bring_back(open, event.view);
  if (open.error != DiskError::none) return open.error;
  const DiskError error = change(open, operation);
  if (operation.kind == Kind::publish && error == DiskError::none) {
    open_.erase(found);
  } else {
    open.error = error;
  }
  return error;
}

DiskError SimDisk::change(Open& open, const Operation& operation) {
  DiskImage::File& file = open.nameless ? *open.nameless : image_.files()[open.path];
  const bool changed = open.nameless || file.bytes.size() != open.size;
  switch (operation.kind) {
    case Kind::append:
      for (const ConstBytes piece : operation.pieces) open.size += piece.size();
      return write(file, operation.pieces);
    case Kind::truncate:
      file.bytes.resize(operation.size);
      file.synced = std::min(file.synced, file.bytes.size());
      open.size = operation.size;
      return DiskError::none;
    case Kind::publish: {
      if (changed) return DiskError::changed;
      if (operation.path == open.path) {
        file.synced = file.bytes.size();
        return DiskError::none;
      }
      if (image_.files().contains(operation.path)) return DiskError::exists;
      file.synced = file.bytes.size();
      auto node = image_.files().extract(open.path);
      node.key() = operation.path;
      image_.files().insert(std::move(node));
      return DiskError::none;
    }
    default:
      if (changed) return DiskError::changed;
      file.synced = file.bytes.size();
      return DiskError::none;
  }
}

DiskError SimDisk::bring_back(Open& open, ports::FileView& view) {
  if (open.nameless) image_.files()[open.path] = std::move(*std::exchange(open.nameless, std::nullopt));
  view.size = image_.files()[open.path].bytes.size();
  return DiskError::none;
}

DiskError SimDisk::look_at(const Operation& operation, ports::FileView& view) const {
  const auto found = image_.files().find(operation.path);
  if (found == image_.files().end()) return DiskError::none;
  const DiskImage::File& file = found->second;
  view = {true, file.inode, file.bytes.size(), file.modified_ns, false, {}};
  for (const ports::FileRange& range : operation.ranges) {
    const auto from = static_cast<std::size_t>(std::min<std::uint64_t>(range.offset, file.bytes.size()));
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(range.length, file.bytes.size() - from));
    view.checksums.push_back(crc32c(ConstBytes(file.bytes).subspan(from, n)));
  }
  return DiskError::none;
}

DiskError SimDisk::read_whole(const Operation& operation, ports::DiskEvent& event) const {
  const auto found = image_.files().find(operation.path);
  if (found == image_.files().end()) return DiskError::not_found;
  const auto copy = std::make_shared<const std::vector<std::byte>>(found->second.bytes);
  event.bytes = *copy;
  event.owner = copy;
  return DiskError::none;
}

void SimDisk::remove(const std::string& path) {
  const auto found = image_.files().find(path);
  if (found == image_.files().end()) return;
  for (auto& [id, open] : open_) {
    if (open.path == path && !open.nameless) open.nameless = std::move(found->second);
  }
  image_.files().erase(found);
}

void SimDisk::cut(const std::string& path, std::size_t size) {
  const auto found = image_.files().find(path);
  if (found == image_.files().end() || found->second.bytes.size() <= size) return;
  found->second.bytes.resize(size);
  found->second.synced = std::min(found->second.synced, size);
  ++found->second.modified_ns;
}

DiskError SimDisk::write(DiskImage::File& file, const std::vector<ConstBytes>& pieces) const {
  const std::uint64_t used = image_.bytes();
  std::uint64_t room = image_.capacity - std::min(image_.capacity, used);
  for (const ConstBytes piece : pieces) {
    const auto fits = static_cast<std::size_t>(std::min<std::uint64_t>(room, piece.size()));
    file.bytes.insert(file.bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(fits));
    room -= fits;
    if (fits < piece.size()) return DiskError::no_space;
  }
  return DiskError::none;
}

// Simulates a process that is killed inside a system call.
void SimDisk::leave_half_done(const Operation& operation) {
  if (operation.kind != Kind::append) {
    ports::DiskEvent nobody;
    if (random_.chance(500)) (void)carry_out(operation, nobody);
    return;
  }
  const auto found = open_.find(operation.file);
  if (found == open_.end() || found->second.error != DiskError::none) return;
  if (found->second.nameless) return;  // a file without a name disappears with the process
  DiskImage::File& file = image_.files()[found->second.path];
  std::size_t bytes = 0;
  for (const ConstBytes piece : operation.pieces) bytes += piece.size();
  std::size_t left = random_.below(bytes + 1);
  for (const ConstBytes piece : operation.pieces) {
    const std::size_t n = std::min(left, piece.size());
    file.bytes.insert(file.bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(n));
    left -= n;
  }
}

}  // namespace weir::simnet
