#pragma once

#include <weir/base/crc32c.hpp>
#include <weir/ports/disk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::test {

// ports::Disk in memory, for tests: operations are carried out step by step, and each can be made to fail.
class MemoryDisk final : public ports::Disk {
 public:
  struct File {
    std::vector<std::byte> bytes;
    std::size_t synced = 0;  // certainly left by a crash
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;  // counts changes by others
  };

  // Limit of all files together; an append that does not fit writes a part, like a real disk.
  std::uint64_t capacity = UINT64_MAX;
  // The operation with this number (from 0, in order of execution) fails in this way.
  std::optional<std::uint64_t> fail_at;
  ports::DiskError fail_with = ports::DiskError::io;

  void create(ports::FileId file, const std::string& path, std::uint64_t token) override {
    queue_.push_back({Kind::create, file, token, path, {}, {}, 0});
  }
  void append(ports::FileId file, std::vector<ConstBytes> pieces, std::shared_ptr<const void> owner,
              std::uint64_t token) override {
    queue_.push_back({Kind::append, file, token, {}, std::move(pieces), std::move(owner), 0});
  }
  void sync(ports::FileId file, std::uint64_t token) override {
    queue_.push_back({Kind::sync, file, token, {}, {}, {}, 0});
  }
  void truncate(ports::FileId file, std::uint64_t size, std::uint64_t token) override {
    queue_.push_back({Kind::truncate, file, token, {}, {}, {}, size});
  }
  void publish(ports::FileId file, const std::string& final_path, std::uint64_t token) override {
    queue_.push_back({Kind::publish, file, token, final_path, {}, {}, 0});
  }
  void restore(ports::FileId file, std::uint64_t token) override {
    queue_.push_back({Kind::restore, file, token, {}, {}, {}, 0});
  }
  void look(ports::FileId file, const std::string& path, std::vector<ports::FileRange> ranges,
            std::uint64_t token) override {
    queue_.push_back({Kind::look, file, token, path, {}, {}, 0, std::move(ranges)});
  }
  void read(ports::FileId file, const std::string& path, std::uint64_t token) override {
    queue_.push_back({Kind::read, file, token, path, {}, {}, 0});
  }

  // Changes of a file by others, without the writer's knowledge.
  void remove(const std::string& path) {
    for (auto& [id, open] : open_) {
      if (open.path == path && !open.nameless) open.nameless = std::move(files_.at(path));
    }
    files_.erase(path);
  }
  void replace(const std::string& path, std::vector<std::byte> bytes) {
    remove(path);
    files_[path] = {std::move(bytes), 0, ++inodes_, 1};
  }
  void change(const std::string& path, const std::function<void(std::vector<std::byte>&)>& change) {
    change(files_.at(path).bytes);
    ++files_.at(path).modified_ns;
  }

  // Carries out the oldest operation and delivers its event. Returns false if none is pending.
  bool step(ports::DiskHandler& handler) {
    if (queue_.empty()) return false;
    Operation operation = std::move(queue_.front());
    queue_.pop_front();
    ports::DiskEvent event{operation.file, operation.token, ports::DiskError::none, {}, {}, {}, {}};
    event.error = carry_out(operation, event);
    ++operations_;
    if (event.error != ports::DiskError::none)
      event.detail = "memory disk: " + std::string(name(event.error));
    handler.on_disk_event(event);
    return true;
  }
  void run(ports::DiskHandler& handler) {
    while (step(handler)) {
    }
  }

