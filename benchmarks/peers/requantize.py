#!/usr/bin/env python3
"""requantize.py IN.gguf TYPE OUT.gguf: the same model with its matrices in another simple type.

For comparing speeds type by type; quality is lost by the second rounding. Metadata and vectors are kept as
they are. Needs PyPI `gguf`, as the tests do. TYPE: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
"""

import sys

import gguf
from gguf import quants


def copy_metadata(reader, writer):
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, inner)


def main():
    source, name, target = sys.argv[1:]
    kind = gguf.GGMLQuantizationType[name]
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    copy_metadata(reader, writer)
    for tensor in reader.tensors:
        if len(tensor.shape) < 2:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
            continue
        values = quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
