#include "kernels/isa.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace paternoster::kernels {
namespace {

#ifdef __x86_64__
// Two that clang's __builtin_cpu_supports has no name for; both need of the system what AVX2 does.
bool has_f16c() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_avx_vnni() noexcept {
  constexpr unsigned kAvxVnniBit = 1u << 4;  // of EAX; gcc 12's header calls it bit_AVXVNNI, clang's does not
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvxVnniBit) != 0;
}
#endif

constexpr Isa kAll[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvxVnni, Isa::kAvx512Vnni};

const KernelTable& table_of(Isa isa) noexcept {
  switch (isa) {
#ifdef __x86_64__
    case Isa::kAvx2: return kAvx2Table;
    case Isa::kAvxVnni: return kAvxVnniTable;
    case Isa::kAvx512Vnni: return kAvx512VnniTable;
#endif
    default: return kScalarTable;
  }
}

Isa best_isa() noexcept {
  Isa best = Isa::kScalar;
  for (const Isa isa : kAll) {
    best = is_available(isa) ? isa : best;
  }
  return best;
}

Isa first_isa() {
  const char* wanted = std::getenv("PATERNOSTER_ISA");
  if (wanted == nullptr || *wanted == '\0') {
    return best_isa();
  }
  const auto isa = parse_isa(wanted);
  if (isa && is_available(*isa)) {
    return *isa;
  }
  std::fprintf(stderr, "PATERNOSTER_ISA=%s cannot run on this machine; using %s\n", wanted,
               isa_name(best_isa()));
  return best_isa();
}

std::atomic<Isa>& active() {
  static std::atomic<Isa> isa{first_isa()};
  return isa;
}

// The table that calls go through; null until the first use.
std::atomic<const KernelTable*> active_table{nullptr};

}  // namespace

const char* isa_name(Isa isa) noexcept {
  switch (isa) {
    case Isa::kScalar: return "scalar";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvxVnni: return "avxvnni";
    case Isa::kAvx512Vnni: return "avx512vnni";
  }
  return "?";
}

Result<Isa> parse_isa(std::string_view name) {
  for (const Isa isa : kAll) {
    if (name == isa_name(isa)) {
      return isa;
    }
  }
  return failure(ErrorCode::kInvalidArgument, "no instruction set is called '" +
                                                  std::string(name) +
                                                  "': scalar, avx2, avxvnni, avx512vnni");
}

bool is_available(Isa isa) noexcept {
#ifdef __x86_64__
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  switch (isa) {
    case Isa::kScalar: return true;
    case Isa::kAvx2: return avx2;
    case Isa::kAvxVnni: return avx2 && has_avx_vnni();
    case Isa::kAvx512Vnni:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vnni");
  }
  return false;
#else
  return isa == Isa::kScalar;
#endif
}

Isa active_isa() noexcept { return active().load(std::memory_order_relaxed); }

void use_isa(Isa isa) {
  PATERNOSTER_CHECK(is_available(isa));
  active().store(isa, std::memory_order_relaxed);
  use_table(table_of(isa));
}

void use_table(const KernelTable& table) noexcept {
  active_table.store(&table, std::memory_order_release);
}

const KernelTable& kernels() noexcept {
  const KernelTable* table = active_table.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = &table_of(active_isa());
    active_table.store(table, std::memory_order_release);
  }
  return *table;
}

}  // namespace paternoster::kernels
