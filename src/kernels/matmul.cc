#include "kernels/matmul.h"

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace paternoster::kernels {

void matmul(const PackedMatrix& weights, const Activations& activations, Range tokens, Range tiles,
            float* out, std::size_t out_stride, Store store) {
  PATERNOSTER_CHECK(activations.cols() == weights.cols());
  PATERNOSTER_CHECK(tokens.begin <= tokens.end && tokens.end <= activations.rows());
  PATERNOSTER_CHECK(tiles.begin <= tiles.end && tiles.end <= weights.tiles());
  if (tokens.begin == tokens.end || tiles.begin == tiles.end) {
    return;
  }
  MatmulCall call;
  call.type = static_cast<std::uint32_t>(weights.type());
  call.tiles = reinterpret_cast<const std::uint8_t*>(weights.tile(0));
  call.tile_bytes = weights.tile_bytes();
  call.rows = weights.rows();
  call.cols = weights.cols();
  call.values = activations.values(0);
  call.quants = activations.quants(0);
  call.wides = activations.wides(0);
  call.infos = activations.infos(0);
  call.padded_cols = activations.padded_cols();
  call.token_begin = tokens.begin;
  call.token_end = tokens.end;
  call.tile_begin = tiles.begin;
  call.tile_end = tiles.end;
  call.out = out;
  call.out_stride = out_stride;
  call.add = store == Store::kAdd;
  kernels().matmul(call);
}

}  // namespace paternoster::kernels
