/* A dialog: every participant has a state, which each message updates by their role in it.

   An interacting unit (sender, addressee) has
       r, p, z = s(x + self M + other N),  c = tanh(x_c + self M_c + other N_c + (r self) U + (p other) Q),
       self' = z self + (1 - z) c,
   with M and N of width 4P (r, p, z, c). An observer has
       r, z = s(x + sender S + self M),    c = tanh(x_c + sender S_c + (r self) U),
   with M of width 2P and S of width 3P; x + sender S is the same for all observers of a message.

   Participants who have not been sender or addressee yet share one state, the silent one. GROUP samples go in
   step, so that their rows share each load of the weights. */

#include "vector.h"

#define GROUP 16

typedef struct {
    int32_t samples, steps, participants, unused;
    const int32_t *sender, *addressee, *message; /* (B, T) */
    const int32_t *present;                      /* (B) how many participants */
    const int64_t *addressed, *observed;         /* (B + 1) where each sample's addressee and observer rows begin */
} Dialogs;

typedef struct {
    const float *self, *other, *u, *q;         /* (H, 4P), (H, 4P), (H, P), (H, P) */
    const float *self_t, *other_t, *u_t, *q_t; /* the same transposed, in blocks (., P, P) */
} Interacting;

typedef struct {
    const float *self, *sender, *u;         /* (H, 2P), (H, 3P), (H, P) */
    const float *self_t, *sender_t, *u_t;
} Observing;

/* When each participant is first involved: (participants) steps, `steps` for never. */
static void first_involved(const Dialogs *d, int b, int32_t *first) {
    for (int x = 0; x < d->participants; x++) first[x] = d->steps;
    for (int t = d->steps - 1; t >= 0; t--) {
        int s = d->sender[b * d->steps + t], a = d->addressee[b * d->steps + t];
        if (s >= 0) first[s] = t;
        if (s >= 0 && a >= 0) first[a] = t;
    }
}

static int anyone_silent(const int32_t *first, int present, int t) {
    for (int x = 0; x < present; x++)
        if (first[x] > t) return 1;
    return 0;
}

/* The participants who observe step t, the silent ones as number `participants`; how many. */
static int observers(const int32_t *first, int present, int participants, int t, int s, int a, int32_t *out) {
    int count = 0;
    for (int x = 0; x < present; x++)
        if (first[x] <= t && x != s && x != a) out[count++] = x;
    if (anyone_silent(first, present, t)) out[count++] = participants;
    return count;
}

/* How many addressee and observer rows each sample has. */
void dialog_count(const Dialogs *d, int64_t *addressed, int64_t *observed) {
    int32_t first[d->participants + 1], list[d->participants + 1];
    for (int b = 0; b < d->samples; b++) {
        first_involved(d, b, first);
        addressed[b] = observed[b] = 0;
        for (int t = 0; t < d->steps; t++) {
            int s = d->sender[b * d->steps + t], a = d->addressee[b * d->steps + t];
            if (s < 0) continue;
            addressed[b] += a >= 0;
            observed[b] += observers(first, d->present[b], d->participants, t, s, a, list);
        }
    }
}

/* One step of an interacting unit for some rows; other[i] may be null. save[i]: self, other, r, p, z, c. */
static void interact(int rows, const Interacting *w, const float *const *x, const float *const *self,
                     const float *const *other, float *const *save, float *const *new) {
    if (!rows) return;
    float pre[rows][4 * P] __attribute__((aligned(64))), gated[2 * rows][P] __attribute__((aligned(64)));
    const float *rs[rows], *po[rows], *with[rows];
    float *out[rows], *out_with[rows], *c[rows], *c_with[rows];
    int n = 0;
    for (int i = 0; i < rows; i++) {
        memcpy(pre[i], x[i], 4 * P * sizeof(float));
        out[i] = pre[i], c[i] = pre[i] + 3 * P, rs[i] = gated[i];
        if (other[i]) with[n] = other[i], out_with[n] = pre[i], po[n] = gated[rows + i], c_with[n] = c[i], n++;
    }
    product(rows, self, w->self, out, 4 * P);
    product(n, with, w->other, out_with, 4 * P);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < V; v++) {
            int o = v * LANES;
            vec s = load(self[i] + o), q = other[i] ? load(other[i] + o) : (vec){};
            vec r = sigmoid(load(pre[i] + o)), p = sigmoid(load(pre[i] + P + o)), z = sigmoid(load(pre[i] + 2 * P + o));
            store(save[i] + o, s), store(save[i] + P + o, q);
            store(save[i] + 2 * P + o, r), store(save[i] + 3 * P + o, p), store(save[i] + 4 * P + o, z);
            store(gated[i] + o, r * s), store(gated[rows + i] + o, p * q);
        }
    product(rows, rs, w->u, c, P);
    product(n, po, w->q, c_with, P);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < V; v++) {
            int o = v * LANES;
            vec candidate = tanh_(load(c[i] + o)), z = load(save[i] + 4 * P + o);
            store(save[i] + 5 * P + o, candidate);
            store(new[i] + o, z * load(save[i] + o) + (1.0f - z) * candidate);
        }
}

