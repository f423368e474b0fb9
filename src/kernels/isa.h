// Which instruction set the kernels run on. Chosen once, at the first use, from what the processor
// and the operating system offer, or by the environment variable PATERNOSTER_ISA (scalar, avx2,
// avxvnni, avx512vnni; one that cannot run here is ignored with a line on standard error). All give
// the same bits; they differ in speed.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace paternoster::kernels {

enum class Isa { kScalar, kAvx2, kAvxVnni, kAvx512Vnni };

const char* isa_name(Isa isa) noexcept;
Result<Isa> parse_isa(std::string_view name);

bool is_available(Isa isa) noexcept;  // built in, and this machine can run it
Isa active_isa() noexcept;

// Switches every later call; for tests and for comparing. Not while kernels run. isa is available.
void use_isa(Isa isa);

}  // namespace paternoster::kernels
