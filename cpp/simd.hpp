// Sixteen floats at a time, which every compiler can lower: one register of AVX-512, two of AVX2, four of
// SSE.
#pragma once

#include <cstddef>

// A function so marked is compiled once for each instruction set, and the loader picks by the processor. Mark
// only functions that work on many rows, since the call goes through a pointer. Not under sanitizers: their
// checks would run before the loader has set them up.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) &&     \
    defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(TOPWISE_NO_CLONES)
#define TOPWISE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TOPWISE_CLONES
#endif

// A helper of such a function must be inlined into it, or it would run with the default instruction set; and
// a loop over an array of accumulators must be unrolled whole, or they would live in memory.
#define TOPWISE_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define TOPWISE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TOPWISE_UNROLL _Pragma("GCC unroll 16")
#endif

namespace topwise {

inline constexpr int kLanes = 16;

typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), may_alias));
typedef int LaneBits __attribute__((vector_size(kLanes * sizeof(int))));

// Sixteen floats in memory, which must be aligned to 64 bytes.
TOPWISE_INLINE const Lanes& lanes(const float* from) {
    return *reinterpret_cast<const Lanes*>(from);
}
TOPWISE_INLINE Lanes& lanes(float* to) {
    return *reinterpret_cast<Lanes*>(to);
}

// True when any lane's sign bit is clear.
TOPWISE_INLINE bool any_positive(const LaneBits& bits) {
    int all = -1;
    for (int lane = 0; lane < kLanes; ++lane) all &= bits[lane];
    return all >= 0;
}

// How many accumulators of Lanes the registers hold: 12 where there are 32 of 512 bits, 6 with 16 of 256.
inline int accumulators() {
#if defined(__x86_64__)
    static const int count = __builtin_cpu_supports("avx512f") ? 12 : 6;
    return count;
#else
    return 6;
#endif
}

}  // namespace topwise
