#pragma once

#include "collector.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/assembly/slice_table.hpp>
#include <weir/base/buffer_pool.hpp>
#include <weir/base/memory_region.hpp>
#include <weir/shaping/shaper.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::dcm {

// The parts with which slices are built: memory, table, assembler and collector. The parts of a DCM share it.
// Requires: it outlives them; connections that receive into its memory end before it.
struct Builder {
  Builder(const std::string& name, std::size_t memory_bytes, assembly::AssemblySettings assembly,
          std::vector<assembly::SourceInfo> sources, CollectorSettings collecting,
          std::unique_ptr<shaping::Shaper> shaper)
      : memory(name, memory_bytes),
        pool(memory.bytes()),
        assembler(std::move(assembly), std::move(sources), pool, slices),
        collector(bounded(std::move(collecting), pool), assembler, slices, pool, std::move(shaper)) {}

  MemoryRegion memory;
  BufferPool pool;
  assembly::SliceTable slices;
  assembly::Assembler assembler;
  Collector collector;

 private:
  static CollectorSettings bounded(CollectorSettings settings, const BufferPool& pool) {
    settings.memory_bytes = pool.bytes_total();
    return settings;
  }
};

}  // namespace weir::dcm
