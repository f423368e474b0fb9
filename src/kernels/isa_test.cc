#include "kernels/isa.h"

#include <gtest/gtest.h>

#include "kernels/kernel_table.h"

namespace paternoster::kernels {
namespace {

TEST(Isa, EveryNameIsReadBack) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvxVnni, Isa::kAvx512Vnni}) {
    const auto parsed = parse_isa(isa_name(isa));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, isa);
  }
  EXPECT_FALSE(parse_isa("sse9"));
}

TEST(Isa, TheActiveOneIsAvailableAndScalarAlwaysIs) {
  EXPECT_TRUE(is_available(active_isa()));
  EXPECT_TRUE(is_available(Isa::kScalar));
}

TEST(Isa, UsingOneMakesItActive) {
  const Isa before = active_isa();
  use_isa(Isa::kScalar);
  EXPECT_EQ(active_isa(), Isa::kScalar);
  EXPECT_EQ(&kernels(), &kScalarTable);
  use_isa(before);
}

}  // namespace
}  // namespace paternoster::kernels