/* Backwards through it: d_new -> d_x (4P), d_self, d_other. Leaves r self and p other in the place of r and p. */
static void interact_back(int rows, const Interacting *w, float *const *save, const float *const *d_new,
                          float *const *d_x, float *const *d_self, float *const *d_other) {
    if (!rows) return;
    float d_gated[2 * rows][P] __attribute__((aligned(64)));
    const float *in[rows], *all[rows];
    float *rs[rows], *po[rows];
    memset(d_gated, 0, sizeof d_gated);
    for (int i = 0; i < rows; i++) {
        for (int v = 0; v < V; v++) {
            int o = v * LANES;
            vec s = load(save[i] + o), z = load(save[i] + 4 * P + o), c = load(save[i] + 5 * P + o), d = load(d_new[i] + o);
            store(d_x[i] + 2 * P + o, d * (s - c) * z * (1.0f - z));
            store(d_x[i] + 3 * P + o, d * (1.0f - z) * (1.0f - c * c));
        }
        in[i] = d_x[i] + 3 * P, all[i] = d_x[i], rs[i] = d_gated[i], po[i] = d_gated[rows + i];
    }
    product_blocks(rows, in, w->u_t, rs, 1);
    product_blocks(rows, in, w->q_t, po, 1);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < V; v++) {
            int o = v * LANES;
            vec s = load(save[i] + o), q = load(save[i] + P + o), r = load(save[i] + 2 * P + o),
                p = load(save[i] + 3 * P + o), z = load(save[i] + 4 * P + o);
            vec drs = load(rs[i] + o), dpo = load(po[i] + o);
            store(d_x[i] + o, drs * s * r * (1.0f - r));
            store(d_x[i] + P + o, dpo * q * p * (1.0f - p));
            store(d_self[i] + o, load(d_new[i] + o) * z + drs * r);
            store(d_other[i] + o, dpo * p);
            store(save[i] + 2 * P + o, r * s), store(save[i] + 3 * P + o, p * q);
        }
    product_blocks(rows, all, w->self_t, d_self, 4);
    product_blocks(rows, all, w->other_t, d_other, 4);
}

/* One step of the observing unit. save[i]: self, r, z, c. */
static void observe(int rows, const Observing *w, const float *const *x, const float *const *self, float *const *save,
                    float *const *new) {
    if (!rows) return;
    float pre[rows][3 * P] __attribute__((aligned(64))), gated[rows][P] __attribute__((aligned(64)));
    const float *rs[rows];
    float *out[rows], *c[rows];
    for (int i = 0; i < rows; i++) {
        memcpy(pre[i], x[i], 3 * P * sizeof(float));
        out[i] = pre[i], c[i] = pre[i] + 2 * P, rs[i] = gated[i];
    }
    product(rows, self, w->self, out, 2 * P);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < V; v++) {
            int o = v * LANES;
            vec s = load(self[i] + o), r = sigmoid(load(pre[i] + o)), z = sigmoid(load(pre[i] + P + o));
            store(save[i] + o, s), store(save[i] + P + o, r), store(save[i] + 2 * P + o, z);
            store(gated[i] + o, r * s);
        }
    product(rows, rs, w->u, c, P);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < V; v++) {
            int o = v * LANES;
            vec candidate = tanh_(load(c[i] + o)), z = load(save[i] + 2 * P + o);
            store(save[i] + 3 * P + o, candidate);
            store(new[i] + o, z * load(save[i] + o) + (1.0f - z) * candidate);
        }
}

