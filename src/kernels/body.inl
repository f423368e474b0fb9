// The kernels of one instruction set: included by each isa_*.cc inside its own namespace, after its
// lanes. Everything here has internal linkage; only the table is seen outside.

#include "kernels/matmul.inl"
#include "kernels/rows.inl"
#include "kernels/attention_sums.inl"
#include "kernels/attention.inl"

constexpr KernelTable kTable = {
    matmul,       quantise_row,   attention, attention_part, attention_merge, quantise_kv,
    store_half_row, rms_norm,     add_row,   scale_row,      silu_product,    gelu_product,
    rope,         maximum,        first_above, exponentials,
};
