/* A sequence: h' = z h + (1 - z) c, with r, z = s(x + h U), c = tanh(x + (r h) U_c). */

#include "vector.h"

/* What the caller has to know: how wide a padded row is, how wide a vector. */
const int32_t row_width = P, vector_width = LANES;

/* inputs: (N, 3P) projected; index: (tokens) into inputs; offsets: sequences, the longest first.
   Saves h before each token and r, z, c after: saved (tokens, 4P). last: (sequences, P). */
static void gru_forward_part(int begin, int end, const float *inputs, const int32_t *index, const int64_t *offsets,
                 const float *u, const float *u_c, float *saved, float *last) {
    FLUSH_TINY;
    for (int first = begin; first < end; first += 4) {
        int count = end - first < 4 ? end - first : 4;
        float state[4][P] __attribute__((aligned(64)));
        float gates[4][2 * P] __attribute__((aligned(64)));
        float reset[4][P] __attribute__((aligned(64)));
        float candidate[4][P] __attribute__((aligned(64)));
        memset(state, 0, sizeof state);
        int64_t longest = offsets[first + 1] - offsets[first];
        for (int64_t j = 0; j < longest; j++) {
            while (count && offsets[first + count] - offsets[first + count - 1] <= j) count--;
            const float *h[4], *rh[4];
            float *g[4], *c[4];
            for (int i = 0; i < count; i++) {
                const float *x = inputs + (size_t)index[offsets[first + i] + j] * 3 * P;
                memcpy(gates[i], x, 2 * P * sizeof(float));
                memcpy(candidate[i], x + 2 * P, P * sizeof(float));
                h[i] = state[i], g[i] = gates[i], rh[i] = reset[i], c[i] = candidate[i];
            }
            product(count, h, u, g, 2 * P);
            for (int i = 0; i < count; i++)
                for (int v = 0; v < 2 * V; v++) {
                    vec gate = sigmoid(load(gates[i] + v * LANES));
                    store(gates[i] + v * LANES, gate);
                    if (v < V) store(reset[i] + v * LANES, gate * load(state[i] + v * LANES));
                }
            product(count, rh, u_c, c, P);
            for (int i = 0; i < count; i++) {
                float *save = saved + (size_t)(offsets[first + i] + j) * 4 * P;
                for (int v = 0; v < V; v++) {
                    int o = v * LANES;
                    vec old = load(state[i] + o), z = load(gates[i] + P + o), new = tanh_(load(candidate[i] + o));
                    store(save + o, old);
                    store(save + P + o, load(gates[i] + o));
                    store(save + 2 * P + o, z);
                    store(save + 3 * P + o, new);
                    store(state[i] + o, z * old + (1.0f - z) * new);
                }
            }
        }
        for (int i = 0; i < (end - first < 4 ? end - first : 4); i++)
            memcpy(last + (size_t)(first + i) * P, state[i], P * sizeof(float));
    }
    RESTORE_TINY;
}

/* From the gradient of the last states to that of the projected inputs, d_inputs (tokens, 3P), and, for the
   gradients of the weights, r h: reset (tokens, P). u_t, u_c_t: the weights transposed, in blocks (2, P, P), (P, P). */
static void gru_backward_part(int begin, int end, const int64_t *offsets, const float *u_t, const float *u_c_t,
                  const float *saved, const float *d_last, float *d_inputs, float *reset) {
    FLUSH_TINY;
    for (int first = begin; first < end; first += 4) {
        int all = end - first < 4 ? end - first : 4;
        float d_state[4][P] __attribute__((aligned(64)));
        float d_reset[4][P] __attribute__((aligned(64)));
        for (int i = 0; i < all; i++) memcpy(d_state[i], d_last + (size_t)(first + i) * P, P * sizeof(float));
        int64_t longest = offsets[first + 1] - offsets[first];
        int count = 0;
        for (int64_t j = longest - 1; j >= 0; j--) {
            while (count < all && offsets[first + count + 1] - offsets[first + count] > j) count++;
            const float *in[4];
            float *out[4];
            for (int i = 0; i < count; i++) {
                size_t token = (size_t)(offsets[first + i] + j);
                const float *save = saved + token * 4 * P;
                float *d = d_inputs + token * 3 * P;
                for (int v = 0; v < V; v++) {
                    int o = v * LANES;
                    vec old = load(save + o), r = load(save + P + o), z = load(save + 2 * P + o),
                        c = load(save + 3 * P + o), dh = load(d_state[i] + o);
                    store(d + P + o, dh * (old - c) * z * (1.0f - z));
                    store(d + 2 * P + o, dh * (1.0f - z) * (1.0f - c * c));
                    store(d_state[i] + o, dh * z);
                    store(d_reset[i] + o, (vec){});
                    store(reset + token * P + o, r * old);
                }
                in[i] = d + 2 * P, out[i] = d_reset[i];
            }
            product_blocks(count, in, u_c_t, out, 1);
            for (int i = 0; i < count; i++) {
                size_t token = (size_t)(offsets[first + i] + j);
                const float *save = saved + token * 4 * P;
                float *d = d_inputs + token * 3 * P;
                for (int v = 0; v < V; v++) {
                    int o = v * LANES;
                    vec old = load(save + o), r = load(save + P + o), dr = load(d_reset[i] + o);
                    store(d + o, dr * old * r * (1.0f - r));
                    store(d_state[i] + o, load(d_state[i] + o) + dr * r);
                }
                in[i] = d, out[i] = d_state[i];
            }
            product_blocks(count, in, u_t, out, 2);
        }
    }
    RESTORE_TINY;
}

void gru_forward(int parts, const int64_t *cuts, const float *inputs, const int32_t *index, const int64_t *offsets,
                 const float *u, const float *u_c, float *saved, float *last) {
    IN_PARTS(gru_forward_part(begin, end, inputs, index, offsets, u, u_c, saved, last))
}

void gru_backward(int parts, const int64_t *cuts, const int64_t *offsets, const float *u_t, const float *u_c_t,
                  const float *saved, const float *d_last, float *d_inputs, float *reset) {
    IN_PARTS(gru_backward_part(begin, end, offsets, u_t, u_c_t, saved, d_last, d_inputs, reset))
}
