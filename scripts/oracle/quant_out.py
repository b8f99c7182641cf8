"""Rounding to GGUF's block types by ggml itself.
usage: quant_out.py LIBGGML OUT        (tests/golden/kern/quant_out.safetensors)
LIBGGML: libggml-base.so of llama.cpp.
x           [28,256] numbers: normal ones of several sizes, rows without negative
            or positive numbers, groups that are zero, constant, or far smaller
            than the rest of their row, subnormal scales
importance  [256] mean squares of an input, two of them 100 times the others
TYPE        the bytes of ggml_quantize_chunk without importance
TYPE.error  [28] sum of importance * (widened - x)^2 of each row, in float64, of
            ggml_quantize_chunk with the importance; widened by the gguf package
Last run with llama.cpp of llama-cpp-python 0.3.36 (ggml 0.25.3), gguf 0.19.0."""
import ctypes
import sys

import gguf
import numpy as np

import st

lib = ctypes.CDLL(sys.argv[1])
r = np.random.default_rng(47)
x = (r.standard_normal((28, 256)) * np.exp(r.standard_normal((28, 1)))).astype('f4')
x[3] = 0
x[4] = 1e-9
x[5, :32] = 0
x[6, 64:96], x[6, 96:128] = -3, 3
x[7] *= 1e-6
x[8] *= 1e-12
x[9, 32:64] *= 1e-4
x[10] = np.abs(x[10])
x[11] = -np.abs(x[11])
x[12, :16], x[12, 16:32] = 0, 1e-16
x[13, :64] *= 1e4
x[14] = np.round(x[14] * 8)
importance = np.exp(r.standard_normal(256)).astype('f4')
importance[[17, 200]] *= 100
f32 = ctypes.POINTER(ctypes.c_float)


def encode(q, importance):
    block, size = gguf.GGML_QUANT_SIZES[q]
    out = np.zeros((len(x), 256 // block * size), 'u1')
    lib.ggml_quantize_chunk(int(q), x.ctypes.data_as(f32), out.ctypes.data_as(ctypes.c_void_p),
                            ctypes.c_int64(0), ctypes.c_int64(len(x)), ctypes.c_int64(256), importance)
    return out


t = {'x': x, 'importance': importance}
for name in ('Q8_0', 'Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q4_K', 'Q5_K', 'Q6_K'):
    q = gguf.GGMLQuantizationType[name]
    t[name.lower()] = encode(q, None)
    y = gguf.dequantize(encode(q, importance.ctypes.data_as(f32)), q).astype('f8')
    t[name.lower() + '.error'] = ((y - x) ** 2 * importance.astype('f8')).sum(1)
st.save(sys.argv[2], t, dict(made_by='scripts/oracle/quant_out.py LIBGGML OUT', seed='47',
                          versions='gguf 0.19.0, ggml 0.25.3 of llama-cpp-python 0.3.36'))
