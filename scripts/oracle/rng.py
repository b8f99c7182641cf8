#!/usr/bin/env python3
"""Values of lib/base/rng.h for tests/base/base.c, computed apart from the C.
usage: python3 scripts/oracle/rng.py (any Python 3)"""
M = (1 << 64) - 1


def mix(x):
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & M
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & M
    return x ^ x >> 31


def u64(key, i):
    return mix(mix((i + 0x9e3779b97f4a7c15) & M) ^ key)


def key(k, label):
    return mix((u64(k, label) + 0xd1b54a32d192ed03) & M)


def perm(k, n, i):
    if n <= 32:
        p = []
        for m in range(n):
            j = u64(k, m) % (m + 1)
            p.append(m)
            p[m], p[j] = p[j], m
        return p[i]
    bits = (n - 1).bit_length()
    a, b = bits // 2, bits - bits // 2
    while True:
        hi, lo = i >> b, i & ((1 << b) - 1)
        for r in range(4):
            f = mix((k + mix((lo + (2 * r << 32)) & M)) & M)
            hi ^= f & ((1 << a) - 1)
            f = mix((k + mix((hi + (2 * r + 1 << 32)) & M)) & M)
            lo ^= f & ((1 << b) - 1)
        i = hi << b | lo
        if i < n:
            return i


assert mix(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf    # SplitMix64, seed 0
print("u64(1,2) %#x" % u64(1, 2))
print("key(1,2) %#x" % key(1, 2))
for n in (10, 1000, 10 ** 12):
    print("perm(7,%d,0..4)" % n, [perm(7, n, i) for i in range(5)])
