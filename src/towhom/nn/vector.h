/* What the kernels share. gru.c and dialog.c hold the recurrent parts of the models, forward and backward;
   gru.py and dialog.py call them.

   All matrices are (inputs, outputs), rows of H values padded with zeros to a multiple of 16 floats, so that a
   row is whole vectors. The work is cut into parts, one for each thread: part i is what lies between cuts[i] and
   cuts[i + 1]. What is written does not depend on where the cuts are.

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
#define LANES 16
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

/* y_i += x_i M for `rows` rows; M is (inputs, width) with width a multiple of P. */
static inline void product(int rows, const float *const *x, const float *m, float *const *y, int inputs, int width) {
    for (int first = 0; first < rows; first += 4) {
        int count = rows - first < 4 ? rows - first : 4;
        for (int column = 0; column < width; column += P) {
            if (count == 4) {
                vec sum[4][V];
                for (int i = 0; i < 4; i++)
                    for (int v = 0; v < V; v++) sum[i][v] = load(y[first + i] + column + v * LANES);
                for (int k = 0; k < inputs; k++) {
                    const float *row = m + (size_t)k * width + column;
                    float a = x[first][k], b = x[first + 1][k], c = x[first + 2][k], d = x[first + 3][k];
                    for (int v = 0; v < V; v++) {
                        vec w = load(row + v * LANES);
                        sum[0][v] += a * w;
                        sum[1][v] += b * w;
                        sum[2][v] += c * w;
                        sum[3][v] += d * w;
                    }
                }
                for (int i = 0; i < 4; i++)
                    for (int v = 0; v < V; v++) store(y[first + i] + column + v * LANES, sum[i][v]);
            } else {
                for (int i = first; i < first + count; i++) {
                    vec sum[V];
                    for (int v = 0; v < V; v++) sum[v] = load(y[i] + column + v * LANES);
                    for (int k = 0; k < inputs; k++) {
                        const float *row = m + (size_t)k * width + column;
                        for (int v = 0; v < V; v++) sum[v] += x[i][k] * load(row + v * LANES);
                    }
                    for (int v = 0; v < V; v++) store(y[i] + column + v * LANES, sum[v]);
                }
            }
        }
    }
}

/* The same with inputs that are themselves padded rows: `blocks` of H values in rows of P. */
static inline void product_blocks(int rows, const float *const *x, const float *m, float *const *y, int blocks) {
    for (int block = 0; block < blocks; block++) {
        const float *part[rows];
        for (int i = 0; i < rows; i++) part[i] = x[i] + block * P;
        product(rows, part, m + (size_t)block * P * P, y, H, P);
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