/* Leaves r self in the place of r. */
static void observe_back(int rows, const Observing *w, float *const *save, const float *const *d_new,
                         float *const *d_x, float *const *d_self) {
    if (!rows) return;
    float d_gated[rows][P] __attribute__((aligned(64)));
    const float *in[rows], *all[rows];
    float *rs[rows];
    memset(d_gated, 0, sizeof d_gated);
    for (int i = 0; i < rows; i++) {
        for (int v = 0; v < V; v++) {
            int o = v * LANES;
            vec s = load(save[i] + o), z = load(save[i] + 2 * P + o), c = load(save[i] + 3 * P + o), d = load(d_new[i] + o);
            store(d_x[i] + P + o, d * (s - c) * z * (1.0f - z));
            store(d_x[i] + 2 * P + o, d * (1.0f - z) * (1.0f - c * c));
        }
        in[i] = d_x[i] + 2 * P, all[i] = d_x[i], rs[i] = d_gated[i];
    }
    product_blocks(rows, in, w->u_t, rs, 1);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < V; v++) {
            int o = v * LANES;
            vec s = load(save[i] + o), r = load(save[i] + P + o), z = load(save[i] + 2 * P + o), drs = load(rs[i] + o);
            store(d_x[i] + o, drs * s * r * (1.0f - r));
            store(d_self[i] + o, load(d_new[i] + o) * z + drs * r);
            store(save[i] + P + o, r * s);
        }
    product_blocks(rows, all, w->self_t, d_self, 2);
}

/* x_s, x_a: (N, 4P), x_o: (N, 3P), projected utterances. states: (B, participants, P) at the end.
   saved_s: (B T, 6P), saved_a: (addressed, 6P), saved_o: (observed, 4P); rows_a: (addressed) which step each is. */
static void dialog_forward_part(const Dialogs *d, int begin, int end, const Interacting *ws, const Interacting *wa, const Observing *wo,
                    const float *x_s, const float *x_a, const float *x_o, float *saved_s, float *saved_a, float *saved_o,
                    int64_t *rows_a, float *states) {
    FLUSH_TINY;
    const int T = d->steps, width = d->participants + 1, most = GROUP * width;
    float(*now)[P] = rows_of(most);
    float(*next)[P] = rows_of(most);
    float(*common)[3 * P] = rows_of(3 * GROUP);
    int32_t first[GROUP][width], watching[width];
    for (int b0 = begin; b0 < end; b0 += GROUP) {
        const int group = end - b0 < GROUP ? end - b0 : GROUP;
        int64_t a_row[GROUP], o_row[GROUP];
        memset(now, 0, sizeof(float[P]) * most);
        for (int g = 0; g < group; g++) {
            first_involved(d, b0 + g, first[g]);
            a_row[g] = d->addressed[b0 + g], o_row[g] = d->observed[b0 + g];
        }
        for (int t = 0; t < T; t++) {
            const float *xs[GROUP], *ss[GROUP], *os[GROUP], *xa[GROUP], *sa[GROUP], *oa[GROUP], *xo[most], *so[most];
            float *vs[GROUP], *ns[GROUP], *va[GROUP], *na[GROUP], *vo[most], *no[most], *co[GROUP];
            int s_rows = 0, a_rows = 0, o_rows = 0;
            for (int g = 0; g < group; g++) {
                const int step = (b0 + g) * T + t, s = d->sender[step], a = d->addressee[step];
                if (s < 0) {
                    memset(saved_s + (size_t)step * 6 * P, 0, 6 * P * sizeof(float));
                    continue;
                }
                float(*mine)[P] = now + g * width, (*then)[P] = next + g * width;
                const size_t m = d->message[step];
                if (first[g][s] == t) memcpy(mine[s], mine[width - 1], sizeof *mine);
                if (a >= 0 && first[g][a] == t) memcpy(mine[a], mine[width - 1], sizeof *mine);
                memcpy(common[g], x_o + m * 3 * P, sizeof *common);
                co[s_rows] = common[g];
                xs[s_rows] = x_s + m * 4 * P, ss[s_rows] = mine[s], os[s_rows] = a >= 0 ? mine[a] : NULL;
                vs[s_rows] = saved_s + (size_t)step * 6 * P, ns[s_rows] = then[s], s_rows++;
                if (a >= 0) {
                    xa[a_rows] = x_a + m * 4 * P, sa[a_rows] = mine[a], oa[a_rows] = mine[s];
                    rows_a[a_row[g]] = step;
                    va[a_rows] = saved_a + (size_t)a_row[g]++ * 6 * P, na[a_rows] = then[a], a_rows++;
                }
                int count = observers(first[g], d->present[b0 + g], width - 1, t, s, a, watching);
                for (int i = 0; i < count; i++) {
                    xo[o_rows] = common[g], so[o_rows] = mine[watching[i]], no[o_rows] = then[watching[i]];
                    vo[o_rows] = saved_o + (size_t)o_row[g]++ * 4 * P, o_rows++;
                }
            }
            product(s_rows, ss, wo->sender, co, 3 * P);
            interact(s_rows, ws, xs, ss, os, vs, ns);
            interact(a_rows, wa, xa, sa, oa, va, na);
            observe(o_rows, wo, xo, so, vo, no);
            for (int i = 0; i < s_rows; i++) memcpy((float *)ss[i], ns[i], P * sizeof(float));
            for (int i = 0; i < a_rows; i++) memcpy((float *)sa[i], na[i], P * sizeof(float));
            for (int i = 0; i < o_rows; i++) memcpy((float *)so[i], no[i], P * sizeof(float));
        }
        for (int g = 0; g < group; g++)
            for (int x = 0; x < d->participants; x++) {
                float *out = states + ((size_t)(b0 + g) * d->participants + x) * P;
                if (x >= d->present[b0 + g])
                    memset(out, 0, P * sizeof(float));
                else
                    memcpy(out, now[g * width + (first[g][x] == T ? width - 1 : x)], P * sizeof(float));
            }
    }
    free(now), free(next), free(common);
    RESTORE_TINY;
}

