/* What the kernels share. gru.c and dialog.c hold the recurrent parts of the models, forward and backward;
   gru.py and dialog.py call them.

   All matrices are (inputs, outputs), rows of H values padded with zeros to P, which is whole vectors. The work is
   cut into parts, one for each thread: part i is what lies between cuts[i] and cuts[i + 1]. What is written does not
   depend on where the cuts are.

   Products with the recurrent weights take four rows at a time: a row of weights is loaded once for all four.
   Sums over rows (the gradients of the weights) are left to the caller, who has a matrix product for them. */

#ifndef TOWHOM_VECTOR_H
#define TOWHOM_VECTOR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef HIDDEN
#define HIDDEN 50
#endif

/* Values of a vector: what the processor that is compiled for has, unless the caller says. */
#ifndef LANES
#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4 /* SSE, NEON, or none */
#endif
#endif

/* Vectors of four rows that a product has in registers at once, beside the weights: of 32 registers or of 16. */
#if defined(__AVX512F__) && LANES == 8
#define WIDE 7
#elif defined(__AVX512F__) || defined(__aarch64__)
#define WIDE 4
#else
#define WIDE 3
#endif
#define UNROLLED _Pragma("GCC unroll 8")

#define H HIDDEN
#define P (((H + LANES - 1) / LANES) * LANES) /* padded */
#define V (P / LANES)                         /* vectors in a row */

/* Values too small for full precision count as zero: computing with them is a hundred times slower. */
#ifdef __SSE__
#include <xmmintrin.h>
#define FLUSH_TINY unsigned state_ = _mm_getcsr(); _mm_setcsr(state_ | 0x8040)
#define RESTORE_TINY _mm_setcsr(state_)
#else
#define FLUSH_TINY
#define RESTORE_TINY
#endif

/* Memory for some rows of P values, to be freed. */
static inline void *rows_of(size_t count) {
    return aligned_alloc(64, (count * P * sizeof(float) + 63) / 64 * 64);
}

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t ivec __attribute__((vector_size(4 * LANES)));

static inline vec load(const float *x) { return *(const vec *)x; }
static inline void store(float *x, vec v) { *(vec *)x = v; }

static inline vec choose(ivec condition, vec yes, vec no) {
    return (vec)((condition & (ivec)yes) | (~condition & (ivec)no));
}

/* e^x, relative error about 1e-7: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2]. */
static inline vec exp_(vec x) {
    const vec limit = (vec){} + 87.0f;
    x = choose(x > limit, limit, x);
    x = choose(x < -limit, -limit, x);
    vec shifted = x * 1.44269504f + 12582912.0f; /* adding 1.5 * 2^23 rounds to a whole number */
    vec whole = shifted - 12582912.0f;
    ivec n = (ivec)shifted - 0x4B400000;
    vec r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
    vec p = (vec){} + 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return p * (vec)((n + 127) << 23);
}
static inline vec sigmoid(vec x) { return 1.0f / (1.0f + exp_(-x)); }
static inline vec tanh_(vec x) { return 2.0f / (1.0f + exp_(-2.0f * x)) - 1.0f; }

/* y_i += x_i M for COUNT rows and VECTORS vectors of each, which stay in registers meanwhile. */
#define TILE(COUNT, VECTORS)                                                                       \
    do {                                                                                           \
        vec sum[COUNT][VECTORS];                                                                   \
        UNROLLED for (int i = 0; i < COUNT; i++)                                                   \
            UNROLLED for (int v = 0; v < VECTORS; v++) sum[i][v] = load(y[i] + column + v * LANES); \
        const float *row = m + column;                                                             \
        for (int k = 0; k < H; k++, row += width) {                                                \
            vec w[VECTORS];                                                                        \
            UNROLLED for (int v = 0; v < VECTORS; v++) w[v] = load(row + v * LANES);               \
            UNROLLED for (int i = 0; i < COUNT; i++)                                               \
                UNROLLED for (int v = 0; v < VECTORS; v++) sum[i][v] += x[i][k] * w[v];            \
        }                                                                                          \
        UNROLLED for (int i = 0; i < COUNT; i++)                                                   \
            UNROLLED for (int v = 0; v < VECTORS; v++) store(y[i] + column + v * LANES, sum[i][v]); \
    } while (0)

#define TILES(VECTORS)                                        \
    for (int first = 0; first < rows; first += 4) {           \
        const float *const *x = in + first;                   \
        float *const *y = out + first;                        \
        switch (rows - first) {                               \
            case 1: TILE(1, VECTORS); break;                  \
            case 2: TILE(2, VECTORS); break;                  \
            case 3: TILE(3, VECTORS); break;                  \
            default: TILE(4, VECTORS);                        \
        }                                                     \
    }

/* out_i += in_i M for `rows` rows of H values; M is (H, width), with width a multiple of P. Some columns of M at a
   time, for all rows: they stay in the nearest cache. */
static __attribute__((noinline)) void product(int rows, const float *const *in, const float *m, float *const *out, int width) {
    for (int column = 0; column < width;) {
        int left = (width - column) / LANES;
        if (left >= WIDE && left != WIDE + 1) {
            TILES(WIDE);
            column += WIDE * LANES;
        } else if (left > 1) {
            TILES(2);
            column += 2 * LANES;
        } else {
            TILES(1);
            column += LANES;
        }
    }
}

/* The same with inputs that are themselves padded rows: `blocks` of H values in rows of P. */
static inline void product_blocks(int rows, const float *const *x, const float *m, float *const *y, int blocks) {
    for (int block = 0; block < blocks; block++) {
        const float *part[rows];
        for (int i = 0; i < rows; i++) part[i] = x[i] + block * P;
        product(rows, part, m + (size_t)block * P * P, y, P);
    }
}

/* Runs a call for each part, at the same time; it sees `begin` and `end`. */
#define IN_PARTS(call)                                                  \
    _Pragma("omp parallel for num_threads(parts) schedule(static, 1)")  \
    for (int part = 0; part < parts; part++) {                          \
        const int begin = (int)cuts[part], end = (int)cuts[part + 1];   \
        call;                                                           \
    }

#endif
