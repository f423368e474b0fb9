// The portable kernels.
#include "kernels/isa_prologue.inl"

namespace paternoster::kernels {
namespace {

#include "kernels/lanes_scalar.inl"
#include "kernels/body.inl"

}  // namespace

const KernelTable kScalarTable = kTable;

}  // namespace paternoster::kernels
