// Several engines in one process: how one server's options are shared out, and the making of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "api/backend.h"
#include "base/result.h"
#include "engine/machine.h"
#include "engine/options.h"

namespace paternoster::engine {

// The row of fleet/presets.h that decides, and all that is decided by it, but for what the engines turn out
// to be (memory, seats of each).
std::string_view fleet_preset(const EngineOptions& options);
Result<fleet::Config> fleet_config(const EngineOptions& options);
// Whether the fleet gives out batches or slices; otherwise it only places whole calls.
bool runs_batches(const fleet::Config& config);

// What each engine is told: even shares of seats, queue, threads and KV cache (the first ones get what
// is left over), files of its own. The error says which option has too little to be shared. A pure
// function of options and machine.
Result<std::vector<EngineOptions>> share_out(const EngineOptions& options, const Machine& machine);

// options.instances engines behind a FleetBackend, on processors of their own.
Result<std::unique_ptr<api::Backend>> create_instances(const EngineOptions& options);

}  // namespace paternoster::engine