  [[nodiscard]] const std::map<std::string, File>& files() const { return files_; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  [[nodiscard]] std::uint64_t appends() const { return appends_; }
  [[nodiscard]] std::uint64_t looks_failed() const { return looks_failed_; }  // reads included
  [[nodiscard]] std::uint64_t syncs() const { return syncs_; }
  [[nodiscard]] std::size_t pending() const { return queue_.size(); }
  [[nodiscard]] std::uint64_t bytes_used() const {
    std::uint64_t bytes = 0;
    for (const auto& [path, file] : files_) bytes += file.bytes.size();
    return bytes;
  }

 private:
  enum class Kind : std::uint8_t { create, append, sync, truncate, publish, restore, look, read };
  struct Operation {
    Kind kind;
    ports::FileId file;
    std::uint64_t token;
    std::string path;
    std::vector<ConstBytes> pieces;
    std::shared_ptr<const void> owner;
    std::uint64_t size;
    std::vector<ports::FileRange> ranges = {};
  };
  struct Open {
    std::string path;
    ports::DiskError error = ports::DiskError::none;
    std::uint64_t size = 0;        // as this process left it
    std::optional<File> nameless;  // no longer named by its path
  };

  ports::DiskError carry_out(const Operation& operation, ports::DiskEvent& event) {
    const bool fails = fail_at == operations_;
    if (fails && (operation.kind == Kind::look || operation.kind == Kind::read)) {
      ++looks_failed_;
      return fail_with;
    }
    if (operation.kind == Kind::look) return look_at(operation, event.view);
    if (operation.kind == Kind::read) return read_whole(operation, event);
    if (operation.kind == Kind::create) {
      if (fails) return fail_with;
      const auto [at, fresh] = files_.try_emplace(operation.path);
      if (!fresh) return ports::DiskError::exists;
      at->second.inode = ++inodes_;
      open_[operation.file] = {operation.path, ports::DiskError::none, 0, std::nullopt};
      return ports::DiskError::none;
    }
    const auto found = open_.find(operation.file);
    if (found == open_.end()) return ports::DiskError::not_found;
    Open& open = found->second;
    if (operation.kind == Kind::truncate) open.error = ports::DiskError::none;
    if (fails) open.error = fail_with;
    if (operation.kind == Kind::restore && !fails) return bring_back(open, event.view);
    if (open.error != ports::DiskError::none) return open.error;
    const ports::DiskError error = change(open, operation);
    if (operation.kind == Kind::publish && error == ports::DiskError::none) {
      open_.erase(found);
    } else {
      open.error = error;
    }
    return error;
  }

  ports::DiskError change(Open& open, const Operation& operation) {
    File& file = open.nameless ? *open.nameless : files_[open.path];
    switch (operation.kind) {
      case Kind::append:
        ++appends_;
        for (const ConstBytes piece : operation.pieces) open.size += piece.size();
        return write(file, operation.pieces);
      case Kind::truncate:
        file.bytes.resize(operation.size);
        file.synced = std::min(file.synced, file.bytes.size());
        open.size = operation.size;
        return ports::DiskError::none;
      case Kind::publish:
        if (is_changed(open, file)) return ports::DiskError::changed;
        file.synced = file.bytes.size();
        if (operation.path == open.path) return ports::DiskError::none;
        if (files_.contains(operation.path)) return ports::DiskError::exists;
        files_[operation.path] = std::move(file);
        files_.erase(open.path);
        return ports::DiskError::none;
      default:
        ++syncs_;
        if (is_changed(open, file)) return ports::DiskError::changed;
        file.synced = file.bytes.size();
        return ports::DiskError::none;
    }
  }

  static bool is_changed(const Open& open, const File& file) {
    return open.nameless || file.bytes.size() != open.size;
  }

  ports::DiskError bring_back(Open& open, ports::FileView& view) {
    if (open.nameless) {
      if (const auto foreign = files_.find(open.path); foreign != files_.end()) {
        files_[open.path + ".foreign"] = std::move(foreign->second);
        files_.erase(foreign);
      }
      files_[open.path] = std::move(*std::exchange(open.nameless, std::nullopt));
    }
    view.size = files_.at(open.path).bytes.size();
    return ports::DiskError::none;
  }

  ports::DiskError look_at(const Operation& operation, ports::FileView& view) const {
    const auto found = files_.find(operation.path);
    if (found == files_.end()) return ports::DiskError::none;
    const File& file = found->second;
    view = {true, file.inode, file.bytes.size(), file.modified_ns, false, {}};
    for (const ports::FileRange& range : operation.ranges) {
      const auto from = static_cast<std::size_t>(std::min<std::uint64_t>(range.offset, file.bytes.size()));
      const auto n =
          static_cast<std::size_t>(std::min<std::uint64_t>(range.length, file.bytes.size() - from));
      view.checksums.push_back(crc32c(ConstBytes(file.bytes).subspan(from, n)));
    }
    return ports::DiskError::none;
  }

  ports::DiskError read_whole(const Operation& operation, ports::DiskEvent& event) const {
    const auto found = files_.find(operation.path);
    if (found == files_.end()) return ports::DiskError::not_found;
    const auto copy = std::make_shared<const std::vector<std::byte>>(found->second.bytes);
    event.bytes = *copy;
    event.owner = copy;
    return ports::DiskError::none;
  }

  ports::DiskError write(File& file, const std::vector<ConstBytes>& pieces) const {
    std::uint64_t room = capacity - std::min(capacity, bytes_used());
    for (const ConstBytes piece : pieces) {
      const auto fits = static_cast<std::size_t>(std::min<std::uint64_t>(room, piece.size()));
      file.bytes.insert(file.bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(fits));
      room -= fits;
      if (fits < piece.size()) return ports::DiskError::no_space;
    }
    return ports::DiskError::none;
  }

  std::deque<Operation> queue_;
  std::map<ports::FileId, Open> open_;
  std::map<std::string, File> files_;
  std::uint64_t inodes_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t appends_ = 0;
  std::uint64_t looks_failed_ = 0;
  std::uint64_t syncs_ = 0;
};

}  // namespace weir::test