/* d_states: (B, participants, P). Gives d_s: (B T, 4P), d_a: (addressed, 4P), d_o: (observed, 3P) for the weights,
   and d_common: (B T, 3P), the sum of d_o over the observers of a step. Rows of steps without message are zero. */
static void dialog_backward_part(const Dialogs *d, int begin, int end, const Interacting *ws, const Interacting *wa, const Observing *wo,
                     float *saved_s, float *saved_a, float *saved_o, const float *d_states, float *d_s, float *d_a,
                     float *d_o, float *d_common) {
    FLUSH_TINY;
    const int T = d->steps, width = d->participants + 1, most = GROUP * width;
    float(*later)[P] = rows_of(most);
    float(*before)[P] = rows_of(most);
    float(*cross)[P] = rows_of(2 * GROUP);
    int32_t first[GROUP][width], watching[width];
    for (int b0 = begin; b0 < end; b0 += GROUP) {
        const int group = end - b0 < GROUP ? end - b0 : GROUP;
        int64_t a_row[GROUP], o_row[GROUP];
        memset(later, 0, sizeof(float[P]) * most);
        for (int g = 0; g < group; g++) {
            first_involved(d, b0 + g, first[g]);
            a_row[g] = d->addressed[b0 + g + 1], o_row[g] = d->observed[b0 + g + 1];
            for (int x = 0; x < d->present[b0 + g]; x++) {
                const float *in = d_states + ((size_t)(b0 + g) * d->participants + x) * P;
                float *out = later[g * width + (first[g][x] == T ? width - 1 : x)];
                for (int v = 0; v < V; v++) store(out + v * LANES, load(out + v * LANES) + load(in + v * LANES));
            }
        }
        for (int t = T - 1; t >= 0; t--) {
            const float *gs[GROUP], *ga[GROUP], *go[most], *co[GROUP];
            float *vs[GROUP], *va[GROUP], *vo[most], *xs[GROUP], *ss[GROUP], *os[GROUP], *xa[GROUP], *sa[GROUP], *oa[GROUP], *xo[most], *so[most];
            int s_rows = 0, a_rows = 0, o_rows = 0;
            for (int g = 0; g < group; g++) {
                const int step = (b0 + g) * T + t, s = d->sender[step], a = d->addressee[step];
                if (s < 0) {
                    memset(d_s + (size_t)step * 4 * P, 0, 4 * P * sizeof(float));
                    memset(d_common + (size_t)step * 3 * P, 0, 3 * P * sizeof(float));
                    continue;
                }
                float(*mine)[P] = later + g * width, (*then)[P] = before + g * width;
                memset(then, 0, sizeof(float[P]) * width);
                vs[s_rows] = saved_s + (size_t)step * 6 * P, gs[s_rows] = mine[s];
                xs[s_rows] = d_s + (size_t)step * 4 * P, ss[s_rows] = then[s], os[s_rows] = cross[2 * g];
                co[s_rows] = d_common + (size_t)step * 3 * P, s_rows++;
                if (a >= 0) {
                    a_row[g]--;
                    va[a_rows] = saved_a + (size_t)a_row[g] * 6 * P, ga[a_rows] = mine[a];
                    xa[a_rows] = d_a + (size_t)a_row[g] * 4 * P, sa[a_rows] = then[a], oa[a_rows] = cross[2 * g + 1], a_rows++;
                }
                int count = observers(first[g], d->present[b0 + g], width - 1, t, s, a, watching);
                o_row[g] -= count;
                for (int i = 0; i < count; i++) {
                    vo[o_rows] = saved_o + (size_t)(o_row[g] + i) * 4 * P, go[o_rows] = mine[watching[i]];
                    xo[o_rows] = d_o + (size_t)(o_row[g] + i) * 3 * P, so[o_rows] = then[watching[i]], o_rows++;
                }
            }
            interact_back(s_rows, ws, vs, gs, xs, ss, os);
            interact_back(a_rows, wa, va, ga, xa, sa, oa);
            observe_back(o_rows, wo, vo, go, xo, so);
            /* What the observers saw of the sender, then what sender and addressee saw of each other. */
            for (int g = 0; g < group; g++) {
                const int step = (b0 + g) * T + t, s = d->sender[step], a = d->addressee[step];
                if (s < 0) continue;
                float *sum = d_common + (size_t)step * 3 * P;
                int count = observers(first[g], d->present[b0 + g], width - 1, t, s, a, watching);
                memset(sum, 0, 3 * P * sizeof(float));
                for (int i = 0; i < count; i++) {
                    const float *row = d_o + (size_t)(o_row[g] + i) * 3 * P;
                    for (int v = 0; v < 3 * V; v++) store(sum + v * LANES, load(sum + v * LANES) + load(row + v * LANES));
                }
            }
            product_blocks(s_rows, co, wo->sender_t, ss, 3);
            for (int g = 0; g < group; g++) {
                const int step = (b0 + g) * T + t, s = d->sender[step], a = d->addressee[step];
                if (s < 0) continue;
                float(*mine)[P] = later + g * width, (*then)[P] = before + g * width, *silent = then[width - 1];
                for (int v = 0; v < V && a >= 0; v++) {
                    int o = v * LANES;
                    store(then[a] + o, load(then[a] + o) + load(cross[2 * g] + o));
                    store(then[s] + o, load(then[s] + o) + load(cross[2 * g + 1] + o));
                }
                /* Who was involved for the first time had the silent state before. */
                for (int who = 0; who < 2; who++) {
                    int x = who ? a : s;
                    if (x < 0 || first[g][x] != t) continue;
                    for (int v = 0; v < V; v++) store(silent + v * LANES, load(silent + v * LANES) + load(then[x] + v * LANES));
                    memset(then[x], 0, P * sizeof(float));
                }
                memcpy(mine, then, sizeof(float[P]) * width);
            }
        }
    }
    free(later), free(before), free(cross);
    RESTORE_TINY;
}

void dialog_forward(int parts, const int64_t *cuts, const Dialogs *d, const Interacting *ws, const Interacting *wa,
                    const Observing *wo, const float *x_s, const float *x_a, const float *x_o, float *saved_s,
                    float *saved_a, float *saved_o, int64_t *rows_a, float *states) {
    IN_PARTS(dialog_forward_part(d, begin, end, ws, wa, wo, x_s, x_a, x_o, saved_s, saved_a, saved_o, rows_a, states))
}

void dialog_backward(int parts, const int64_t *cuts, const Dialogs *d, const Interacting *ws, const Interacting *wa,
                     const Observing *wo, float *saved_s, float *saved_a, float *saved_o, const float *d_states,
                     float *d_s, float *d_a, float *d_o, float *d_common) {
    IN_PARTS(dialog_backward_part(d, begin, end, ws, wa, wo, saved_s, saved_a, saved_o, d_states, d_s, d_a, d_o, d_common))
}
