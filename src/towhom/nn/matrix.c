/* Products of whole matrices: what the recurrent parts read, and the gradients of their weights.

   Libraries for matrices do not use the widest vectors of every processor, and theirs are larger matrices. Columns
   come in whole vectors. Every value is added up in the same order, however many threads there are. */

#include "vector.h"

/* Rows and vectors of a result that are in registers at once: of 32 registers or of 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define TALL 6
#define BROAD 4
#else
#define TALL 4
#define BROAD 3
#endif
#define CHUNK 64 /* rows of m that stay in the nearest cache */

/* COUNT rows and VECTORS vectors of out, from `first` to `last` of what is added up. */
#define PART(COUNT, VECTORS)                                                                       \
    do {                                                                                           \
        vec sum[COUNT][VECTORS];                                                                   \
        UNROLLED for (int i = 0; i < COUNT; i++)                                                   \
            UNROLLED for (int v = 0; v < VECTORS; v++) sum[i][v] = (vec){};                        \
        const float *values = x + row * across + first * along, *line = m + first * m_width + column; \
        for (int64_t k = first; k < last; k++, values += along, line += m_width) {                 \
            vec w[VECTORS];                                                                        \
            UNROLLED for (int v = 0; v < VECTORS; v++) w[v] = load(line + v * LANES);              \
            UNROLLED for (int i = 0; i < COUNT; i++)                                               \
                UNROLLED for (int v = 0; v < VECTORS; v++) sum[i][v] += values[i * across] * w[v]; \
        }                                                                                          \
        UNROLLED for (int i = 0; i < COUNT; i++)                                                   \
            UNROLLED for (int v = 0; v < VECTORS; v++) {                                           \
                float *to = out + (row + i) * out_width + column + v * LANES;                      \
                store(to, first ? load(to) + sum[i][v] : sum[i][v]);                               \
            }                                                                                      \
    } while (0)

#define PARTS(VECTORS)                                                 \
    for (int64_t row = begin; row < end; row += TALL) {                \
        switch (end - row) {                                           \
            case 1: PART(1, VECTORS); break;                           \
            case 2: PART(2, VECTORS); break;                           \
            case 3: PART(3, VECTORS); break;                           \
            case 4: PART(4, VECTORS); break;                           \
            case 5: PART(5, VECTORS); break;                           \
            default: PART(TALL, VECTORS);                              \
        }                                                              \
    }

static int64_t divided(int64_t all, int64_t by) { return (all + by - 1) / by; }

/* out (rows, columns) = x m, where x[i][k] is at i across + k along: the share of one of several threads. What is added
   up comes in chunks, so that it is fetched from memory once; each thread has blocks of out of its own. */
static inline __attribute__((always_inline)) void share(
    int thread, int threads, int64_t rows, int64_t inner, int64_t columns, const float *x, int64_t across, int64_t along,
    const float *m, int64_t m_width, float *out, int64_t out_width) {
    const int64_t wide = divided(columns, BROAD * LANES);
    int64_t tall = threads; /* blocks of rows: as few as can be shared out evenly */
    while (tall > 1 && wide * (tall - 1) % threads == 0) tall--;
    const int64_t height = divided(divided(rows, tall), TALL) * TALL;
    for (int64_t first = 0; first < inner || !first; first += CHUNK) {
        const int64_t last = inner - first < CHUNK ? inner : first + CHUNK;
        for (int64_t task = wide * tall * thread / threads; task < wide * tall * (thread + 1) / threads; task++) {
            const int64_t column = task / tall * BROAD * LANES, begin = task % tall * height;
            const int64_t end = rows - begin < height ? rows : begin + height;
            switch ((columns - column) / LANES) {
                case 1: PARTS(1); break;
                case 2: PARTS(2); break;
                case 3: PARTS(3); break;
                default: PARTS(BROAD);
            }
        }
    }
}

#define SHARED(across, along)                                                                                \
    _Pragma("omp parallel for num_threads(threads) schedule(static, 1)")                                     \
    for (int thread = 0; thread < threads; thread++) {                                                       \
        FLUSH_TINY;                                                                                          \
        share(thread, threads, rows, inner, columns, x, across, along, m, m_width, out, out_width);          \
        RESTORE_TINY;                                                                                        \
    }

/* out (rows, columns) = x (rows, inner) m (inner, columns). Each may be some columns of a wider matrix. */
void multiply(int threads, int64_t rows, int64_t inner, int64_t columns, const float *x, int64_t x_width, const float *m,
              int64_t m_width, float *out, int64_t out_width) {
    SHARED(x_width, 1)
}

/* out (rows, columns) = x^T m, of x (inner, rows) and m (inner, columns): a sum over their rows. */
void sum_products(int threads, int64_t rows, int64_t inner, int64_t columns, const float *x, int64_t x_width,
                  const float *m, int64_t m_width, float *out, int64_t out_width) {
    SHARED(1, x_width)
}

/* out (groups, columns): sums of the rows of x (rows, columns) by their groups. */
void sum_groups(int threads, int64_t rows, int64_t columns, const float *x, const int64_t *group, int64_t groups,
                float *out) {
    const int64_t vectors = columns / LANES;
    _Pragma("omp parallel for num_threads(threads) schedule(static)")
    for (int part = 0; part < threads; part++) {
        const int64_t begin = vectors * part / threads * LANES, end = vectors * (part + 1) / threads * LANES;
        for (int64_t i = 0; i < groups; i++) memset(out + i * columns + begin, 0, (end - begin) * sizeof(float));
        for (int64_t i = 0; i < rows; i++) {
            float *to = out + group[i] * columns;
            const float *from = x + i * columns;
            for (int64_t o = begin; o < end; o += LANES) store(to + o, load(to + o) + load(from + o));
        }
    }
}
